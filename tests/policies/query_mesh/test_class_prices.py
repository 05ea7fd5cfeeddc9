"""Operators whose price goes by class: it is learned from legs of the sample, and routes follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eddy
from eddy.policies.query_mesh.learn.class_prices import FEWEST_LEGS, ClassPrices
from tests.policies.query_mesh.streams import attribute, stream

ROWS, KINDS, PASS = 40_000, 3, 0.3
CHEAP, DEAR = 1e-6, 100e-6


def measured(legs: int, rows: int, dear: bool, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of three kinds in random legs, with a noise of a hundredth; the first operator is dear for kind 1."""
    chance = np.random.default_rng(seed)
    kind, leg = chance.integers(0, KINDS, legs * rows), np.repeat(np.arange(legs), rows)
    buckets = np.column_stack((kind, chance.integers(0, 20, (legs * rows, 5)))).astype(np.uint8)
    each = np.where((kind == 1) & dear, DEAR, CHEAP)
    mean = np.bincount(leg, each)[leg] / rows
    noise = 1 + 0.01 * chance.standard_normal((legs, 2))[leg]
    return buckets, leg, np.column_stack((mean, np.full(len(leg), CHEAP))) * noise


def test_a_price_by_class_is_found_in_legs_of_mixed_classes() -> None:
    prices, again = ClassPrices(), ClassPrices()
    buckets, legs, seconds = measured(16, 12, dear=True)
    prices.learn(buckets, legs, seconds)
    found = prices.price(buckets)
    assert found is not None
    assert found[buckets[:, 0] == 1, 0] == pytest.approx(DEAR, rel=0.05)
    assert found[buckets[:, 0] != 1, 0].max() < 0.1 * DEAR
    assert np.ptp(found[:, 1]) == 0
    again.restore(json.loads(json.dumps(prices.snapshot())))
    assert np.array_equal(np.array(again.price(buckets)), found)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_cost_the_same_have_one_price(seed: int) -> None:
    prices = ClassPrices()
    prices.learn(*measured(16, 12, dear=False, seed=seed))
    assert prices.price(measured(1, 1, dear=False)[0]) is None


def test_few_legs_say_nothing() -> None:
    prices = ClassPrices()
    prices.learn(*measured(FEWEST_LEGS - 1, 50, dear=True))
    assert not prices.is_known


class World:
    """Filters that cost simulated time, and a clock that shows it alone."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def filter(self, number: int) -> eddy.Filter:
        def judge(passed: np.ndarray, kind: np.ndarray) -> np.ndarray:
            dear = int((kind == number).sum())
            self.now += DEAR * dear + CHEAP * (len(kind) - dear)
            return passed.copy()

        function: Callable[..., Any] = judge
        function.__annotations__.update(passed=np.ndarray, kind=np.ndarray)
        return eddy.Filter(f"op{number}", on="s", function=function, columns=[f"p{number}", "kind"])


def spent(policy: Any) -> float:
    """The operators' seconds over those of an oracle, which asks the dear one of each kind last."""
    world, kind = World(), attribute(ROWS, KINDS, 1)
    passed = {f"p{i}": np.random.default_rng([2, i]).random(ROWS) < PASS for i in range(KINDS)}
    asked = eddy.Query(
        streams=[eddy.Stream("s", time="ts")], filters=[world.filter(i) for i in range(KINDS)], select=["s.ts"]
    )
    eddy.run_local(
        asked,
        {"s": stream({"kind": kind, "noise": attribute(ROWS, 9, 3)}, passed)},
        policy=policy,
        batch_rows=1_000,
        seed=0,
        clock=world.clock,
    )
    return world.now / (ROWS * (CHEAP + PASS * CHEAP + PASS**2 * DEAR))


def test_routes_follow_prices_by_class() -> None:
    attributes = ["s.kind", "s.noise"]
    assert spent("fixed") > 4
    assert spent({"name": "query_mesh", "attributes": attributes}) < 1.4
