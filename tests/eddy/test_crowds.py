"""Many tuples at once: what comes of them in parts of bounded size, and every one of them is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.contracts import Leg, Observation, Policy, Task
from eddy.operators.matching import MOST_CANDIDATES
from eddy.routing.router import MOST_WAITING
from eddy.routing.side_by_side import MOST_TOGETHER
from eddy.tuples import Hop, Lineage
from eddy.tuples.arrays import ROWS_PER_LOT
from tests.eddy.test_engine import batch, engine, pairs, query

ABC = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "abc"]


@dataclass
class Stepwise(Policy):
    """Plans one hop at a time, and counts the tuples that wait besides those that have just arrived."""

    waiting: int = 0
    most: int = 0

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        self.waiting -= task.rows
        return [Leg(route=ready[:1])]

    def observe(self, observation: Observation) -> None:
        self.waiting += sum(int(counts.sum()) for counts in observation.outcomes)
        self.most = max(self.most, self.waiting)


@dataclass
class Exhaustive(Stepwise):
    """Asks everybody who is ready, and remembers what it was told."""

    planned: list[Lineage] = field(default_factory=list)
    observed: list[Observation] = field(default_factory=list)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        assert task.lineage not in self.planned
        self.planned.append(task.lineage)
        return [Leg(route=ready, exhaustive=True)]

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation)


@dataclass
class Split(Stepwise):
    """Sends every third row along a route of its own, and counts how many tuples come out of a step at most."""

    observed: list[Observation] = field(default_factory=list)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        routes = []
        for way in range(3):
            route = [ready[way % len(ready)]]
            while following := task.after(route):
                route.append(following[-1])
            routes.append(Leg(route=tuple(route), rows=np.arange(way, task.rows, 3)))
        return routes

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation)
        self.waiting += sum(int(counts.sum()) - len(counts) for counts in observation.outcomes)
        self.most = max(self.most, self.waiting)


def test_legs_take_a_probe_together_and_each_is_told_of_its_own_rows() -> None:
    split = Split()
    running = engine(query(), lambda _: split)
    pairs(running, a=[(1, k) for k in range(9)], b=[])
    split.observed.clear()
    assert pairs(running, a=[], b=[(2, k) for k in (0, 1, 2, 3, 4, 5, 50)]) == [(1, 2)] * 6
    [step] = split.observed
    assert [leg.route[0].operator for leg in step.legs] == ["probe_a"] * 3
    assert step.rows == (3, 2, 2)
    # The first leg has rows 0, 3 and 6, of which the last finds nothing; the others find one for each row.
    assert step.outcomes[0].tolist() == [1, 1, 0, 1, 1, 1, 1]
    assert step.statistics[0].rows_in == 7


def test_legs_that_have_joined_other_tables_take_a_probe_together() -> None:
    """What d1 and d2 found says nothing about d3, so tuples that span one, the other or both go there together."""
    split = Split()
    keys = {f"d{i}": np.arange(0, 60, i + 2) for i in range(3)}
    tables = {
        name: pa.record_batch({"ts": known, "k": np.full(len(known), i)})
        for i, (name, known) in enumerate(keys.items())
    }
    asked = eddy.Query(
        streams=ABC[:1],
        tables=[eddy.Table(name) for name in tables],
        joins=[f"a.k = {name}.ts" for name in tables],
        select=["a.k as a", *(f"{name}.ts as {name}" for name in tables)],
    )
    running = engine(asked, lambda _: split, **tables)
    found = [row for part in running.run(batch(a=[(1, k) for k in range(60)])) for row in part.to_pylist()]
    assert sorted(row["a"] for row in found) == [k for k in range(60) if k % 12 == 0]
    assert all({row[name] for name in tables} == {row["a"]} for row in found)
    assert max(len(step.legs) for step in split.observed) == 3
    assert len(split.observed) <= 6
    for step in split.observed:
        assert sum(step.rows) == len(step.outcomes[0]) == step.statistics[0].rows_in


def test_tuples_that_span_other_streams_are_looked_up_each_by_its_own_times() -> None:
    """Whether a row of d is inside its window depends on the latest of the others: of a, or of b where it is there."""
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "abcd"]
    asked = eddy.Query(streams=streams, joins=[f"a.k = {s}.k" for s in "bcd"], select=["a.ts as a", "d.ts as b"])
    split = Split()
    for policy in ("fixed", lambda _: split):
        running = engine(asked, policy)
        pairs(running, a=[], b=[(9, k) for k in range(9)], c=[(5, k) for k in range(9)], d=[(-2, k) for k in range(9)])
        assert pairs(running, a=[(8, k) for k in range(9)], b=[], c=[], d=[]) == []
        pairs(running, a=[], b=[], c=[], d=[(-1, k) for k in range(9)])
        assert pairs(running, a=[(8, k) for k in range(9)], b=[], c=[], d=[]) == [(8, -1)] * 9
    assert any(len(step.legs) > 1 for step in split.observed)


def test_every_tuple_of_a_crowd_is_told_of_once() -> None:
    split = Split()
    running = engine(query(), lambda _: split)
    rows = [(1, 7)] * 1_200
    pairs(running, a=rows, b=[])
    split.observed.clear()
    assert sum(part.num_rows for part in running.run(batch(a=[], b=[(2, 7)] * 900))) == 1_200 * 900
    assert [sum(step.rows) for step in split.observed] == [len(step.outcomes[0]) for step in split.observed]
    assert sum(sum(step.rows) for step in split.observed) == 900
    assert {leg.route for step in split.observed for leg in step.legs} == {split.observed[0].legs[0].route}


def test_a_crowd_that_legs_make_together_goes_to_its_end_in_parts_of_bounded_size() -> None:
    split = Split()
    joins = ["a.k = b.k", "b.k = c.k"]
    running = engine(eddy.Query(streams=ABC, joins=joins, select=["a.ts"]), lambda _: split)
    rows = [(1, 7)] * 900
    pairs(running, a=rows, b=[], c=[])
    assert pairs(running, a=[], b=rows, c=[]) == []
    assert sum(step.statistics[0].rows_out for step in split.observed) >= 600 * 900
    assert split.most <= MOST_TOGETHER + MOST_CANDIDATES < 600 * 900


def test_a_hot_key_streams_its_results_in_parts_of_bounded_size() -> None:
    rows = [(1, 7)] * 3_000
    running = engine(query())
    sizes = [part.num_rows for part in running.run(batch(a=rows, b=rows))]
    assert sum(sizes) == 9_000_000
    assert max(sizes) == ROWS_PER_LOT


def test_a_crowd_goes_to_its_end_before_more_tuples_are_made() -> None:
    stepwise = Stepwise()
    running = engine(eddy.Query(streams=ABC, joins=["a.k = b.k", "b.ts = c.k"], select=["a.ts"]), lambda _: stepwise)
    rows = [(t // 400, 7) for t in range(4_000)]
    assert [*running.run(batch(a=rows, b=rows[:2_000], c=[(5, -1)]))] == []
    assert (
        sum(statistic.rows_out for statistic in running.read_counters().operators.values())
        == len(rows) * 2_000
        > 4 * MOST_WAITING
    )
    assert stepwise.most <= MOST_WAITING + MOST_CANDIDATES + 6_001


@pytest.mark.parametrize("joins", [["a.k = b.k"], ["a.k <= b.k"], ["abs(a.k - b.k) <= 1"]])
def test_too_many_matches_are_an_error_that_names_the_key(joins: list[str]) -> None:
    running = engine(query(joins=joins, max_fanout=3))
    pairs(running, a=[(1, 7)] * 3, b=[(1, 7)])
    with pytest.raises(
        eddy.QueryError,
        match=r'one row of "b", with b.ts = 2, has more results than the 3 that max_fanout allows; .* b.k = 7',
    ):
        pairs(running, a=[(2, 7)], b=[(2, 7)])


def test_the_results_of_one_row_are_counted_over_all_their_parts() -> None:
    rows, joins = [(1, 7)] * 600, ["a.k = b.k", "b.k = c.k"]
    assert len(rows) ** 2 > MOST_CANDIDATES

    def count(most: int) -> int:
        running = engine(eddy.Query(streams=ABC, joins=joins, select=["a.ts"], max_fanout=most))
        return sum(part.num_rows for part in running.run(batch(a=rows, b=rows, c=[(2, 7)])))

    assert count(len(rows) ** 2) == len(rows) ** 2
    with pytest.raises(eddy.QueryError, match=r'one row of "c", with c.ts = 2, has more results than the 359,999'):
        count(len(rows) ** 2 - 1)


def test_an_exhaustive_leg_asks_everybody_about_every_tuple() -> None:
    exhaustive = Exhaustive()
    joins = ["a.k = b.k", "a.k = c.k"]
    asked = eddy.Query(
        streams=ABC,
        joins=joins,
        filters=[eddy.Filter("odd", on="a", where="k % 2 = 1")],
        select=["a.ts as a", "b.ts as b"],
    )
    running = engine(asked, lambda _: exhaustive)
    pairs(running, a=[], b=[(1, 1), (2, 1), (3, 2)], c=[(1, 1), (2, 2), (3, 2)])
    assert pairs(running, a=[(4, 1), (5, 2), (6, 3)], b=[], c=[]) == [(4, 1), (4, 2)]
    seen = next(o for o in exhaustive.observed if o.origin == "a" and o.legs[0].exhaustive)
    outcomes = {h.operator: counts.tolist() for h, counts in zip(seen.hops, seen.outcomes, strict=True)}
    assert outcomes == {"odd": [1, 0, 1], "probe_b": [2, 1, 0], "probe_c": [1, 2, 0]}
    assert [s.rows_in for s in seen.statistics] == [3, 3, 3]
    onward = [task for task in exhaustive.planned if task.origin == "a"]
    assert [(sorted(task.spans), sorted(task.done)) for task in onward] == [
        (["a"], []),
        (["a", "c"], ["odd", "probe_c"]),
    ]


def test_an_exhaustive_leg_counts_a_crowd_to_its_end() -> None:
    exhaustive = Exhaustive()
    running = engine(query(), lambda _: exhaustive)
    rows = [(1, 7)] * 1_000
    assert len(rows) ** 2 > MOST_CANDIDATES
    assert len(pairs(running, a=rows, b=rows)) == len(rows) ** 2
    assert [counts.tolist() for o in exhaustive.observed for counts in o.outcomes if o.legs[0].exhaustive] == [
        [0] * len(rows),
        [len(rows)] * len(rows),
    ]


def test_rows_of_one_stream_set_off_themselves() -> None:
    """There is nothing to join, and no row has more than one result."""
    rows = pa.table({"k": range(100)})
    for filters in ([], [eddy.Filter("some", on="a", where="k > 50")]):
        asked = eddy.Query(streams=[eddy.Stream("a")], select=["a.k"], filters=filters, max_fanout=1)
        assert len(eddy.run_local(asked, {"a": rows}).results) == (49 if filters else 100)
