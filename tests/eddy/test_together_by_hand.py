"""Queries that are answered together, by hand: whose rows count, who is asked, what is stored, what is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.errors import EngineError
from eddy.wiring import Begun, Tools
from tests import tiny
from tests.policies.checks import steady_clock
from tests.policies.wild import Wild
from tests.tries import fewer

NO_ROWS: Sequence[tuple[int | None, int | None]] = ()


def rows(*found: tuple[int | None, int | None]) -> pa.RecordBatch:
    """Rows of an id, which is all that tells them apart, and a time."""
    ids, times = [one for one, _ in found], [at for _, at in found]
    return pa.record_batch({"id": pa.array(ids, pa.int64()), "at": pa.array(times, pa.int64())})


def stream(name: str, window: Any = None, *, delay: int | None = 0) -> eddy.Stream:
    return eddy.Stream(name, time="at", delay=delay, window=window or eddy.Unbounded())


def query(name: str, *streams: eddy.Stream, **more: Any) -> eddy.Query:
    """Any combination of rows of some streams."""
    more = {"select": [f"{one.name}.id as {one.name}" for one in streams], "cross": True, **more}
    return eddy.Query(name=name, streams=streams, **more)


def make_engine(*queries: eddy.Query, policy: Any = "fixed", **more: Any) -> Engine:
    eddy.Queries(queries)
    schema = rows().schema
    begun = {
        one.name: Begun(query=one, schemas=dict.fromkeys([s.name for s in one.streams], schema), policy=policy)
        for one in queries
    }
    return wiring.engine_together(begun, {}, Tools(clock=steady_clock(), seed=0, **more))


def run(
    running: Engine, **batch: Sequence[tuple[int | None, int | None]]
) -> dict[str, Counter[tuple[int | None, ...]]]:
    """Run a micro-batch; streams that are not named have no rows."""
    found: dict[str, Counter[tuple[int | None, ...]]] = {name: Counter() for name in running.lanes}
    read = {s for lane in running.lanes.values() for s in lane.binding.query.sources}
    for name, part in running.run_each({name: rows(*batch.get(name, NO_ROWS)) for name in sorted(read)}):
        found[name].update(tuple(row.values()) for row in part.to_pylist())
    return found


# --- watermarks and windows


def test_a_row_that_is_late_for_one_query_takes_no_place_in_its_window() -> None:
    """The other query waits for a slower stream, so the row is on time there, and stored."""
    newest = query("newest", stream("a", eddy.Rows(1)), stream("b"))
    patient = query("patient", stream("a"), stream("c"))
    running = make_engine(newest, patient)
    run(running, a=[(1, 10)], b=[(1, 10)], c=[(1, 0)])
    found = run(running, a=[(2, 5)])
    assert found == {"newest": Counter(), "patient": Counter([(2, 1)])}
    assert run(running, b=[(2, 11)])["newest"] == Counter([(1, 2)])


def test_each_query_has_the_watermark_of_its_own_streams() -> None:
    quick, slow = query("quick", stream("a"), stream("b")), query("slow", stream("a"), stream("c"))
    running = make_engine(quick, slow)
    run(running, a=[(1, 10)], b=[(1, 10)], c=[(1, 3)])
    run(running, a=[(2, 5)], b=[(2, 5)], c=[(2, 5)])
    late = {name: {s: c.late for s, c in counted.streams.items()} for name, counted in running.read_each().items()}
    assert late == {"quick": {"a": 1, "b": 1}, "slow": {"a": 0, "c": 0}}
    assert {name: counted.watermark for name, counted in running.read_each().items()} == {"quick": 10, "slow": 3}


def test_a_query_that_comes_back_begins_anew() -> None:
    """Neither its rows nor its watermark are those that it had before it was left out."""
    first, other = query("first", stream("a"), stream("b")), query("other", stream("a"))
    both = make_engine(first, other)
    run(both, a=[(1, 100)], b=[(1, 100)])
    without = make_engine(other)
    without.restore(both.snapshot())
    run(without, a=[(2, 101)])
    again = make_engine(other, first)
    again.restore(without.snapshot())
    assert run(again, a=[(3, 5)], b=[(3, 5)]) == {"first": Counter([(3, 3)]), "other": Counter()}


def test_a_newcomer_does_not_see_rows_that_are_stored() -> None:
    old, new = query("old", stream("a"), stream("b")), query("new", stream("b"), stream("a"))
    before = make_engine(old)
    run(before, a=[(1, 1)])
    after = make_engine(new, old)
    after.restore(before.snapshot())
    assert run(after, b=[(2, 2)]) == {"new": Counter(), "old": Counter([(1, 2)])}


def test_a_row_without_a_key_of_one_query_is_there_for_the_other() -> None:
    by_id, by_time = (query(name, stream("a"), stream("b"), joins=[f"a.{name} = b.{name}"]) for name in ("id", "at"))
    running = make_engine(by_id, by_time)
    found = run(running, a=[(None, 1), (2, 2)], b=[(2, 1)])
    assert found == {"id": Counter([(2, 2)]), "at": Counter([(None, 2)])}
    keyless = {name: counted.streams["a"].keyless for name, counted in running.read_each().items()}
    assert keyless == {"id": 1, "at": 0}


def test_results_wait_for_the_watermark_of_their_own_query() -> None:
    windows = {"emit": "end"}
    quick = query("quick", stream("a", eddy.Range(5)), stream("b", eddy.Range(5)), **windows)
    slow = query("slow", stream("a", eddy.Range(5)), stream("c", eddy.Range(5)), **windows)
    running = make_engine(quick, slow)
    assert not any(run(running, a=[(1, 1)], b=[(2, 1)], c=[(3, 1)]).values())
    found = run(running, a=[(4, 90)], b=[(5, 90)])
    assert [{row[:2] for row in rows} for rows in found.values()] == [{(1, 2)}, set()]
    assert {row[:2] for row in run(running, c=[(6, 90)])["slow"]} == {(1, 3)}


def test_a_filter_that_changes_is_one_query_s_own() -> None:
    """Rows that the former one had dropped stay dropped there, and rows that are stored are asked about the new one."""

    def asking(where: str) -> list[eddy.Query]:
        streams = [stream("a"), stream("b")]
        return [query("plain", *streams), query("some", *streams, filters=[eddy.Filter("f", on="a", where=where)])]

    before = make_engine(*asking("id > 1"))
    run(before, a=[(1, 1), (2, 1), (3, 1)])
    after = make_engine(*asking("id <> 3")[::-1])
    after.restore(before.snapshot())
    found = run(after, b=[(9, 2)])
    assert found == {"plain": Counter([(1, 9), (2, 9), (3, 9)]), "some": Counter([(2, 9)])}


def test_a_limit_that_one_exceeds_names_it() -> None:
    streams = [stream("a"), stream("b")]
    large, small = query("large", *streams), query("small", *streams, max_state=10_000)
    running = make_engine(large, small)
    run(running, a=[(1, 1)], b=[(1, 1)])
    saved = running.snapshot()
    with pytest.raises(eddy.QueryError, match=r'query "small": .*max_state allows 10,000'):
        run(running, a=[(n, 1) for n in range(5_000)])
    without = make_engine(large)
    without.restore(saved)
    assert run(without, a=[(2, 2)])["large"] == Counter([(2, 1)])


def test_bad_rows_are_refused_by_the_name_of_a_query() -> None:
    failing = [replace(stream("a"), bad_rows="fail")]
    running = make_engine(query("one", *failing), query("two", *failing))
    with pytest.raises(eddy.QueryError, match=r'stream "one.a": micro-batch 0 has bad rows: 1 without a time in "at"'):
        run(running, a=[(1, None)])


# --- what is stored


def stored(running: Engine, name: str) -> int:
    """How many rows of a source there are, whoever needs them."""
    (count,) = {c.streams[name].stored for c in running.read_each().values() if name in c.streams}
    return count


def test_rows_are_stored_and_written_once() -> None:
    streams = [stream(name, eddy.Range(100)) for name in "ab"]
    queries = [query(f"q{n}", *streams, joins=["a.id = b.id"]) for n in range(6)]
    one, many = make_engine(queries[0]), make_engine(*queries)
    ids = np.random.default_rng(0).integers(0, 1 << 60, 5_000).tolist()
    batch = [(number, place % 100) for place, number in enumerate(ids)]
    sizes, states = [], []
    for running in (one, many):
        run(running, a=batch)
        assert stored(running, "a") == len(batch)
        sizes.append({counted.streams["a"].nbytes for counted in running.read_each().values()})
        states.append(len(running.snapshot().blob))
    # Each query is told what it would need alone, and all of it is written once.
    assert sizes[0] == sizes[1]
    assert states[1] < 1.1 * states[0]


def test_rows_leave_once_no_query_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.parts_of(monkeypatch, 1)
    short, long = (query(f"to_{n}", stream("a", eddy.Range(n)), stream("b", eddy.Range(n))) for n in (10, 50))
    running, found = make_engine(short, long), dict[str, Counter[tuple[int | None, ...]]]()
    for first in range(0, 200, 10):
        ten = [(at, at) for at in range(first, first + 10)]
        found = run(running, a=ten, b=ten)
        assert stored(running, "a") <= 80
    assert {n for n, _ in found["to_10"]} <= set(range(180, 200)) < {n for n, _ in found["to_50"]}
    # Who is left needs less.
    alone = make_engine(short)
    alone.restore(running.snapshot())
    for first in (200, 210):
        run(alone, a=[(first, first)], b=[(first, first)])
    assert stored(alone, "a") <= 25


def test_a_slow_query_keeps_its_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that the quick one needs no more are there for the slow one, and the quick one does not see them."""
    tiny.parts_of(monkeypatch, 1)
    quick = query("quick", stream("a", eddy.Range(10)), stream("b", eddy.Range(10)))
    slow = query("slow", stream("a", eddy.Range(10)), stream("c", eddy.Range(10)))
    running = make_engine(quick, slow)
    for at in range(0, 100, 5):
        run(running, a=[(at, at)], b=[(at, at)])
    assert stored(running, "a") == 20
    assert stored(running, "b") <= 5
    assert run(running, c=[(1, 3)])["slow"] == Counter([(0, 1), (5, 1), (10, 1)])


# --- who is asked


class Asked:
    """A function that counts about which rows it was asked; now and then it has no answer."""

    def __init__(self, least: int = 0, *, raises: bool = False) -> None:
        self.rows: Counter[int] = Counter()

        def ask(number: int) -> bool:
            self.rows[number] += 1
            if raises and number % 5 == 0:
                raise ValueError("fives are none of mine")
            return number >= least

        self.ask = ask

    def filter(self, name: str, on: str, **more: Any) -> eddy.Filter:
        return eddy.Filter(name, on=on, function=self.ask, columns=[f"{on}.id"], rowwise=True, **more)


def sevens(count: int) -> list[tuple[int, int]]:
    """Rows whose times go up and down a little."""
    return [(number, number - number % 7) for number in range(count)]


JOINS = ("a.id = b.id", "a.at = b.at", "a.id = c.id")


def asking(asked: Asked, others: Asked, delay: int | None) -> list[eddy.Query]:
    """Queries that have a function as a filter, under several names and beside others."""
    a, b, c = (stream(name, eddy.Range(9), delay=delay) for name in "abc")
    near, same, far = JOINS
    twice = eddy.Stream("two", time="at", delay=delay, source="a")
    return [
        query("lone", a, filters=[asked.filter("f", "a")]),
        query("near", b, a, joins=[near], filters=[asked.filter("other", "a"), others.filter("f", "a")]),
        query("same", a, b, joins=[same], filters=[asked.filter("f", "a"), others.filter("o", "b")]),
        query("far", c, a, joins=[far], filters=[asked.filter("f", "a"), asked.filter("g", "c")]),
        query("self", a, twice, joins=["a.id = two.id"], filters=[asked.filter("f", "two"), others.filter("o", "a")]),
    ]


@fewer(4)
@given(
    some=st.permutations(range(5)).flatmap(lambda order: st.integers(2, 5).map(lambda count: order[:count])),
    policy=st.sampled_from(["wild", "random", "content", "lottery", "auto"]),
    stops=st.sets(st.integers(1, 7)),
    delay=st.sampled_from([None, 0, 3, 10]),
    raises=st.booleans(),
)
def test_a_function_is_asked_about_a_row_once(
    some: list[int], policy: str, stops: set[int], delay: int | None, *, raises: bool
) -> None:
    """However many queries have it as a filter, under whatever names; wherever they are stopped."""
    asked, others = Asked(5, raises=raises), Asked(20)
    queries = [asking(asked, others, delay)[number] for number in some]
    queries = [replace(one, filters=[replace(f, on_error="drop") for f in one.filters]) for one in queries]
    chosen: Any = Wild if policy == "wild" else policy
    running = make_engine(*queries, policy=chosen)
    batches = [sevens(60)[first : first + 8] for first in range(0, 60, 8)]
    for number, batch in enumerate(batches):
        if number in stops:
            again = make_engine(*queries, policy=chosen)
            again.restore(running.snapshot())
            running = again
        run(running, a=batch, b=batch[::-1], c=batch[1:])
    on_a = 2 if any("c" in one.sources for one in queries) else 1
    for counted, sources in ((asked, on_a), (others, 2)):
        assert all(times <= sources for number, times in counted.rows.items() if not (raises and number % 5 == 0))


def test_functions_that_differ_in_what_they_are_asked_share_nothing() -> None:
    asked = Asked(2)
    on_id = asked.filter("f", "a")
    on_time = replace(on_id, columns=["a.at"])
    running = make_engine(query("ids", stream("a"), filters=[on_id]), query("times", stream("a"), filters=[on_time]))
    assert run(running, a=[(1, 2), (2, 1)]) == {"ids": Counter([(2,)]), "times": Counter([(1,)])}
    assert asked.rows == {1: 2, 2: 2}


def test_each_query_does_its_own_about_rows_without_an_answer() -> None:
    asked = Asked(raises=True)
    kinds = ("drop", "keep")
    found = run(
        make_engine(*(query(k, stream("a"), filters=[asked.filter("f", "a", on_error=k)]) for k in kinds)),
        a=[(5, 1), (6, 1)],
    )
    assert found == {"drop": Counter([(6,)]), "keep": Counter([(5,), (6,)])}
    failing = make_engine(
        query("well", stream("a")), query("ill", stream("a"), filters=[asked.filter("f", "a", on_error="fail")])
    )
    with pytest.raises(eddy.QueryError, match=r'query "ill": .*filter "f"'):
        run(failing, a=[(5, 1)])
    with pytest.raises(EngineError, match="restore the last snapshot"):
        run(failing, a=[(6, 1)])


def test_each_query_asks_about_rows_without_an_answer() -> None:
    """One of them drops the row by another filter, so it is no error there; it is for the other."""
    asked = Asked(raises=True)
    guarded = query("guarded", stream("a"), filters=[asked.filter("f", "a"), eddy.Filter("g", on="a", where="id <> 5")])
    open_to_all = query("open", stream("a"), filters=[asked.filter("f", "a")])
    running = make_engine(guarded, open_to_all)
    with pytest.raises(eddy.QueryError, match=r'query "open": .*filter "f"'):
        run(running, a=[(5, 1), (6, 1)])


def test_a_report_says_what_was_reused() -> None:
    asked = Asked()
    queries = eddy.Queries([query(name, stream("a"), filters=[asked.filter("f", "a")]) for name in ("one", "two")])
    done = eddy.run_local(queries, {"a": pa.Table.from_batches([rows(*sevens(30))])}, policy="fixed")
    told = done.report.queries().set_index("query")
    assert sorted(told["reused"]) == [0, 30]
    assert told["rows"].tolist() == told["results"].tolist() == [30, 30]
    assert done.results["one"].equals(done.results["two"])
    assert done.report["two"].batches()["results"].sum() == 30
    with pytest.raises(eddy.QueryError, match='unknown query "three"'):
        done.report["three"]
