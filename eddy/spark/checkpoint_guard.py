"""Holds a query against the checkpoint that it is started on.

A cell can tell that its own state is of another query. It cannot tell that there is state under labels that nothing is
sent to any more, because the layout is another one. So every micro-batch has a parcel for one group that is no cell,
whose state says what the checkpoint was begun with. If that differs the micro-batch fails, and nothing of it is
kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from eddy.engine.snapshot import Snapshot, guard_restore, pack, unpack
from eddy.errors import CheckpointError
from eddy.query import fingerprint
from eddy.spark.layout.layout import check_layout
from eddy.spark.parcels import PARCEL_SCHEMA
from eddy.spark.shipped import Shipped

LABEL = -1
"""No label of a cell: those of cells are made from numbers of 0 and more."""


def label_with_state(parcels: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Parcels, with one for the guard if there are any."""
    # One more parcel with each task's first ones; an empty task sends none.
    for number, batch in enumerate(parcels):
        if number == 0:
            values = [[LABEL], [""], batch.column("time")[:1], [b""]]
            columns = [pa.array(value, field.type) for value, field in zip(values, PARCEL_SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=PARCEL_SCHEMA)
        yield batch


def check(shipped: Shipped, state: GroupState) -> None:
    """Note what the checkpoint is for, or refuse another query."""
    if state.exists:
        try:
            _hold_against(shipped, Snapshot(*state.get))
        except CheckpointError as error:
            raise CheckpointError(f"what the checkpoint was begun with: {error}") from error
    noted = pack({"query": dict(shipped.parts), "layout": dict(shipped.layout)}, {})
    state.update((noted.format, noted.meta, noted.blob))


@guard_restore
def _hold_against(shipped: Shipped, snapshot: Snapshot) -> None:
    saved, _ = unpack(snapshot)
    fingerprint.check(saved["query"], shipped.parts)
    check_layout(saved["layout"], shipped.layout)
