"""What a tree of joins is for: all that comes out of each join is kept, as a plan to compare with."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.comparison.workload import Workload
from eddy.local import Run
from eddy.policies.caching.trees import JoinCost, Tree, find_best_tree, read_tree
from eddy.wiring import PolicyChoice
from tests import tiny
from tests.eddy.test_joins import found_in

ROWS = 1_200


def make(
    chance: np.random.Generator, rates: dict[str, int], values: int = 30
) -> tuple[eddy.Query, dict[str, pa.Table]]:
    """R(A) S(A, B) T(B), in which each of some values has a few rows in a window."""
    keys = {"r": ("a",), "s": ("a", "b"), "t": ("b",)}
    data = {}
    for name, own in keys.items():
        rows = ROWS * rates[name] // sum(rates.values())
        columns = {key: chance.integers(0, values, rows) for key in own}
        data[name] = pa.table({"ts": np.sort(chance.integers(0, ROWS, rows)), **columns})
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(200), delay=0) for name in keys]
    select = ["r.ts", "s.ts as b", "t.ts as c"]
    return eddy.Query(streams=streams, joins=["r.a = s.a", "s.b = t.b"], select=select), data


def run(policy: PolicyChoice, *, memory: int | None = None, values: int = 30, **rates: int) -> Run:
    query, data = make(np.random.default_rng(1), {"r": 1, "s": 1, "t": 1, **rates}, values)
    cut = Workload(name="chain", query=query, data=data, paced="ts").cut(14)
    return eddy.run_local(query, cut, policy=policy, cache_memory=memory)


def list_routes(found: Run) -> dict[str, tuple[str, ...]]:
    return {decision.stream: decision.ways[0].route for decision in found.report.counters[-1].insight.decisions}


@pytest.mark.parametrize(
    ("tree", "routes"),
    [
        (
            "((r s) t)",
            {"r": ("probe_s", "probe_t"), "s": ("probe_r", "probe_t"), "t": ("whole_r_s",)},
        ),
        (
            "(r (s t))",
            {"r": ("whole_s_t",), "s": ("probe_t", "probe_r"), "t": ("probe_s", "probe_r")},
        ),
    ],
)
def test_a_row_goes_up_the_tree(tree: str, routes: dict[str, tuple[str, ...]]) -> None:
    found = run({"name": "x_join", "tree": tree})
    assert list_routes(found) == routes
    assert found_in(found.results) == found_in(run("fixed").results) != {}


def test_nothing_is_looked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look-up is a hit, since every key is there."""
    tiny.parts_of(monkeypatch, 2)
    told = run({"name": "x_join", "tree": "((r s) t)"}).report.caches()
    assert set(told["cache"]) == {"r, s (whole)"}
    assert told["look_ups"].sum() == told["hits"].sum() > 300
    assert told["filled"].sum() == 0
    # Rows that have gone take their combinations along, and their keys.
    assert told["combinations"].iloc[-1] < 3 * told["combinations"].median()
    assert told["keys"].max() <= 30


def test_keys_of_one_combination_stay_while_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where hardly any key has two; rows that go take their keys along."""
    tiny.parts_of(monkeypatch, 2)
    found = run({"name": "x_join", "tree": "((r s) t)"}, values=150)
    told = found.report.caches()
    assert (told["keys"] > told["keys"].shift(-1)).any()
    assert found_in(found.results) == found_in(run("fixed", values=150).results) != {}


@pytest.mark.parametrize(("fast", "tree"), [("t", "((r s) t)"), ("r", "(r (s t))")])
def test_the_search_keeps_what_the_fast_stream_asks_for(fast: str, tree: str) -> None:
    """The other tree would be kept up for every row of the fast stream."""
    found = run("x_join", **{fast: 20})
    reasons = {decision.reason for decision in found.report.counters[-1].insight.decisions}
    assert {reason.partition(": ")[2] for reason in reasons} == {tree}


def test_too_little_memory_is_an_error_that_says_how_much_is_needed() -> None:
    needed = run({"name": "x_join", "tree": "((r s) t)"}).report.caches()["nbytes"].max()
    with pytest.raises(eddy.QueryError, match=r"all combinations of \(r, s \(whole\)\) take [\d,]+ bytes by now"):
        run({"name": "x_join", "tree": "((r s) t)"}, memory=int(needed) // 2)
    run({"name": "x_join", "tree": "((r s) t)"}, memory=2 * int(needed))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"tree": "((r s) t"}, r"expected two-way joins in brackets, as \"\(\(r s\) t\)\""),
        ({"tree": "(r s t)"}, "expected two-way joins in brackets"),
        ({"tree": "((r s) t) r"}, "expected two-way joins in brackets"),
        ({"tree": ""}, "expected two-way joins in brackets"),
        ({"tree": 3}, "expected a text"),
        ({"tree": "((r s) u)"}, 'unknown input "u"'),
        ({"tree": "(r s)"}, 'lacks "t"'),
        ({"tree": "((r s) (t r))"}, "expected all inputs once"),
        ({"tree": "((r t) s)"}, r'rows of "r" cannot be joined with \(t\): no equality connects them'),
        ({"rounds": 0}, "rounds: expected a whole number of 1 or more"),
    ],
)
def test_mistakes_are_told(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        run({"name": "x_join", **parameters})


def test_a_tree_of_what_joins_nothing_is_refused() -> None:
    query = eddy.Query(streams=[eddy.Stream("r", time="ts")], select=["r.ts"])
    with pytest.raises(eddy.QueryError, match="the query joins nothing"):
        eddy.run_local(query, {"r": pa.table({"ts": [1]})}, policy={"name": "x_join", "tree": "r"})


def test_of_all_trees_the_best_is_found() -> None:
    """A join costs what its parts say, drawn at random; the best of all fifteen trees of four by brute force."""
    trees = [
        *(f"((({a} {b}) {c}) {d})" for a, b, c, d in _orders() if a < b),
        *(f"(({a} {b}) ({c} {d}))" for a, b, c, d in _orders() if a < b and c < d and a < c),
    ]
    assert len(trees) == 15
    for seed in range(20):
        costs: dict[frozenset[frozenset[str]], float] = {}
        chance = np.random.default_rng(seed)

        def cost(left: frozenset[str], right: frozenset[str]) -> float:
            return costs.setdefault(frozenset([left, right]), float(chance.random()))  # noqa: B023  asked at once

        best, tree = find_best_tree("abcd", cost)
        assert best == pytest.approx(min(_add_up(read_tree(text, "abcd"), cost) for text in trees))
        assert best == pytest.approx(_add_up(tree, cost))


def _orders() -> list[tuple[str, ...]]:
    return list(permutations("abcd"))


def _add_up(tree: Tree, cost: JoinCost) -> float:
    if isinstance(tree.parts, str):
        return 0.0
    left, right = tree.parts
    return _add_up(left, cost) + _add_up(right, cost) + cost(left.inputs, right.inputs)
