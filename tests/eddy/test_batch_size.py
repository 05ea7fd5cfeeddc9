"""Functions of columns that get so many rows a call: the same answers, bounded, each error its rows', side by side."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

import eddy

ROWS = 20
TABLE = pa.table({"k": range(ROWS)})
WITH_NULLS = pa.table({"k": [None if k % 5 == 2 else k for k in range(ROWS)]})
PATIENCE = 60
"""Seconds after which a barrier gives up: then fewer were at it than there should be."""


def passed(function: Callable[..., Any], table: pa.Table = TABLE, **options: Any) -> list[int | None]:
    asked = eddy.Filter("f", on="s", function=function, columns=["k"], **options)
    return [row["k"] for row in eddy.where(table, asked, policy="fixed").to_pylist()]


@pytest.mark.parametrize("size", [1, 3, 7, 19, 20, 21, 1_000_000])
@pytest.mark.parametrize("table", [TABLE, WITH_NULLS], ids=["whole", "nulls"])
def test_a_call_gets_at_most_so_many_rows(size: int, table: pa.Table) -> None:
    sizes: list[int] = []

    def is_third(k: pd.Series) -> pd.Series:
        sizes.append(len(k))
        return k % 3 == 0

    assert passed(is_third, table, batch_size=size) == [
        k for k in table["k"].to_pylist() if k is not None and k % 3 == 0
    ]
    assert max(sizes) <= size
    assert sum(sizes) == ROWS
    # Rows with and without a null are apart, so that a null beside it makes no float of an integer.
    apart = [table["k"].null_count, ROWS - table["k"].null_count]
    assert len(sizes) == sum(-(-rows // size) for rows in apart)


def test_only_the_rows_of_a_call_that_raises_are_asked_again() -> None:
    sizes: list[int] = []

    def is_fine(k: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        sizes.append(len(k))
        if 6 in k:
            raise ValueError(6)
        even: npt.NDArray[np.bool_] = k % 2 == 0
        return even

    assert passed(is_fine, batch_size=5, on_error="drop") == [k for k in range(0, ROWS, 2) if k != 6]
    assert sizes[:4] == [5, 5, 5, 5]
    assert max(sizes[4:]) <= 3
    assert passed(is_fine, batch_size=5, on_error="keep") == [*range(0, ROWS, 2)]
    with pytest.raises(eddy.QueryError, match=r'function ".*is_fine" raised ValueError'):
        passed(is_fine, batch_size=5)


def test_a_call_that_gives_no_mask_is_no_rows_fault() -> None:
    with pytest.raises(eddy.QueryError, match="expected one boolean for each of 5 rows, got 4"):
        passed(lambda k: (k > 3)[:4], batch_size=5, on_error="drop")


def test_calls_of_parts_overlap() -> None:
    barrier, names = threading.Barrier(4), set[str]()

    def waits(k: pd.Series) -> pd.Series:
        names.add(threading.current_thread().name)
        barrier.wait(PATIENCE)  # nobody passes until there are four at it
        return k % 3 == 0

    assert passed(waits, batch_size=5, concurrency=4) == [*range(0, ROWS, 3)]
    assert len(names) == 4


def test_an_asynchronous_function_of_columns() -> None:
    met, begun = asyncio.Event(), list[int]()

    async def waits(k: pd.Series) -> pd.Series:
        begun.append(len(k))
        if len(begun) == 3:
            met.set()
        await met.wait()
        if 9 in k.to_numpy():
            raise ValueError(9)
        return k % 3 == 0

    assert passed(waits, batch_size=7, on_error="drop") == [k for k in range(0, ROWS, 3) if k != 9]
    assert begun[:3] == [7, 7, 6]
    # All rows fit into one call, which is awaited as well.
    assert passed(waits, batch_size=100, on_error="keep") == [*range(0, ROWS, 3)]


def test_a_call_that_takes_too_long_ends_all() -> None:
    free = threading.Event()

    def stuck(k: pd.Series) -> pd.Series:
        return k > 0 if 7 not in k.to_numpy() or free.wait() else k < 0

    try:
        for more in ({}, {"concurrency": 2}):
            with pytest.raises(eddy.QueryError, match="was called with 5 rows, and took longer than its time_limit"):
                passed(stuck, TABLE, batch_size=5, time_limit="50 milliseconds", on_error="drop", **more)
    finally:
        free.set()


def test_columns_that_no_function_can_be_given_are_told() -> None:
    """Whichever part they are of; a time of the year 300,000 is none of Python's."""
    table = pa.table({"k": pa.array([[0], [2**63 - 1]] * 3, pa.list_(pa.timestamp("us")))})
    for more in ({}, {"concurrency": 2}):
        with pytest.raises(eddy.QueryError, match="raised OverflowError"):
            passed(lambda k: k.notna(), table, batch_size=2, **more)


def test_no_rows_need_no_call() -> None:
    assert passed(lambda _: 1 / 0, TABLE.slice(0, 0), batch_size=2) == []
