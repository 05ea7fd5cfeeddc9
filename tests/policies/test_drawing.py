"""Policies that draw: few calls however many filters there are, and everybody has the chances that he should have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Policy, Setting, Task
from eddy.observe.prices import Prices
from eddy.observe.statistics import Statistics
from eddy.policies.shared.drawing import MOST_GROUPS, draw
from eddy.tuples import Hop, Lineage
from eddy.tuples.lineage import MOST_KNOWN_LINEAGES, Machine, Rule
from tests.eddy.test_router import Blind
from tests.policies.checks import Watched

DRAWING = ["random", "lottery", {"name": "source", "choice": "proportional", "costs": "unit"}]


def stream(filters: int, rows: int, share: float) -> pa.Table:
    chance = np.random.default_rng(0)
    return pa.table({"ts": np.arange(rows), **{f"v{i}": chance.random(rows) < share for i in range(filters)}})


def query(filters: int) -> eddy.Query:
    asked = [eddy.Filter(f"f{i}", on="s", where=f"v{i}") for i in range(filters)]
    return eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=asked, select=["s.ts"])


def counted(policy: Any, watches: list[Watched]) -> Callable[[Setting], Policy]:
    """Builds a policy, and keeps what it is told."""

    def build(setting: Setting) -> Policy:
        watches.append(Watched(wiring.make_policy(policy, setting)))
        return watches[-1]

    return build


@pytest.mark.parametrize("filters", [10, 15, 20])
@pytest.mark.parametrize("policy", DRAWING, ids=["random", "lottery", "source"])
def test_the_calls_of_a_micro_batch_do_not_grow_with_what_may_have_been_done(policy: Any, filters: int) -> None:
    data = {"s": stream(filters, 600, 0.9)}
    watches: list[Watched] = []
    found = eddy.run_local(query(filters), data, policy=counted(policy, watches), batch_rows=600)
    assert len(watches[0].observed) <= MOST_GROUPS * filters
    assert found.report.batches()["decisions"].max() <= MOST_GROUPS * filters + 1
    fixed = eddy.run_local(query(filters), data, policy="fixed", batch_rows=600)
    assert sorted(found.results["ts"].to_pylist()) == sorted(fixed.results["ts"].to_pylist()) != []


def drawn(hops: Sequence[Hop], chances: Sequence[float], *, done: frozenset[str], seed: int) -> list[str]:
    """Who was drawn for each of three tuples."""
    chance = np.random.default_rng(seed)
    task = Task(
        lineage=Lineage("s", frozenset("s"), done),
        rows=3,
        statistics=Statistics(),
        prices=Prices(),
        chance=lambda: chance,
        after=lambda route: (),
        independent=True,
        buckets=Blind(3),
    )
    found = [""] * 3
    for leg in draw(task, tuple(hops), np.array(chances), len(hops) + len(done)):
        for row in range(3) if leg.rows is None else leg.rows.tolist():
            found[row] = leg.route[0].operator
    return found


@pytest.mark.parametrize("operators", [3, 6, 20])
@pytest.mark.parametrize("done", [frozenset(), frozenset(f"d{i}" for i in range(9))], ids=["arriving", "under way"])
def test_every_tuple_has_the_chances_that_it_would_have_alone(operators: int, done: frozenset[str]) -> None:
    weights = np.arange(1.0, operators + 1)
    chances = weights / weights.sum()
    hops = [Hop(f"f{i}") for i in range(operators)]
    draws = [drawn(hops, chances.tolist(), done=done, seed=seed) for seed in range(2_000)]
    for row in range(3):
        counts = Counter(one[row] for one in draws)
        usual = 2_000 * chances
        off = np.array([counts[hop.operator] for hop in hops]) - usual
        assert (np.abs(off) < 4.5 * np.sqrt(usual * (1 - chances))).all()


def test_few_operators_are_drawn_by_every_tuple_at_every_hop() -> None:
    watches: list[Watched] = []
    found = eddy.run_local(query(4), {"s": stream(4, 2_000, 0.9)}, policy=counted("random", watches), batch_rows=2_000)
    assert found.report.batches()["decisions"].tolist() == [2**4 - 1]


def test_joins_with_many_filters_are_answered_in_few_calls() -> None:
    chance = np.random.default_rng(1)
    columns = {f"v{i}": chance.random(400) < 0.9 for i in range(12)}
    data = {s: pa.table({"ts": np.arange(400), "k": chance.integers(0, 40, 400), **columns}) for s in "ab"}
    asked = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(50), delay=0) for s in "ab"],
        joins=["a.k = b.k"],
        filters=[eddy.Filter(f"{s}{i}", on=s, where=f"v{i}") for s in "ab" for i in range(12)],
        select=["a.ts", "b.ts AS other"],
    )
    watches: list[Watched] = []
    found = eddy.run_local(asked, data, policy=counted("random", watches), batch_rows=200)
    fixed = eddy.run_local(asked, data, policy="fixed", batch_rows=200)
    order = [("ts", "ascending"), ("other", "ascending")]
    assert found.results.sort_by(order).equals(fixed.results.sort_by(order))
    assert found.results.num_rows > 0
    micro_batches = len(found.report.batches())
    assert len(watches[0].observed) <= MOST_GROUPS * 26 * 2 * micro_batches


def test_what_may_follow_is_not_kept_for_every_order_there_is() -> None:
    rules = {f"f{i}": Rule(needs=frozenset("s")) for i in range(20)}
    machine = Machine(rules, {name: lambda lineage: "" for name in rules})
    chance = np.random.default_rng(0)
    for _ in range(2 * MOST_KNOWN_LINEAGES // 20):
        lineage = machine.start("s")
        for name in chance.permutation(list(rules)).tolist():
            assert machine.is_independent(lineage)
            lineage = machine.after(lineage, name)
        assert machine.is_complete(lineage)
    assert max(len(machine._ready), len(machine._after), len(machine._independent)) <= MOST_KNOWN_LINEAGES
