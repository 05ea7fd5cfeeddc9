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
from eddy.errors import EddyError
from eddy.observe import wire
from eddy.observe.counters import Counters
from eddy.observe.sum_cells import merge_batches
from eddy.spark.parcels import report_text
from eddy.spark.shipped import Shipped
from eddy.spark.stateless import learned
from eddy.spark.stateless.learned import Kept
from eddy.tuples.arrays import Mask

VERDICT = "passes boolean, report string"
"""The type of a verdict; the report is null in all rows but one."""

ASIDE = ("rejected_by", "rejected_because")
"""Two more texts of a verdict where predicates put rows aside; null in all other rows."""


class Verdicts(NamedTuple):
    """Which rows passed, and those that were put aside; None where nobody asks."""

    passed: Mask
    aside: Sequence[Rejected] | None


def judge(
    shipped: Shipped, columns: Iterator[Any], remember: str | None = None, *, aside: bool = False
) -> Iterator[pa.Array]:
    """Judge the rows of one task."""
    context = TaskContext.get()
    partition = 0 if context is None else context.partitionId()
    try:
        yield from _judge(shipped, learned.find(shipped, partition, remember), columns, aside)
    except EddyError as error:
        # Said once, and without the way to it: Spark shows the person a long text as it is.
        raise error.with_traceback(None) from None


def _judge(shipped: Shipped, kept: Kept, columns: Iterator[Any], aside: bool) -> Iterator[pa.Array]:
    (schema,) = shipped.schemas.values()
    counters: Counters | None = None
    held: Verdicts | None = None
    for arrays in columns:
        rows = make_rows(arrays, schema)
        if not rows.num_rows:
            continue
        if held is not None:
            yield _write(held)
        held = _pick(kept.engine, rows, aside)
        now = kept.engine.read_counters()
        counters = now if counters is None else merge_batches(counters, now)
    if held is not None and counters is not None:
        learned.keep(shipped, kept)
        yield _write(held, report_text({"cell": kept.cell, **wire.to_plain(counters)}))


def make_rows(arrays: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Make a batch of the columns that Spark hands over, one by itself or several."""
    columns = arrays if isinstance(arrays, tuple) else (arrays,)
    fit = [a if a.type == field.type else a.cast(field.type) for a, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(fit, schema=schema)


def _pick(engine: Engine, rows: pa.RecordBatch, aside: bool) -> Verdicts:
    passed = np.zeros(rows.num_rows, np.bool_)
    passed[engine.pick(rows)] = True
    return Verdicts(passed, engine.read_rejected() if aside else None)


def _write(verdicts: Verdicts, report: str | None = None) -> pa.Array:
    """Write verdicts, and a report with the last of them."""
    rows, aside = len(verdicts.passed), verdicts.aside
    texts = {name: pa.nulls(rows, pa.string()) for name in ("report", *(ASIDE if aside is not None else ()))}
    if report is not None:
        texts["report"] = pa.concat_arrays([texts["report"][:-1], pa.array([report], pa.string())])
    for place, name in enumerate(ASIDE, 1) if aside else ():
        found = np.full(rows, None, object)
        for row in aside or ():
            found[row.place] = row[place]
        texts[name] = pa.array(found, pa.string())
    return pa.StructArray.from_arrays([pa.array(verdicts.passed), *texts.values()], ["passes", *texts])
