"""Windows, lateness, fan-out and restarts, case by case."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.engine.admission import Mark
from eddy.observe.statistics import Statistic
from eddy.operators.index.segments import FEWEST_SEALED

AB = [
    eddy.Stream("a", time="ts", window=eddy.Range(10), delay=0),
    eddy.Stream("b", time="ts", window=eddy.Range(10), delay=0),
]
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64())])


def engine(query: eddy.Query, policy: Any = "fixed", **tables: pa.RecordBatch) -> Engine:
    schemas = {stream.name: SCHEMA for stream in query.streams}
    ticks = itertools.count()
    return wiring.engine(query, schemas, policy, tables=tables, clock=lambda: next(ticks) / 1024, seed=0)


def batch(**rows: Sequence[tuple[int, int]]) -> dict[str, pa.RecordBatch]:
    return {
        name: pa.RecordBatch.from_pylist([{"ts": ts, "k": k} for ts, k in part], schema=SCHEMA)
        for name, part in rows.items()
    }


def pairs(found: Engine, **rows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    parts = [part for results in found.run(batch(**rows)) for part in results.to_pylist()]
    return sorted((row["a"], row["b"]) for row in parts)


PROBES_FIRST = {"name": "fixed", "order": ["probe_a", "probe_b"]}


def calls(found: Engine) -> dict[str, Statistic]:
    """What each operator did in the last micro-batch, for queries in which each has one access pattern."""
    return {hop.operator: statistic for hop, statistic in found.read_counters().operators.items()}


def query(**changes: Any) -> eddy.Query:
    return eddy.Query(**{"streams": AB, "joins": ["a.k = b.k"], "select": ["a.ts as a", "b.ts as b"], **changes})


def test_a_watermark_from_outside_counts_and_not_that_of_the_rows_seen() -> None:
    running = engine(query())
    seen = []
    for mark, a, b in [(None, [50], [50]), (None, [1], [1]), (40, [45], [39]), (60, [], []), (61, [], [])]:
        rows = batch(a=[(ts, 1) for ts in a], b=[(ts, 1) for ts in b])
        results = sum(part.num_rows for part in running.run(rows, Mark.alone(mark)))
        counted = running.read_counters().streams
        seen.append((results, counted["a"].late, counted["b"].late, counted["a"].stored))
    assert seen == [(1, 0, 0, 1), (1, 0, 0, 2), (1, 0, 1, 3), (0, 0, 0, 3), (0, 0, 0, 0)]


def test_the_watermark_is_that_of_the_slowest_stream() -> None:
    running = engine(query())
    assert pairs(running, a=[(100, 1)], b=[(5, 1)]) == []
    assert pairs(running, a=[(6, 1), (4, 1)], b=[(6, 1)]) == [(6, 5), (6, 6)]
    [a, b] = running.read_counters().streams.values()
    assert (a.late, b.late) == (1, 0)


def test_a_row_at_the_watermark_is_on_time() -> None:
    running = engine(query())
    pairs(running, a=[(10, 1)], b=[(10, 1)])
    assert pairs(running, a=[(10, 1)], b=[]) == [(10, 10)]
    assert pairs(running, a=[(9, 1), (10, 1)], b=[]) == [(10, 10)]


def test_rows_leave_when_no_row_on_time_can_meet_them() -> None:
    running = engine(query())
    stored = []
    for start in range(0, 40_000, 1_000):
        rows = [(t, t) for t in range(start, start + 1_000)]
        pairs(running, a=rows, b=rows)
        stored.append(running.read_counters().streams["a"].stored)
    assert max(stored[5:]) <= 3_000


def test_small_windows_in_one_large_batch_stay_cheap() -> None:
    rows = [(t, t) for t in range(20_000)]
    running = engine(query())
    assert len(pairs(running, a=rows, b=rows)) == 20_000


def test_equal_times_arrive_in_the_order_of_the_streams() -> None:
    streams = [eddy.Stream("a", time="ts", window=eddy.Rows(1)), eddy.Stream("b", time="ts", window=eddy.Rows(1))]
    running = engine(query(streams=streams, joins=["a.k <= b.k"]))
    assert pairs(running, a=[(5, 0), (5, 0)], b=[(5, 0), (7, 0)]) == [(5, 5), (5, 7)]


@pytest.mark.parametrize(("count", "rows"), [(1, 1), (3, FEWEST_SEALED + 2), (FEWEST_SEALED, 2 * FEWEST_SEALED - 1)])
def test_the_oldest_row_of_a_window_of_rows_is_kept_from_one_micro_batch_to_the_next(count: int, rows: int) -> None:
    """Rows leave by whole segments; here the oldest that counts is the last of its segment."""
    streams = [eddy.Stream("a", time="ts", window=eddy.Rows(count)), eddy.Stream("b", time="ts", window=eddy.Rows(1))]
    running = engine(query(streams=streams))
    assert pairs(running, a=[(ts, 7) for ts in range(rows)], b=[]) == []
    assert pairs(running, a=[], b=[(rows, 7)]) == [(ts, rows) for ts in range(rows - count, rows)]


def test_rows_that_fail_later_leave_the_state_once_they_are_many() -> None:
    running = engine(query(filters=[eddy.Filter("few", on="a", where="k >= 4")]), PROBES_FIRST)
    pairs(running, a=[(t, t) for t in range(10)], b=[])
    stored = []
    for k in range(4):
        assert pairs(running, a=[], b=[(9, k)]) == []
        stored.append(running.read_counters().streams["a"].stored)
    assert stored == [10, 10, 7, 7]


def test_rows_that_failed_are_joined_no_more() -> None:
    running = engine(query(filters=[eddy.Filter("few", on="a", where="k > 0")]), PROBES_FIRST)
    pairs(running, a=[(t, t) for t in range(10)], b=[])
    for joined in (1, 0):
        assert pairs(running, a=[], b=[(9, 0)]) == []
        assert calls(running)["probe_a"].rows_out == joined


def test_failed_rows_leave_the_state_at_once() -> None:
    running = engine(query(filters=[eddy.Filter("odd", on="a", where="k % 2 = 1")]))
    pairs(running, a=[(t, t) for t in range(10)], b=[(0, 1)])
    assert running.read_counters().streams["a"].stored == 5


def test_an_engine_that_was_stopped_in_the_middle_is_not_used_again() -> None:
    def fails(k: int) -> bool:
        raise ValueError(k)

    running = engine(query(filters=[eddy.Filter("fails", on="a", function=fails, rowwise=True)]))
    with pytest.raises(eddy.QueryError, match="raised ValueError"):
        pairs(running, a=[(1, 1)], b=[(1, 1)])
    for again in (lambda: pairs(running, a=[], b=[]), running.snapshot):
        with pytest.raises(eddy.EngineError, match="micro-batch 0 was begun and not run to its end"):
            again()


def test_a_key_that_cannot_be_computed_is_an_error_once_there_is_a_row_to_compare_it_with() -> None:
    texts = pa.schema([("ts", pa.int64()), ("k", pa.string())])
    asked = query(joins=["cast(a.k as bigint) = b.k"])
    running = wiring.engine(asked, {"a": texts, "b": SCHEMA}, "fixed", tables={}, clock=lambda: 0.0, seed=0)
    bad = pa.RecordBatch.from_pylist([{"ts": 1, "k": "x"}], schema=texts)
    assert list(running.run({"a": bad, "b": batch(b=[])["b"]})) == []
    with pytest.raises(eddy.QueryError, match=r"cast(.|\n)*the first of 1 such .* has a.ts = 1, b.ts = 2"):
        list(running.run({"a": bad.slice(1), "b": batch(b=[(2, 1)])["b"]}))


def test_dictionaries_do_not_grow_with_the_age_of_the_query() -> None:
    coded = pa.schema([("ts", pa.int64()), ("k", pa.dictionary(pa.int8(), pa.string()))])
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "ab"]
    asked = query(streams=streams, select=["a.k as a", "b.ts as b"])
    running = wiring.engine(asked, {"a": coded, "b": coded}, "fixed", tables={}, clock=lambda: 0.0, seed=0)
    for now in range(300):
        rows = pa.RecordBatch.from_pylist([{"ts": now, "k": f"key {now}"}], schema=coded)
        assert [p.to_pydict() for p in running.run({"a": rows, "b": rows})] == [{"a": [f"key {now}"], "b": [now]}]


def test_tables_are_looked_up_and_filtered() -> None:
    table = pa.RecordBatch.from_pylist([{"ts": 0, "k": 1}, {"ts": 9, "k": 1}, {"ts": 0, "k": 2}], schema=SCHEMA)
    asked = eddy.Query(
        streams=[AB[0]],
        tables=[eddy.Table("b")],
        joins=["a.k = b.k"],
        filters=[eddy.Filter("zero", on="b", where="ts = 0")],
        select=["a.ts as a", "b.ts as b"],
    )
    running = engine(asked, b=table)
    assert pairs(running, a=[(4, 1), (5, 3)]) == [(4, 0)]
    assert pairs(running, a=[(6, 2), (7, 1)]) == [(6, 0), (7, 0)]


def test_no_join_at_all_is_refused_unless_it_is_meant() -> None:
    with pytest.raises(eddy.QueryError, match='no join leads from "a" to "b"; add a join, or say cross=True'):
        query(joins=[])
    assert pairs(engine(query(joins=[], cross=True)), a=[(1, 1), (2, 2)], b=[(1, 3)]) == [(1, 1), (2, 1)]


def test_keys_that_cannot_be_compared_are_refused() -> None:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.list_(pa.int64()))])
    with pytest.raises(eddy.QueryError, match=r'join "a\.k = b\.k"'):
        wiring.engine(query(), {"a": schema, "b": schema}, "fixed", tables={}, clock=lambda: 0.0, seed=0)


def test_an_unknown_column_in_a_join() -> None:
    with pytest.raises(eddy.QueryError, match=r'unknown column "a\.kk"; did you mean "a\.k"'):
        engine(query(joins=["a.kk = b.k"]))


def test_times_that_no_integer_difference_can_hold() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10)) for s in "ab"]
    running = engine(query(streams=streams))
    low, high = -(2**63), 2**63 - 1
    assert pairs(running, a=[(low, 1), (high, 1)], b=[(low + 10, 1), (high - 11, 1)]) == [(low, low + 10)]
