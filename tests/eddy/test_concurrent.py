"""Functions that are asked about several rows at once: in order, bounded, each error its row's, and ended in time."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy.predicates.concurrent_calls import ASYNC_AT_ONCE, open_calls

AT_ONCE = 4
PATIENCE = 60
"""Seconds after which a barrier gives up: then fewer were at it than there should be."""

ROWS = pa.table({"k": range(20)})


class Counted:
    """How many calls are under way, and the most that ever were."""

    def __init__(self) -> None:
        self.now, self.most = 0, 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def passed(function: Any, **options: Any) -> list[int]:
    asked = eddy.Filter("waits", on="s", function=function, columns=["k"], **options)
    return [int(k) for k in eddy.where(ROWS, asked, policy="fixed")["k"].to_pylist()]


def test_several_rows_are_asked_about_at_once_and_no_more() -> None:
    counted, barrier = Counted(), threading.Barrier(AT_ONCE)

    def waits(k: int) -> bool:
        with counted:
            barrier.wait(PATIENCE)  # nobody passes until there are four at it
            return k % 3 == 0

    assert passed(waits, rowwise=True, concurrency=AT_ONCE) == [*range(0, 20, 3)]
    assert counted.most == AT_ONCE


def test_an_asynchronous_function_needs_no_more_than_its_name() -> None:
    counted, met = Counted(), asyncio.Event()

    async def waits(k: int) -> bool:
        with counted:
            if counted.now == AT_ONCE:
                met.set()
            await met.wait()
            return k % 3 == 0

    assert passed(waits, concurrency=AT_ONCE) == [*range(0, 20, 3)]
    assert counted.most == AT_ONCE
    counted.most = 0
    assert passed(waits) == [*range(0, 20, 3)]  # in the loop of the call before
    assert 0 < counted.most <= ASYNC_AT_ONCE


@pytest.mark.parametrize("on_error", ["drop", "keep"])
def test_an_error_is_that_of_its_row(on_error: str) -> None:
    async def soon(k: int) -> bool:
        return 12 // (k % 5) > 3

    def now(k: int) -> bool:
        return 12 // (k % 5) > 3

    expected = [k for k in range(20) if (on_error == "keep" if k % 5 == 0 else now(k))]
    assert passed(soon, on_error=on_error) == expected
    assert passed(now, rowwise=True, concurrency=3, on_error=on_error) == expected
    with pytest.raises(eddy.QueryError, match=r'function ".*soon" raised ZeroDivisionError'):
        passed(soon)


def test_a_call_that_takes_too_long_ends_all() -> None:
    free = threading.Event()

    def stuck(k: int) -> bool:
        return free.wait() if k == 7 else True

    try:
        with pytest.raises(eddy.QueryError, match="time_limit"):
            passed(stuck, rowwise=True, concurrency=2, time_limit="50 milliseconds")
    finally:
        free.set()


def test_calls_that_nobody_awaits_are_cancelled() -> None:
    begun, cancelled = asyncio.Event(), threading.Event()

    async def waits(k: int) -> bool:
        if not k:
            await begun.wait()
            return True
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return True

    with open_calls(waits, [(0,), (1,)], 2) as calls:
        assert next(calls)
    assert cancelled.wait(PATIENCE)
