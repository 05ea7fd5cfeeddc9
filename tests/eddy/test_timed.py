"""A row is ahead if its own time is more than `max_ahead` after the time at which it arrived; nothing else counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.engine.row_times import read_times
from eddy.engine.snapshot import pack, unpack
from eddy.errors import QueryError
from eddy.tuples import event_time

INFINITE, NAN = float("inf"), float("nan")
SMALLEST, LARGEST = -(2**63), 2**63 - 1
MICROS = pa.timestamp("us", "UTC")
NANOS = pa.timestamp("ns", "UTC")


@pytest.mark.parametrize(
    ("length", "kind", "ticks", "arrived", "ahead"),
    [
        (10, pa.int64(), [10, 11, 5, None, 900], [0, 0, 900, 0, None], [False, True, False, False, False]),
        (0, pa.int8(), [5, 6], [5, 5], [False, True]),
        (0.5, pa.int64(), [5, 6, None], [5, 5, -900], [False, True, False]),
        (2**62, pa.int64(), [LARGEST, LARGEST, SMALLEST], [SMALLEST, 2**62 - 1, LARGEST], [True, False, False]),
        (2.0**53, pa.int64(), [2**53 + 1, 2**53], [0, 0], [True, False]),
        (1, pa.float64(), [1.5, 2.0, 2.5, NAN, 900.0], [1.0, 1.0, 1.0, 1.0, NAN], [False, False, True, False, False]),
        (1, pa.float64(), [INFINITE, INFINITE, 1.0, -INFINITE], [1.0, INFINITE, -INFINITE, 1.0], [1, 0, 1, 0]),
        (1, pa.float64(), [1.7e308, -1.7e308], [-1.7e308, 1.7e308], [True, False]),
        ("1 second", MICROS, [1_000_000, 1_000_001, None], [0, 0, 0], [False, True, False]),
        ("50 microseconds", pa.timestamp("us"), [50, 51], [0, 0], [False, True]),
        ("1 second", MICROS, [LARGEST, SMALLEST], [SMALLEST, LARGEST], [True, False]),
        # Parts of a microsecond are no part of a time.
        ("1 microsecond", NANOS, [1_999, 2_000, -1], [0, 0, -1_001], [False, True, False]),
    ],
)
def test_a_row_is_ahead_of_the_time_at_which_it_arrived(
    length: Any, kind: pa.DataType, ticks: list[Any], arrived: list[Any], ahead: list[Any]
) -> None:
    stream = eddy.Stream("a", time="ts", max_ahead=length, arrived="at")
    rows = pa.record_batch({"ts": pa.array(ticks, kind), "at": pa.array(arrived, kind)})
    # Other streams may have times that are floats: how a row's own are compared does not depend on them.
    for dtype in {event_time.dtype(kind), np.float64}:
        found = read_times(stream, rows, dtype).ahead
        assert found is not None
        assert found.tolist() == ahead


def test_whole_times_are_held_against_floats() -> None:
    stream = eddy.Stream("a", time="ts", max_ahead=1.5, arrived="at")
    rows = pa.record_batch({"ts": [2, 3], "at": pa.array([0.75, 0.75], pa.float32())})
    found = read_times(stream, rows, np.int64).ahead
    assert found is not None
    assert found.tolist() == [False, True]


def test_a_time_that_does_not_fit_is_the_user_s_error() -> None:
    stream = eddy.Stream("a", time="ts", max_ahead=1, arrived="at")
    rows = pa.record_batch({"ts": [1], "at": pa.array([2**63], pa.uint64())})
    with pytest.raises(QueryError, match='stream "a": arrived "at": expected times that fit into 64 bits'):
        read_times(stream, rows, np.int64)


# --- what the limit is for


def minutes(count: int, *, begin: int = 0, sent: int = 0) -> pa.Table:
    """A row every minute, which arrives a second later; `sent` minutes are what its clock is ahead."""
    arrived = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=begin + n) for n in range(count)]
    return pa.table(
        {
            "ts": pa.array([at + timedelta(minutes=sent) for at in arrived], MICROS),
            "at": pa.array([at + timedelta(seconds=1) for at in arrived], MICROS),
            "v": range(count),
        }
    )


def counts(data: Any, batch_rows: int = 10_000) -> dict[str, int]:
    """How many rows come out of a stream with a limit, and how many are dropped."""
    stream = eddy.Stream("a", time="ts", delay="0 seconds", max_ahead="1 hour", arrived="at")
    run = eddy.run_local(eddy.Query(streams=[stream]), {"a": data}, batch_rows=batch_rows)
    assert run.results.schema.names == ["a_ts", "a_v"]
    dropped = {kind: int(run.report.batches()[kind].sum()) for kind in ("ahead", "late")}
    return {"rows": run.results.num_rows, **dropped}


@pytest.mark.parametrize("batch_rows", [1, 7, 60, 10_000])
def test_rows_that_come_in_order_are_all_there(batch_rows: int) -> None:
    assert counts(minutes(180), batch_rows) == {"rows": 180, "ahead": 0, "late": 0}


@pytest.mark.parametrize("batch_rows", [1, 60, 10_000])
def test_a_gap_of_hours_loses_nothing(batch_rows: int) -> None:
    gap = pa.concat_tables([minutes(120), minutes(180, begin=660)])
    assert counts(gap, batch_rows) == {"rows": 300, "ahead": 0, "late": 0}


def test_a_clock_that_runs_ahead_does_not_make_the_others_late() -> None:
    for sent, expected in (
        (61, {"rows": 180, "ahead": 1, "late": 0}),
        # An hour is as far as it may be: then it is believed, and others are late.
        (60, {"rows": 122, "ahead": 0, "late": 59}),
    ):
        astray = minutes(1, begin=119, sent=sent)
        parts = [minutes(60), pa.concat_tables([astray, minutes(60, begin=60)]), minutes(60, begin=120)]
        assert counts(parts) == expected


# --- what is asked


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"max_ahead": 5}, r'stream "a": max_ahead: expected arrived to name the column .*"kafka_timestamp".*modified'),
        ({"arrived": "at"}, r'stream "a": arrived: nothing asks for it without a max_ahead'),
        ({"max_ahead": 5, "arrived": "ts"}, r'stream "a": arrived: expected another column than time, "ts"'),
        ({"max_ahead": 5, "arrived": 3}, r'stream "a": arrived: expected the name of a column, got 3'),
        ({"max_ahead": 5, "arrived": "when"}, r'stream "a": arrived: unknown column "when"'),
        ({"max_ahead": 5, "arrived": "text"}, r'arrived "text": expected a time column that is a .*, got string'),
        ({"max_ahead": 5, "arrived": "zoned"}, r'"ts", a number, got "zoned", which is a timestamp; cast one of them'),
        ({"max_ahead": "5 seconds", "arrived": "at"}, r'is a number, so its max_ahead must be a number; got "?.5 sec'),
    ],
)
def test_what_does_not_fit_is_refused(asked: dict[str, Any], message: str) -> None:
    rows = pa.table({"ts": [1], "at": [1], "text": ["x"], "zoned": pa.array([1], MICROS)})
    with pytest.raises(QueryError, match=message):
        eddy.run_local(eddy.Query(streams=[eddy.Stream("a", time="ts", **asked)]), {"a": rows})


def test_the_column_is_in_the_answer_if_it_is_selected() -> None:
    stream = eddy.Stream("a", time="ts", max_ahead=5, arrived="at")
    asked = eddy.Query(streams=[stream], select=["a.at", "a.ts"])
    assert eddy.run_local(asked, {"a": pa.table({"ts": [1], "at": [2]})}).results.to_pylist() == [{"at": 2, "ts": 1}]


def test_a_state_goes_on_under_another_limit() -> None:
    """Also one that was written when a limit was held against where the stream stood, and counted micro-batches."""

    def running(**limit: Any) -> Any:
        stream = eddy.Stream("a", time="ts", delay=0, **limit)
        schema = pa.schema({"ts": pa.int64(), "at": pa.int64()})
        asked = eddy.Query(streams=[stream], select=["a.ts"])
        return wiring.engine(asked, {"a": schema}, "fixed", tables={}, clock=lambda: 0.0, seed=0)

    before, after = running(), running(max_ahead=5, arrived="at")
    list(before.run({"a": pa.record_batch({"ts": [10], "at": [10]})}))
    meta, tables = unpack(before.snapshot())
    assert meta["gate"] == {"newest": {"a": 10}}
    after.restore(pack({**meta, "gate": {**meta["gate"], "astray": {"a": 2}}}, tables))
    rows = pa.record_batch({"ts": [9, 900, 901], "at": [9, 900, 890]})
    assert [part.to_pylist() for part in after.run({"a": rows})] == [[{"ts": 900}]]
    assert (after.read_counters().streams["a"].late, after.read_counters().streams["a"].ahead) == (1, 1)
