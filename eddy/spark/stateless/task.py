"""A task's rows through an engine, on a worker: columns in, a verdict for each row out.

Spark matches rows and verdicts by their order, and batches need not be the same. So the verdicts of a batch wait for
the next one, and the last of all carries the report of the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from eddy.engine import Engine
from eddy.engine.emission import Rejected
from eddy.engine.remembered import Remembered
from eddy.errors import EddyError
from eddy.observe import wire
from eddy.observe.counters import Counters
from eddy.observe.sum_cells import merge_batches
from eddy.query.together.queries import LONE
from eddy.spark.parcels import report_text
from eddy.spark.shipped import Shipped
from eddy.spark.stateless import learned
from eddy.spark.stateless.learned import Kept
from eddy.tuples.arrays import Mask, RowIds

ASIDE = ("rejected_by", "rejected_because")
"""Two more texts of a verdict where predicates put rows aside; null in all other rows."""


MOST_FOUND = 1 << 16
"""Combinations with rows of tables that are made of some rows at once, if each has as many as those before it: what
is made of a row is one value for Spark, and a batch of rows that have thousands each does not fit in memory."""

FIRST_ROWS = 1 << 10
"""Rows whose combinations are made first, when nobody knows how many there are."""


class Verdicts(NamedTuple):
    """Which of some rows passed, and those that were put aside; None where nobody asks.

    Where tables are joined, `found` has for each row the list of its combinations.
    """

    passed: Mask
    aside: Sequence[Rejected] | None
    found: pa.ListArray | None


def judge(
    shipped: Shipped,
    columns: Iterator[Any],
    remembered: Remembered | None = None,
    *,
    aside: bool = False,
    plain: bool = False,
) -> Iterator[pa.Array]:
    """Judge the rows of one task; plain verdicts are booleans and nothing else."""
    context = TaskContext.get()
    partition = 0 if context is None else context.partitionId()
    try:
        kept = learned.find(shipped, partition, remembered)
        if plain:
            yield from (pa.array(found.passed) for found, _ in _judge(shipped, kept, columns, aside))
        else:
            for found, counted in _judge(shipped, kept, columns, aside):
                report = None if counted is None else report_text({"cell": kept.cell, **wire.to_plain(counted)})
                yield _write(found, report)
    except EddyError as error:
        # Said once, and without the way to it: Spark shows the person a long text as it is.
        raise error.with_traceback(None) from None


def _judge(
    shipped: Shipped, kept: Kept, columns: Iterator[Any], aside: bool
) -> Iterator[tuple[Verdicts, Counters | None]]:
    """Judge batch by batch; with the last one come the counters of the task."""
    counters: Counters | None = None
    held: Verdicts | None = None
    for verdicts in _pick_all(shipped, kept.engine, columns, aside):
        if held is not None:
            yield held, None
        held = verdicts
        now = kept.engine.read_counters()
        counters = now if counters is None else merge_batches(counters, now)
    if held is not None:
        learned.keep(shipped, kept)
        yield held, counters


def _pick_all(shipped: Shipped, engine: Engine, columns: Iterator[Any], aside: bool) -> Iterator[Verdicts]:
    """Judge the rows of each batch; where they are joined, so many at a time that the answer stays bounded."""
    (schema,) = shipped.queries[LONE].schemas.values()
    room = FIRST_ROWS
    for arrays in columns:
        left = make_rows(arrays, schema)
        while left.num_rows:
            rows = left.slice(0, room) if shipped.tables else left
            left = left.slice(rows.num_rows)
            verdicts = _pick(engine, rows, aside)
            yield verdicts
            found = 0 if verdicts.found is None else len(verdicts.found.values)
            room = max(MOST_FOUND * rows.num_rows // max(found, rows.num_rows), 1)


def make_rows(arrays: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Make a batch of the columns that Spark hands over, one by itself or several."""
    columns = arrays if isinstance(arrays, tuple) else (arrays,)
    fit = [a if a.type == field.type else a.cast(field.type) for a, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(fit, schema=schema)


def _pick(engine: Engine, rows: pa.RecordBatch, aside: bool) -> Verdicts:
    places, found = engine.pick(rows)
    passed = np.zeros(rows.num_rows, np.bool_)
    passed[places] = True
    return Verdicts(
        passed, engine.read_rejected() if aside else None, None if found is None else _list(places, found, len(passed))
    )


def _list(places: RowIds, found: pa.RecordBatch, rows: int) -> pa.ListArray:
    """Make for each row the list of what stands beside its place."""
    ends = np.cumsum(np.bincount(places, minlength=rows))
    offsets = np.append(np.zeros(1, np.int32), ends.astype(np.int32))
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.StructArray.from_arrays(found.columns, fields=[*found.schema])
    )


def _write(verdicts: Verdicts, report: str | None = None) -> pa.Array:
    """Write verdicts, and a report with the last of them."""
    rows, aside = len(verdicts.passed), verdicts.aside
    texts = {name: pa.nulls(rows, pa.string()) for name in ("report", *(ASIDE if aside is not None else ()))}
    if report is not None:
        texts["report"] = pa.concat_arrays([texts["report"][:-1], pa.array([report], pa.string())])
    for place, name in enumerate(ASIDE, 1) if aside else ():
        told = np.full(rows, None, object)
        for row in aside or ():
            told[row.place] = row[place]
        texts[name] = pa.array(told, pa.string())
    found = {} if verdicts.found is None else {"found": verdicts.found}
    columns = {"passes": pa.array(verdicts.passed), **texts, **found}
    return pa.StructArray.from_arrays([*columns.values()], [*columns])
