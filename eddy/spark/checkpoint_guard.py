"""Holds a query against the checkpoint that it is started on.

A cell can tell that its own state is of another query. It cannot tell that there is state under labels that nothing is
sent to any more, because the layout is another one. So each micro-batch has a parcel for one group that is no cell,
whose state says what the checkpoint was last written by. If that does not fit, the micro-batch fails, and
nothing of it is kept. Filters may be others: that is noted, and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from eddy.engine.cell_inputs import write_place
from eddy.engine.engine import QUERIES, check_number
from eddy.engine.snapshot import Snapshot, guard_restore, pack, unpack
from eddy.errors import CheckpointError, quote
from eddy.query import fingerprint
from eddy.query.fingerprint import FilterChange
from eddy.query.together.queries import LONE
from eddy.spark.layout.layout import check_layout
from eddy.spark.parcels import PARCEL_SCHEMA
from eddy.spark.shipped import Shipped, ShippedQuery

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
        if read.parts == {name: one.parts for name, one in shipped.queries.items()}:
            return told
    told_of = {name: _describe(one) for name, one in shipped.queries.items()}
    alone = told_of.get(LONE)
    noted = pack(alone or {QUERIES: told_of, "sources": _list_sources(shipped), "cells": shipped.cells}, {})
    state.update((noted.format, noted.meta, noted.blob))
    return told


def _list_sources(shipped: Shipped) -> list[str]:
    """List the sources that Spark reads."""
    return sorted([*shipped.columns, *shipped.unread])


def _describe(asked: ShippedQuery) -> dict[str, Any]:
    """Describe what a query's state depends on."""
    by = {"time": asked.answer_time} if asked.answer_time is not None else {}
    return {"query": dict(asked.parts), "layout": dict(asked.layout), **by}


class _Noted:
    """What the checkpoint was last written by."""

    queries: Mapping[str, Mapping[str, Any]]
    sources: Sequence[str] | None
    cells: int | None

    @property
    def parts(self) -> Mapping[str, Mapping[str, str]]:
        """What the state of each query depends on."""
        return {name: dict(one["query"]) for name, one in self.queries.items()}

    @guard_restore
    def restore(self, snapshot: Snapshot) -> None:
        """Read it."""
        saved, _ = unpack(snapshot)
        self.sources, self.cells = saved.get("sources"), saved.get("cells")
        self.queries = saved.get(QUERIES, {LONE: saved})
        for one in self.queries.values():
            dict(one["query"]), dict(one["layout"])

    def hold_against(self, shipped: Shipped) -> str:
        """Refuse other queries of the same names, and other sources; say what is different else."""
        check_number(self.queries, shipped.queries)
        self._check_sources(shipped)
        told = []
        for name, wanted in shipped.queries.items():
            if name in self.queries:
                change = _hold_member_against(name, self.queries[name], wanted)
                told += [f"{write_place(name)}{change.tell()}"] if change else []
        if new := [name for name in shipped.queries if name not in self.queries]:
            told.append(f"queries added: {quote(new)}; they begin now, and see no row that came before")
        if gone := [name for name in self.queries if name not in shipped.queries]:
            told.append(f"queries removed: {quote(gone)}; what they knew is forgotten")
        return "; ".join(told)

    def _check_sources(self, shipped: Shipped) -> None:
        """Refuse other sources, of which Spark's checkpoint has how far each has been read, and other cells."""
        if self.cells not in (None, shipped.cells):
            raise CheckpointError(
                f"checkpoint: its queries share {self.cells} cells, this start has {shipped.cells}; go back to the "
                "cells that it was begun with, or begin a new checkpoint"
            )
        wanted = _list_sources(shipped)
        if self.sources is not None and [*self.sources] != wanted:
            raise CheckpointError(
                f"checkpoint: its sources are {quote(self.sources)}, this start has {quote(wanted)}; sources are for "
                "the life of a checkpoint: name those that no query reads in Queries(..., streams=[...]), or begin a "
                "new checkpoint"
            )


def _hold_member_against(name: str, saved: Mapping[str, Any], wanted: ShippedQuery) -> FilterChange:
    """Refuse another query; one of several may go on under another name."""
    try:
        return _hold_against(saved, wanted)
    except CheckpointError as error:
        way_out = "; or give it another name: then it begins now, and the other queries go on" if name != LONE else ""
        raise CheckpointError(f"{write_place(name)}{error}{way_out}") from error


def _hold_against(saved: Mapping[str, Any], wanted: ShippedQuery) -> FilterChange:
    """Refuse another query; gives what is different of filters."""
    change = fingerprint.check(saved["query"], wanted.parts, wanted.pushed)
    check_layout(saved["layout"], wanted.layout)
    before = saved.get("time")
    if before != wanted.answer_time:
        raise CheckpointError(
            f"checkpoint: time: the watermark of the answer was {before or 'not asked for'}, this start has "
            f"{wanted.answer_time or 'none'}; go back to what it was begun with, or begin a new checkpoint"
        )
    return change
