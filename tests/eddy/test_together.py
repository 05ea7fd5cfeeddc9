"""Queries that are answered together: each has the answer that it has alone, which is the naive one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.engine.snapshot import Snapshot
from eddy.wiring import Begun, Tools
from tests import reference, tiny, together
from tests.eddy.test_joins import NAMES, Found, found_in
from tests.eddy.test_told_later import in_ticks
from tests.filters import SeenTooEarly
from tests.policies.checks import steady_clock
from tests.policies.choices import chosen
from tests.policies.wild import Wild
from tests.together import Member, Set
from tests.tries import fewer

ANY = together.sets() | together.sets(faults=True) | together.sets(later=True) | together.sets(later=True, faults=True)

UNANSWERED = "Everything else lets it pass"
"""What an error says where a predicate has no answer, and everything else passes."""


@dataclass(frozen=True)
class Restart:
    """Who goes on from a snapshot, in this order, and with which policy; one who was not there begins."""

    names: Sequence[str]
    policy: str


@st.composite
def restarts(draw: st.DrawFn, some: Set, *, most: int = 3) -> dict[int, Restart]:
    """Restarts before some micro-batches; the first is the start."""
    names = sorted(some.by_name)
    found: dict[int, Restart] = {}
    for number in sorted({0, *draw(st.lists(st.integers(1, len(some.batches) + 1), max_size=most))}):
        who = draw(st.permutations(names))
        if number and draw(st.booleans()):
            who = [name for name in who if name in found[max(found)].names]
        found[number] = Restart(_linked(some, who[: draw(st.integers(1, len(who)))]), draw(st.sampled_from(NAMES)))
    return found


def _linked(some: Set, names: Sequence[str]) -> list[str]:
    """Those that share a stream with the first, or with one that does; others are no set."""
    found, reached = [names[0]], set(some.queries[names[0]].sources)
    while near := [n for n in names if n not in found and reached & some.queries[n].sources.keys()]:
        found += near
        reached.update(*(some.queries[name].sources for name in near))
    return [name for name in names if name in found]


@st.composite
def stopped(draw: st.DrawFn, cases: st.SearchStrategy[Set]) -> tuple[Set, dict[int, Restart]]:
    """A set, and where it is stopped."""
    some = draw(cases)
    return some, draw(restarts(some))


def choose(policy: str, member: Member) -> Any:
    """A policy for a member."""
    query = member.query()
    operators = [f.name for f in query.filters] + [one.name for one in query.existence]
    operators += [f"probe_{name}" for name in query.inputs if len(query.inputs) > 1]
    return Wild if policy == "wild" else chosen(policy, operators, f"{next(iter(member.streams))}.k")


def begun(some: Set, name: str, policy: str) -> Begun:
    query = some.queries[name]
    schemas = {stream.name: some.schemas[stream.origin] for stream in query.streams}
    return Begun(query=query, schemas=schemas, policy=choose(policy, some.by_name[name]))


def engine(some: Set, names: Sequence[str], policy: str, seed: int = 0) -> Engine:
    """An engine for some members."""
    queries = [some.queries[name] for name in names]
    tables = {name: table for name, table in some.tables.items() if any(name in q.given for q in queries)}
    tools = Tools(clock=steady_clock(), seed=seed, index=some.index)
    return wiring.engine_together({name: begun(some, name, policy) for name in names}, tables, tools)


def engine_alone(some: Set, name: str, policy: str, seed: int = 0) -> Engine:
    query = some.queries[name]
    tables = {table: rows for table, rows in some.tables.items() if table in query.given}
    tools = Tools(clock=steady_clock(), seed=seed, index=some.index)
    return wiring.engine_together({"": begun(some, name, policy)}, tables, tools)


def read(rows: pa.RecordBatch, member: Member) -> Found:
    """Results as the reference writes them; the time at which one is told is a number."""
    if member.emit != "begin":
        (rows,) = in_ticks([rows], rows.schema)
    return found_in(pa.Table.from_batches([rows]))


def step(running: Engine, some: Set, number: int) -> dict[str, Found]:
    """The results of a micro-batch for each member; an engine of one calls it ""."""
    queries = {name for lane in running.lanes.values() for name in lane.binding.query.sources}
    found: dict[str, Found] = {name: Counter() for name in running.lanes}
    try:
        for name, rows in running.run_each({s: rows for s, rows in some.read(number).items() if s in queries}):
            found[name] += read(rows, some.by_name[running.lanes[name].binding.query.name])
    except SeenTooEarly as error:
        raise AssertionError(str(error)) from None
    return found


def step_or_fail(running: Engine, some: Set, number: int) -> dict[str, Found] | None:
    """The same, or nothing where a predicate has no answer for what passes everything else."""
    try:
        return step(running, some, number)
    except eddy.QueryError as error:
        if UNANSWERED not in str(error):
            raise
        return None


def counts(running: Engine, name: str) -> Any:
    """What came and why it was dropped, and how many results there are."""
    counted = running.read_each()[name]
    streams = {n: (s.rows, s.untimed, s.late, s.ahead, s.keyless, s.newest) for n, s in counted.streams.items()}
    return streams, counted.results, counted.held, counted.watermark


@dataclass
class Life:
    """A member from when it begins until it is left out, or fails."""

    start: int
    alone: Engine
    found: Found = field(default_factory=Counter)


@dataclass
class Play:
    """Runs a set with restarts beside its members alone, and holds both against the naive answer.

    A member that fails alone fails the set, which then goes on from its last snapshot without it.
    """

    some: Set
    seed: int = 0
    lives: dict[str, Life] = field(default_factory=dict)
    saved: Snapshot | None = None
    order: Sequence[str] = ()
    policy: str = "fixed"
    failures: int = 0
    results: int = 0

    def play(self, plan: Mapping[int, Restart], *, everywhere: bool = False) -> None:
        running: Engine | None = None
        for number in range(len(self.some.batches)):
            if number in plan:
                running = self.begin(plan[number], number)
            elif everywhere and self.order:
                assert running is not None
                if number % 2:
                    # A try that comes to nothing: nobody has its results, and the next one begins where it did.
                    step_or_fail(running, self.some, number)
                running = self.resume()
            if self.order:
                assert running is not None
                running = self.advance(running, number)
        for name in list(self.lives):
            self.end(name, len(self.some.batches))

    def begin(self, restart: Restart, number: int) -> Engine:
        for name in self.lives.keys() - set(restart.names):
            self.end(name, number)
        for name in restart.names:
            if name not in self.lives:
                self.lives[name] = Life(number, engine_alone(self.some, name, "fixed"))
        self.order, self.policy = restart.names, restart.policy
        return self.resume()

    def resume(self) -> Engine:
        """Another engine, from the last snapshot."""
        self.some.together(self.order)
        running = engine(self.some, self.order, self.policy, self.seed)
        if self.saved is not None:
            running.restore(self.saved)
        return running

    def advance(self, running: Engine, number: int) -> Engine:
        """Run a micro-batch, and hold it against what members find alone."""
        alone: dict[str, Found] = {}
        failing = set()
        for name in self.order:
            found = step_or_fail(self.lives[name].alone, self.some, number)
            if found is None:
                failing.add(name)
            else:
                alone[name] = found[""]
        while failing.intersection(self.order):
            with pytest.raises(eddy.QueryError, match=UNANSWERED) as caught:
                step(running, self.some, number)
            (culprit,) = [name for name in self.order if f'query "{name}": ' in str(caught.value)]
            assert culprit in failing
            self.fail(culprit, number)
            if not self.order:
                return running
            running = self.resume()
        found = step(running, self.some, number)
        for name in self.order:
            assert found[name] == alone[name], f"{name} in micro-batch {number}"
            expected = counts(self.lives[name].alone, "")
            assert counts(running, name) == expected, f"{name} in micro-batch {number}"
            self.lives[name].found += found[name]
        self.saved = running.snapshot()
        return running

    def fail(self, name: str, number: int) -> None:
        """The member has failed in a micro-batch, and the set goes on without it."""
        self.failures += 1
        life = self.lives[name]
        assert self.some.answer(name, life.start, number + 1) == reference.FAILS
        self.end(name, number)
        others = [other for other in self.order if other != name]
        self.order = _linked(self.some, others) if others else []
        if not self.order:
            # The last snapshot is of those that failed; who comes next has none.
            self.saved = None
        for other in self.lives.keys() - set(self.order):
            self.end(other, number)

    def end(self, name: str, stop: int) -> None:
        life = self.lives.pop(name)
        expected = self.some.answer(name, life.start, stop)
        assert life.found == expected, f"{name}, from {life.start} to {stop}"
        self.results += expected.total()


@fewer(5)
@given(some=ANY, policy=st.sampled_from(NAMES), seed=st.integers(0, 2**32))
def test_each_has_the_answer_that_it_has_alone(some: Set, policy: str, seed: int) -> None:
    """Whatever the policy, which is that of all of them."""
    Play(some, seed).play({0: Restart(_linked(some, sorted(some.by_name)), policy)})


@fewer(4)
@given(case=stopped(ANY), seed=st.integers(0, 2**32))
def test_queries_come_and_go_at_restarts(case: tuple[Set, dict[int, Restart]], seed: int) -> None:
    some, plan = case
    Play(some, seed).play(plan)


@fewer(8)
@given(case=stopped(ANY))
def test_a_set_that_is_stopped_everywhere_goes_on_as_it_was(case: tuple[Set, dict[int, Restart]]) -> None:
    some, plan = case
    Play(some).play(plan, everywhere=True)


@fewer(6)
@given(
    case=stopped(ANY),
    sizes=st.tuples(st.sampled_from([1, 3, 1 << 16]), st.sampled_from([0, 20, 1 << 16])),
)
def test_rows_leave_when_no_query_needs_them(case: tuple[Set, dict[int, Restart]], sizes: tuple[int, int]) -> None:
    """Segments have a row or two, so that rows leave one query's window while another one needs them."""
    some, plan = case
    with pytest.MonkeyPatch.context() as patch:
        tiny.parts_of(patch, 2, merged=sizes[0], room=sizes[1])
        Play(some).play(plan)


@fewer(10)
@given(some=together.sets() | together.sets(later=True), policy=st.sampled_from(NAMES), seed=st.integers(0, 2**32))
def test_a_run_gives_each_its_table_and_its_report(some: Set, policy: str, seed: int) -> None:
    names = _linked(some, sorted(some.by_name))
    how: Any = {"batch_rows": some.batch_rows, "seed": seed, "policy": Wild if policy in ("wild", "knows") else policy}
    asked = some.together(names)
    data = {n: pa.Table.from_pylist(list(some.rows[n]), some.schemas[n]) for n in (*asked.sources, *asked.tables)}
    run = eddy.run_local(asked, data, **how)
    assert list(run.results) == names
    for name in names:
        query = some.queries[name]
        alone = eddy.run_local(query, {n: data[n] for n in (*query.sources, *(t.name for t in query.tables))}, **how)
        found, expected = (Counter(map(repr, one.to_pylist())) for one in (run.results[name], alone.results))
        assert found == expected
        told, own = (one.batches()[["rows", "late", "results"]] for one in (run.report[name], alone.report))
        # The set goes on for as long as any of its streams has rows.
        assert told.head(len(own)).equals(own)
        assert told["rows"].sum() == own["rows"].sum()


@fewer(8)
@given(some=ANY, policy=st.sampled_from(NAMES), seed=st.integers(0, 2**32))
def test_a_set_of_one_takes_the_routes_of_the_query_itself(some: Set, policy: str, seed: int) -> None:
    for name in sorted(some.by_name)[:2]:
        one, alone = engine(some, [name], policy, seed), engine_alone(some, name, policy, seed)
        for number in range(len(some.batches)):
            found, expected = step_or_fail(one, some, number), step_or_fail(alone, some, number)
            if found is None or expected is None:
                assert found == expected
                break
            assert found[name] == expected[""]
            assert what_was_routed(one, name) == what_was_routed(alone, "")


def what_was_routed(running: Engine, name: str) -> Any:
    """The routes, and what operators have done."""
    counted = running.read_each()[name]
    calls = {hop: (s.rows_in, s.rows_out, s.evaluated) for hop, s in counted.operators.items()}
    return counted.routes, calls, counted.faults
