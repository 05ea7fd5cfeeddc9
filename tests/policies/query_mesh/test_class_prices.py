"""Operators whose price goes by class: it is learned from legs of the sample, and routes follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eddy
from eddy.policies.query_mesh.learn.class_prices import FEWEST_LEGS, ClassPrices
from eddy.policies.query_mesh.learn.steps import Work, finish
from tests.policies.query_mesh.streams import attribute, stream

ROWS, KINDS, PASS = 40_000, 3, 0.3
CHEAP, DEAR = 1e-6, 100e-6
STEP = 40e-6


def measured(legs: int, rows: int, dear: bool, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of three kinds in random legs, with a noise of a hundredth; the first operator is dear for kind 1."""
    chance = np.random.default_rng(seed)
    kind, leg = chance.integers(0, KINDS, legs * rows), np.repeat(np.arange(legs), rows)
    buckets = np.column_stack((kind, chance.integers(0, 20, (legs * rows, 5)))).astype(np.uint8)
    each = np.where((kind == 1) & dear, DEAR, CHEAP)
    mean = np.bincount(leg, each)[leg] / rows
    noise = 1 + 0.01 * chance.standard_normal((legs, 2))[leg]
    return buckets, leg, np.column_stack((mean, np.full(len(leg), CHEAP))) * noise


def learn(prices: ClassPrices, buckets: Any, legs: Any, seconds: Any, step: float = 0.0) -> None:
    """Learn at once."""
    finish(prices.learn(buckets, legs, seconds, Work(), step))


def test_a_price_by_class_is_found_in_legs_of_mixed_classes() -> None:
    prices, again = ClassPrices(), ClassPrices()
    buckets, legs, seconds = measured(16, 12, dear=True)
    learn(prices, buckets, legs, seconds)
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
    learn(prices, *measured(16, 12, dear=False, seed=seed))
    assert prices.price(measured(1, 1, dear=False)[0]) is None


def test_few_legs_say_nothing() -> None:
    prices = ClassPrices()
    learn(prices, *measured(FEWEST_LEGS - 1, 50, dear=True))
    assert not prices.is_known


def timed(legs: int, rows: int, values: int, seed: int, noise: float = 20e-6) -> tuple[Any, Any, Any]:
    """Rows in random legs; each of four operators is dear for a quarter of the values, and calls take unlike times."""
    chance = np.random.default_rng(seed)
    value, leg = chance.integers(0, values, legs * rows), np.repeat(np.arange(legs), rows)
    buckets = np.column_stack((value, chance.integers(0, 24, (legs * rows, 5)))).astype(np.uint8)
    each = np.where(value[:, None] % 4 == np.arange(4), 50e-6, 1e-6)
    work = np.stack([np.bincount(leg, column) for column in each.T], axis=1)
    return buckets, leg, (work + noise * np.abs(chance.standard_normal(work.shape)))[leg] / rows


@pytest.mark.parametrize("seed", range(10))
def test_legs_that_waited_for_the_machine_hide_nothing(seed: int) -> None:
    """One in twenty steps takes some milliseconds more; nothing is made of them where all rows cost the same."""
    chance = np.random.default_rng(100 + seed)
    buckets, legs, seconds = timed(96, 6, 50, seed)
    waited = np.where(chance.random((96, 4)) < 0.05, 1e-3 + 3e-3 * chance.random((96, 4)), 0.0)[legs] / 6
    prices, same = ClassPrices(), ClassPrices()
    learn(prices, buckets, legs, seconds + waited, STEP)
    assert {attribute for attribute, _ in prices.tables.values()} == {0}
    learn(same, buckets, legs, 13e-6 * (1 + 0.01 * chance.standard_normal((96, 4))[legs]) + waited, STEP)
    assert not same.is_known


@pytest.mark.parametrize("seed", range(3))
def test_fifty_values_take_more_legs_than_three(seed: int) -> None:
    """Sixteen legs show that rows cost unlike, and hardly why; eighty more do."""
    prices = ClassPrices()
    buckets, legs, seconds = timed(16, 12, 50, seed)
    learn(prices, buckets, legs, seconds, STEP)
    assert prices.is_open != prices.is_known
    again = ClassPrices()
    again.restore(json.loads(json.dumps(prices.snapshot())))
    assert again.is_open == prices.is_open
    others = timed(80, 5, 50, seed + 10)
    every = [np.concatenate(pair) for pair in zip((buckets, legs, seconds), others, strict=True)]
    every[1] = np.concatenate((legs, others[1] + 16))
    learn(again, every[0], every[1], every[2], STEP)
    assert (again.is_open, again.is_known) == (False, True)
    found = again.price(every[0])
    assert found is not None
    assert (found.argmax(axis=1) == every[0][:, 0] % 4).mean() > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_pauses_of_the_machine_are_no_classes(seed: int) -> None:
    """One leg in four takes twenty times as long."""
    prices = ClassPrices()
    buckets, legs, seconds = measured(16, 12, dear=False, seed=seed)
    slow = np.random.default_rng([3, seed]).permutation(16) < 4
    learn(prices, buckets, legs, seconds * np.where(slow, 20.0, 1.0)[legs][:, None], STEP)
    assert (prices.is_open, prices.is_known) == (False, False)


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
