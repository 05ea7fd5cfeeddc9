"""Rows that can be in no answer are counted by what is wrong with them, or fail the query; and what is too much."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eddy

BAD = pa.table(
    {
        "ts": pa.array([1, None, 2, 950, 900, 4], pa.int64()),
        "at": pa.array([1, 1, None, 1, 1, None], pa.int64()),
        "k": pa.array([1, 1, None, 1, 1, None], pa.int64()),
        "broken": pa.array([None, None, None, "{", None, "}"], pa.string()),
    }
)
GOOD = pa.table({"ts": [1, 2], "k": [1, 1]})


def asked(**more: Any) -> eddy.Query:
    window = more.pop("window", eddy.Range(10))
    streams = [
        eddy.Stream("a", time="ts", window=window, malformed="broken", max_ahead=100, arrived="at", **more),
        eddy.Stream("b", time="ts", window=eddy.Range(10)),
    ]
    return eddy.Query(streams=streams, joins=["a.k = b.k"])


def test_bad_rows_are_dropped_and_counted_by_kind() -> None:
    run = eddy.run_local(asked(), {"a": BAD, "b": GOOD})
    counted = run.report.streams().query("stream == 'a'").iloc[0]
    assert {name: int(counted[name]) for name in ("rows", "untimed", "late", "ahead", "keyless", "malformed")} == {
        "rows": 6,
        "untimed": 1,
        "late": 0,
        "ahead": 1,
        "keyless": 1,
        "malformed": 2,
    }
    assert counted["stored"] == 1
    assert run.results.num_rows == 2
    assert run.results.schema.names == ["a_ts", "a_k", "b_ts", "b_k"]
    assert run.report.batches()[["keyless", "malformed"]].iloc[0].tolist() == [1, 2]


def test_bad_rows_fail_the_query_if_it_says_so() -> None:
    message = (
        'stream "a": micro-batch 0 has bad rows: 2 that "broken" says could not be read, 1 without a time in "ts", '
        '1 more than max_ahead, 100, after "at", 1 without a value in "k", which joins compare'
    )
    with pytest.raises(eddy.QueryError, match=message):
        eddy.run_local(asked(bad_rows="fail"), {"a": BAD, "b": GOOD})
    clean = BAD.slice(0, 1)
    assert eddy.run_local(asked(bad_rows="fail"), {"a": clean, "b": GOOD}).results.num_rows == 2


def test_a_window_of_rows_counts_those_that_join_nothing() -> None:
    keys = pa.array([1, None], pa.int64())
    rows = pa.table({"ts": [1, 2], "at": [1, 2], "k": keys, "broken": pa.nulls(2, pa.string())})
    later = pa.table({"ts": [5], "k": [1]})
    assert eddy.run_local(asked(window=eddy.Rows(1)), {"a": rows, "b": later}).results.num_rows == 0
    assert eddy.run_local(asked(window=eddy.Rows(2)), {"a": rows, "b": later}).results.num_rows == 1


def test_what_may_be_said_of_bad_rows_is_checked() -> None:
    with pytest.raises(eddy.QueryError, match="stream \"a\": bad_rows: expected 'drop' or 'fail', got 'keep'"):
        eddy.Stream("a", time="ts", bad_rows="keep")
    with pytest.raises(eddy.QueryError, match='stream "a": malformed: unknown column "broken"'):
        eddy.run_local(asked(), {"a": GOOD, "b": GOOD})


def hot(**limits: Any) -> eddy.Query:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(1_000), delay=0) for s in "abc"]
    return eddy.Query(streams=streams, joins=["a.k = b.k", "b.k = c.k"], select=["a.ts"], **limits)


def one_key(rows: int) -> dict[str, pa.Table]:
    return {s: pa.table({"ts": range(rows), "k": [1] * rows}) for s in "abc"}


@pytest.mark.parametrize("order", [["probe_a", "probe_b", "probe_c"], ["probe_c", "probe_b", "probe_a"]])
def test_limits_to_results_mean_the_same_on_every_route(order: list[str]) -> None:
    policy = {"name": "fixed", "order": order}
    # Of 5 rows in each stream, all of one key, the last row sets off 25 results, and there are 125 in all.
    assert eddy.run_local(hot(max_fanout=25, max_results=125), one_key(5), policy=policy).results.num_rows == 125
    with pytest.raises(
        eddy.QueryError, match=r'one row of "c", with c.ts = 4, has more results than the 24 .* c.k = 1'
    ):
        eddy.run_local(hot(max_fanout=24), one_key(5), policy=policy)
    with pytest.raises(eddy.QueryError, match="a micro-batch has more results than the 124 that max_results allows"):
        eddy.run_local(hot(max_results=124), one_key(5), policy=policy)


def test_a_stream_that_stalls_is_named_before_the_memory_is_full() -> None:
    still = [pa.table({"ts": [0], "k": [1]})] * 40
    going = [pa.table({"ts": range(n * 100, n * 100 + 100), "k": range(100)}) for n in range(40)]
    asked = hot(max_state=100_000)
    moving = eddy.run_local(replaced(asked), {"a": going, "b": going, "c": going})
    assert moving.report.streams()["nbytes"].max() < 100_000
    message = (
        r'grown to .* bytes, and max_state allows 100,000: "a" .*; event times have come to, in ticks: .*"c" 0; narrow'
    )
    with pytest.raises(eddy.QueryError, match=message):
        eddy.run_local(asked, {"a": going, "b": going, "c": still})


def replaced(query: eddy.Query) -> eddy.Query:
    """The same over windows so short that hardly anything joins."""
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(100), delay=0) for s in "abc"]
    return eddy.Query(streams=streams, joins=query.joins, select=query.select, max_state=query.max_state)
