"""Event times as numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from eddy.errors import QueryError
from eddy.tuples import event_time

INFINITE = float("inf")


@pytest.mark.parametrize(
    ("column", "ticks"),
    [
        (pa.array([1, -1], pa.int8()), [1, -1]),
        (pa.array([2**63 - 1, -(2**63)]), [2**63 - 1, -(2**63)]),
        (pa.array([1.5, float("inf")], pa.float32()), [1.5, float("inf")]),
        (pa.array([1, -1], pa.timestamp("s")), [1_000_000, -1_000_000]),
        (pa.array([1, -1], pa.timestamp("ms", "UTC")), [1_000, -1_000]),
        (pa.array([1, -1], pa.timestamp("us", "Asia/Tokyo")), [1, -1]),
        (pa.array([1_999, -1, -1_000, -1_001], pa.timestamp("ns")), [1, -1, -1, -2]),
        (pa.array([0, 1_999, -1_001], pa.timestamp("ns")).slice(1), [1, -2]),
    ],
)
def test_ticks(column: pa.Array, ticks: list[float]) -> None:
    found, valid = event_time.read_ticks(column, event_time.dtype(column.type))
    assert (found.tolist(), valid) == (ticks, None)


@pytest.mark.parametrize(
    ("column", "valid"),
    [
        (pa.array([1, None]), [True, False]),
        (pa.array([None, 0], pa.timestamp("us")), [False, True]),
        (pa.array([None, 5], pa.timestamp("ns")), [False, True]),
        (pa.array([1.0, float("nan"), None]), [True, False, False]),
    ],
)
def test_rows_without_a_time(column: pa.Array, valid: list[bool]) -> None:
    _, found = event_time.read_ticks(column, event_time.dtype(column.type))
    assert found.tolist() == valid


@pytest.mark.parametrize(
    ("now", "then", "age"),
    [
        ([5, -5, 2**63 - 1], [3, 5, -(2**63)], [2, 0, 2**64 - 1]),
        ([5.5, INFINITE, INFINITE, -INFINITE], [3.0, INFINITE, -INFINITE, INFINITE], [2.5, 0.0, INFINITE, 0.0]),
    ],
)
def test_how_much_later_a_time_is(now: list[float], then: list[float], age: list[float]) -> None:
    assert event_time.age(np.array(now), np.array(then)).tolist() == age


@pytest.mark.parametrize("wrong", [pa.string(), pa.date32(), pa.bool_(), pa.decimal128(10, 2), pa.list_(pa.int64())])
def test_what_is_no_time(wrong: pa.DataType) -> None:
    with pytest.raises(QueryError, match="expected a time column that is a timestamp, an integer or a float, got"):
        event_time.find_kind(wrong, where="here")
