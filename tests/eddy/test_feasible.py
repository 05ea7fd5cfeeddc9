"""Windows that contradict a join are found before anything runs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eddy
from eddy.query.binding import bind

SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64())])


def query(join: str, a: eddy.Range | eddy.Unbounded, b: eddy.Range | eddy.Unbounded) -> eddy.Query:
    return eddy.Query(
        streams=[eddy.Stream("a", time="ts", window=a), eddy.Stream("b", time="ts", window=b)], joins=[join]
    )


MINUTE, HOUR = eddy.Range("1 minute"), eddy.Range("1 hour")


@pytest.mark.parametrize(
    ("join", "a", "b"),
    [
        ("b.ts > a.ts + interval 1 minute", MINUTE, HOUR),
        ("b.ts - interval 2 minutes >= a.ts", MINUTE, HOUR),
        ("a.ts + interval 61 seconds = b.ts", MINUTE, HOUR),
        ("a.ts > b.ts + interval 1 hour", MINUTE, HOUR),
        ("a.ts - interval 90 minutes > b.ts", eddy.Unbounded(), HOUR),
        ("b.ts between a.ts + interval 2 minutes and a.ts + interval 3 minutes", MINUTE, HOUR),
    ],
)
def test_a_join_that_nothing_can_satisfy(
    join: str, a: eddy.Range | eddy.Unbounded, b: eddy.Range | eddy.Unbounded
) -> None:
    with pytest.raises(eddy.QueryError, match="no two rows inside their windows satisfy it"):
        bind(query(join, a, b), {"a": SCHEMA, "b": SCHEMA})


@pytest.mark.parametrize(
    ("join", "a", "b"),
    [
        ("b.ts >= a.ts + interval 1 minute", MINUTE, HOUR),
        ("b.ts > a.ts + interval 59 seconds", MINUTE, HOUR),
        ("b.ts > a.ts + interval 1 day", eddy.Unbounded(), HOUR),
        ("a.ts = b.ts", MINUTE, MINUTE),
        ("a.k < b.k", MINUTE, MINUTE),
        ("hour(a.ts) > hour(b.ts) + 2", MINUTE, MINUTE),
        ("a.k % 100 = b.k - 95", MINUTE, MINUTE),
    ],
)
def test_a_join_that_something_may_satisfy(
    join: str, a: eddy.Range | eddy.Unbounded, b: eddy.Range | eddy.Unbounded
) -> None:
    bind(query(join, a, b), {"a": SCHEMA, "b": SCHEMA})


@pytest.mark.parametrize("join", ["a.ts % 100 = b.ts - 95", "abs(a.ts) = b.ts + 20", "100 div a.ts = b.ts"])
def test_what_is_no_shift_of_a_time_is_let_through(join: str) -> None:
    schema = pa.schema([("ts", pa.int64())])
    bind(query(join, eddy.Range(10), eddy.Range(10)), {"a": schema, "b": schema})


def test_numbers_as_times() -> None:
    schema = pa.schema([("ts", pa.int8())])
    asked = query("a.ts + 10 < b.ts", eddy.Range(5), eddy.Range(50))
    with pytest.raises(eddy.QueryError, match='"a" has Range'):
        bind(asked, {"a": schema, "b": schema})
