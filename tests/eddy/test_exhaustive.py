"""Exhaustive legs that follow paths: what they count for each row that arrives, and what they leave as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.contracts import Leg, Observation, Policy, Task
from eddy.errors import EngineError
from eddy.operators import matching
from eddy.policies.matrix.path_order import find_paths
from eddy.routing import exhaustive
from eddy.tuples import Hop, Lineage
from eddy.tuples.lineage import Machine, Rule
from tests.eddy.test_engine import SCHEMA, batch, calls, engine, pairs, query

EDGES = {"2": "1", "3": "1", "4": "3", "5": "3", "6": "5"}
"""Figure 5.3 (a) of Babu's thesis: R1 in the middle of R2 and R3, and R4, R5 and R6 beyond R3."""


def machine(edges: Sequence[tuple[str, str]]) -> Machine:
    """Probes of a join graph, with the neighbours by which they search as their patterns."""
    inputs = sorted({one for edge in edges for one in edge})
    near = {one: {a if b == one else b for a, b in edges if one in (a, b)} for one in inputs}
    rules = {
        one: Rule(near=frozenset(frozenset(other) for other in near[one]), gives=frozenset([one])) for one in inputs
    }

    def pattern(one: str, lineage: Lineage) -> str:
        return ", ".join(sorted(near[one] & lineage.spans))

    return Machine(rules, {one: partial(pattern, one) for one in inputs})


def paths_of(edges: Sequence[tuple[str, str]], start: str) -> dict[str, list[Hop]]:
    graph = machine(edges)
    found = find_paths(lambda route: graph.ready_after(graph.start(start), route), {one for e in edges for one in e})
    return {name: list(path) for name, path in found.items()}


def test_logical_filters_of_an_acyclic_join() -> None:
    """Section 5.2.3: F1 = R2, F2 = R3, F3 = R3 R4, F4 = R3 R5, F5 = R3 R5 R6."""
    paths = paths_of([*EDGES.items()], "1")
    assert {name: "".join(hop.operator for hop in path) for name, path in paths.items()} == {
        "2": "2",
        "3": "3",
        "4": "34",
        "5": "35",
        "6": "356",
    }
    from_six = paths_of([*EDGES.items()], "6")
    assert {name: "".join(hop.operator for hop in path) for name, path in from_six.items()} == {
        "5": "5",
        "3": "53",
        "1": "531",
        "4": "534",
        "2": "5312",
    }


def test_a_join_with_circles_becomes_a_tree() -> None:
    """Each probe searches by the one neighbour that its path has; the same is found for any leg that has them all."""
    edges = [("1", "2"), ("2", "3"), ("3", "4"), ("4", "1"), ("2", "5"), ("5", "4"), ("2", "4")]
    paths = paths_of(edges, "1")
    assert paths == {
        "2": [Hop("2", "1")],
        "4": [Hop("4", "1")],
        "3": [Hop("2", "1"), Hop("3", "2")],
        "5": [Hop("2", "1"), Hop("5", "2")],
    }
    graph = machine(edges)
    route = [path[-1] for path in paths.values()]
    for place, hop in enumerate(route[2:], 2):
        assert list(graph.find_path(graph.start("1"), route[:place], hop)) == paths[hop.operator]
    # Whoever goes another way says so by the pattern.
    start, other = graph.start("1"), [Hop("4", "1"), Hop("2", "1")]
    assert graph.find_path(start, other, Hop("3", "2")) == (Hop("2", "1"), Hop("3", "2"))
    assert graph.find_path(start, other, Hop("3", "4")) == (Hop("4", "1"), Hop("3", "4"))


def test_a_probe_may_need_several_others() -> None:
    """A condition over a, b, c and d: d waits for b and for c, and not for e."""
    rules = {
        name: Rule(near=frozenset([frozenset(near)]), gives=frozenset([name]))
        for name, near in {"e": "a", "b": "a", "c": "a", "d": "abc"}.items()
    }
    graph = Machine(rules, {name: lambda lineage: "" for name in rules})
    paths = find_paths(lambda route: graph.ready_after(graph.start("a"), route), rules)
    assert [hop.operator for hop in paths["d"]] == ["b", "c", "d"]


@dataclass
class Profiling(Policy):
    """Profiles the first rows along all paths, and sends the others through all that is ready."""

    rows: int = 1_000
    route: Sequence[Hop] | None = None
    observed: list[Observation] = field(default_factory=list)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        if task.lineage.origin != "a" or task.lineage.done:
            return [Leg(route=ready[:1])]
        filters = [hop for hop in ready if not hop.operator.startswith("probe")]
        paths = find_paths(task.after, task.prices.probes)
        route = self.route or [*filters, *(path[-1] for path in paths.values())]
        rows = np.arange(task.rows)
        return [
            Leg(route=tuple(route), rows=rows[: self.rows], exhaustive=True),
            Leg(route=ready[:1], rows=rows[self.rows :]),
        ]

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation)


STREAM = eddy.Stream("a", time="ts", window=eddy.Range(100), delay=0)
TABLES = ("r2", "r3", "r4", "r5", "r6")
TREE = {"r2": "a", "r3": "a", "r4": "r3", "r5": "r3", "r6": "r5"}
PATHS = {"r2": "r2", "r3": "r3", "r4": "r3 r4", "r5": "r3 r5", "r6": "r3 r5 r6"}
"""Figure 5.3 (a), with a in the place of R1: rows join where the `k` of the one is the `ts` of the other."""


def tables(rows: int, keys: int) -> dict[str, pa.RecordBatch]:
    chance = np.random.default_rng(5)
    return {
        name: pa.record_batch([pa.array(chance.integers(0, keys, rows)) for _ in range(2)], schema=SCHEMA)
        for name in TABLES
    }


def count(path: str, k: int, known: dict[str, pa.RecordBatch]) -> int:
    """The joined rows along a path, as nested loops find them."""
    names = path.split()
    rows = [list(zip(*(column.to_pylist() for column in known[name].columns), strict=True)) for name in names]
    links = [-1 if TREE[name] == "a" else names.index(TREE[name]) for name in names]
    return sum(
        all(row[0] == (k if link < 0 else found[link][1]) for row, link in zip(found, links, strict=True))
        for found in product(*rows)
    )


def tree(*filters: eddy.Filter) -> eddy.Query:
    return eddy.Query(
        streams=[STREAM],
        tables=[eddy.Table(name) for name in TABLES],
        joins=[f"{other}.k = {name}.ts" for name, other in TREE.items()],
        filters=filters,
        select=["a.ts as a", "r6.ts as b"],
    )


@pytest.mark.parametrize("most", [1, 3, 1 << 18])
def test_every_probe_is_counted_along_its_path(most: int) -> None:
    """Also where a probe stops after a candidate or three; filters and other probes change nothing."""
    known = tables(8, 6)
    rows = [(ts, ts % 7) for ts in range(12)]
    asked = tree(eddy.Filter("odd", on="a", where="ts % 2 = 1"), eddy.Filter("some", on="r3", where="r3.ts % 3 < 2"))
    profiling, expected = Profiling(rows=9), pairs(engine(asked, **known), a=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_CANDIDATES", most)
        running = engine(asked, lambda _: profiling, **known)
        assert pairs(running, a=rows) == expected
    assert expected
    [profile] = [o for o in profiling.observed if o.is_profile]
    told = {h.operator: outcome.tolist() for h, outcome in zip(profile.hops, profile.outcomes, strict=True)}
    assert told.pop("odd") == [ts % 2 for ts in range(9)]
    assert told == {f"probe_{name}": [count(path, k, known) for _, k in rows[:9]] for name, path in PATHS.items()}
    rows_in = {hop.operator: s.rows_in for hop, s in zip(profile.hops, profile.statistics, strict=True)}
    # What a path has in common with another is walked once, and what comes to a hop on the way is what it acts on.
    assert rows_in["probe_r3"] == 9
    assert rows_in["probe_r4"] == rows_in["probe_r5"] == sum(told["probe_r3"])
    assert rows_in["probe_r6"] == sum(told["probe_r5"])


def test_what_a_hot_key_makes_of_a_path_is_counted_up_to_a_bound() -> None:
    hot = {name: batch(**{name: [(7, 7)] * 300})[name] for name in TABLES}
    hot["r6"] = batch(r6=[(8, 8)])["r6"]
    profiling = Profiling()
    running = engine(tree(eddy.Filter("none", on="a", where="ts < 0")), lambda _: profiling, **hot)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exhaustive, "MOST_ALONG_PATH", 500)
        patch.setattr(matching, "MOST_CANDIDATES", 1_000)
        assert pairs(running, a=[(1, 7), (2, 6), (3, 7)]) == []
    [profile] = [o for o in profiling.observed if o.is_profile]
    told = {h.operator: outcome.tolist() for h, outcome in zip(profile.hops, profile.outcomes, strict=True)}
    assert told["probe_r3"] == [300, 0, 300]
    assert told["probe_r4"] == told["probe_r5"] == [500, 0, 500]
    assert told["probe_r6"] == [0, 0, 0]
    # 300 x 300 for each of the two rows; counting stops a part or two beyond the bound.
    assert calls(running)["probe_r4"].rows_out <= 2 * (500 + 1_000)


REFUSED = [
    ([Hop("probe_r4", "r4.ts")], 'operator "probe_r4" may not act'),
    ([Hop("probe_r2", "r2.ts"), Hop("probe_r4", "r4.ts")], 'operator "probe_r4" may not act'),
    ([Hop("probe_r3", "r3.ts"), Hop("probe_r4", "r4.k")], "must be .*pattern='r4.ts'.* where it follows \"probe_r3\""),
    ([Hop("probe_r3", "r3.ts"), Hop("both")], 'operator "both" may not act'),
    ([Hop("probe_r3", "r3.ts"), Hop("nobody")], 'operator "nobody" may not act'),
]


@pytest.mark.parametrize(("route", "message"), REFUSED)
def test_a_hop_without_a_path_is_refused(route: list[Hop], message: str) -> None:
    """A filter of joined rows has none: it would see combinations that it sees again."""
    asked = tree(eddy.Filter("both", on=["a", "r3"], where="a.ts + r3.ts > 2"))
    running = engine(asked, lambda _: Profiling(route=route), **tables(8, 6))
    with pytest.raises(EngineError, match=message):
        pairs(running, a=[(1, 1)])


def test_streams_are_counted_along_their_paths_too() -> None:
    """What came before, inside its window, and not failed by a filter of its own."""
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "abc"]
    asked = query(
        streams=streams,
        joins=["a.k = b.k", "b.ts = c.k"],
        filters=[eddy.Filter("late", on="b", where="ts > 3")],
        select=["a.ts as a", "c.ts as b"],
    )
    profiling = Profiling()
    running = engine(asked, lambda _: profiling)
    assert pairs(running, a=[], b=[(2, 1), (4, 1), (5, 2)], c=[(4, 4), (5, 4), (3, 5), (3, 9)]) == []
    assert pairs(running, a=[(6, 1), (6, 3), (14, 1), (15, 2)], b=[], c=[]) == [(6, 4), (6, 5), (14, 4), (14, 5)]
    profile = next(o for o in profiling.observed if o.is_profile and len(o.outcomes[0]))
    told = {h.operator: outcome.tolist() for h, outcome in zip(profile.hops, profile.outcomes, strict=True)}
    # The row of b at 2 has failed its filter; 15 finds the one at 5, but the row of c beyond that is too old by then.
    assert told == {"probe_b": [1, 0, 1, 1], "probe_c": [2, 0, 2, 0]}
