"""Filters in Polars, asked per micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from eddy.jobs.experiments.workloads.burn import MaskFunction

Ints = np.ndarray[Any, np.dtype[np.int64]]


def comparisons(bounds: Mapping[str, int]) -> Callable[[pa.RecordBatch], Ints]:
    """Rows whose columns are below their bounds: one lazy query of Polars' own expressions."""
    conditions = [pl.col(column) < bound for column, bound in bounds.items()]

    def run(batch: pa.RecordBatch) -> Ints:
        return _frame(batch).lazy().filter(*conditions).select("id").collect()["id"].to_numpy()

    return run


def functions(judges: Sequence[tuple[str, MaskFunction]]) -> Callable[[pa.RecordBatch], Ints]:
    """Each function sees what those before it have passed.

    In one lazy query Polars would hand every row to all of them, so the steps are eager. Only the number and the keys
    go through them.
    """

    def run(batch: pa.RecordBatch) -> Ints:
        left = _frame(batch).select("id", *(column for column, _ in judges))
        for column, judge in judges:
            left = left.filter(pl.Series(judge(left[column].to_numpy())))
        return left["id"].to_numpy()

    return run


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    return pl.DataFrame(pa.Table.from_batches([batch]))
