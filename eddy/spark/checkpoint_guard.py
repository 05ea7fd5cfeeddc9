"""Holds a query against the checkpoint that it is started on.

A cell can tell that its own state is of another query. It cannot tell that there is state under labels that nothing is
sent to any more, because the layout is another one. So each micro-batch has a parcel for one group that is no cell,
whose state says what the checkpoint was last written by. If that does not fit, the micro-batch fails, and
nothing of it is kept. Filters may be others: that is noted, and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    # One more parcel with each task's first ones; an empty task sends none. It is there in every micro-batch: a task
    # that is tried again in a new process must send what the first one did, or Spark stops the query.
    for number, batch in enumerate(parcels):
        if number == 0:
            values = [[LABEL], [""], batch.column("time")[:1], [b""]]
            columns = [pa.array(value, field.type) for value, field in zip(values, PARCEL_SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=PARCEL_SCHEMA)
        yield batch


def check(shipped: Shipped, state: GroupState) -> str:
    """Note what the checkpoint is for, or refuse another query; gives what people should know of the restart, or ""."""
    told = ""
    if state.exists:
        try:
            read = _Noted()
            read.restore(Snapshot(*state.get))
            told = read.hold_against(shipped)
        except CheckpointError as error:
            raise CheckpointError(f"what the checkpoint was last written by: {error}") from error
        if read.query == shipped.parts:
            return told
    by = {"time": shipped.answer_time} if shipped.answer_time is not None else {}
    noted = pack({"query": dict(shipped.parts), "layout": dict(shipped.layout), **by}, {})
    state.update((noted.format, noted.meta, noted.blob))
    return told


class _Noted:
    """What the checkpoint was last written by."""

    query: Mapping[str, str]
    layout: Mapping[str, Any]
    time: str | None

    @guard_restore
    def restore(self, snapshot: Snapshot) -> None:
        """Read it."""
        saved, _ = unpack(snapshot)
        self.query, self.layout, self.time = dict(saved["query"]), dict(saved["layout"]), saved.get("time")

    def hold_against(self, shipped: Shipped) -> str:
        """Refuse another query; say what is different of filters."""
        change = fingerprint.check(self.query, shipped.parts, shipped.pushed)
        check_layout(self.layout, shipped.layout)
        wanted = shipped.answer_time
        if self.time != wanted:
            raise CheckpointError(
                f"checkpoint: time: the watermark of the answer was {self.time or 'not asked for'}, this start has "
                f"{wanted or 'none'}; go back to what it was begun with, or begin a new checkpoint"
            )
        return change.tell() if change else ""
