"""The exact best order, against all orders on the same rows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from eddy.jobs.experiments.workloads.ordering.exact import (
    MOST_OPERATORS,
    best_course,
    best_on_data,
    cost_by_row,
    share_left,
)
from eddy.tuples.arrays import Mask

ROWS = 200


def draw(seed: int, operators: int = 5) -> Mask:
    """Outcomes that depend on each other: the rows are of few kinds."""
    chance = np.random.default_rng(seed)
    kinds: Mask = chance.random((12, operators)) < 0.6
    drawn: Mask = kinds[chance.integers(12, size=ROWS)]
    return drawn


def cost(passed: Mask, order: tuple[int, ...], costs: list[float], fan_out: list[int]) -> float:
    """What an order costs, row by row."""
    spent = 0.0
    for row in passed:
        tuples = 1
        for operator in order:
            spent += tuples * costs[operator]
            tuples *= fan_out[operator] if row[operator] else 0
    return spent


@pytest.mark.parametrize(
    ("costs", "fan_out"),
    [([1.0] * 5, [1] * 5), ([1.0, 10.0, 1.0, 50.0, 2.0], [1] * 5), ([1.0, 2.0, 1.0, 1.0, 3.0], [1, 20, 2, 5, 1])],
)
@pytest.mark.parametrize("seed", range(4))
def test_no_order_costs_less(seed: int, costs: list[float], fan_out: list[int]) -> None:
    passed = draw(seed)
    order = best_on_data(passed, np.array(costs), np.array(fan_out))
    assert order is not None
    least = min(cost(passed, one, costs, fan_out) for one in permutations(range(5)))
    assert cost(passed, tuple(order), costs, fan_out) == pytest.approx(least)
    assert cost_by_row(passed, order, np.array(costs), np.array(fan_out)).sum() == pytest.approx(least)


def test_what_is_left_after_each_set_is_counted() -> None:
    passed = draw(9, operators=4)
    for chosen, share in enumerate(share_left(passed)):
        own = [operator for operator in range(4) if chosen >> operator & 1]
        assert share == pytest.approx(passed[:, own].all(axis=1).mean())


def test_each_phase_has_its_own_best_order() -> None:
    first, second = np.tile([False, True], (30, 1)), np.tile([True, False], (20, 1))
    course = best_course(np.concatenate([first, second]), np.ones(2), [0, 30])
    assert course is not None
    assert course.tolist() == [1.0] * 50


def test_of_many_operators_nobody_knows() -> None:
    many = np.ones((3, MOST_OPERATORS + 1), np.bool_)
    assert best_on_data(many, np.ones(MOST_OPERATORS + 1)) is None
    assert best_course(many, np.ones(MOST_OPERATORS + 1), [0]) is None


def test_one_operator_has_one_order() -> None:
    assert best_on_data(np.ones((3, 1), np.bool_), np.ones(1)) == [0]
    assert cost_by_row(np.ones((3, 1), np.bool_), [0], np.array([7.0])).tolist() == [7.0] * 3
