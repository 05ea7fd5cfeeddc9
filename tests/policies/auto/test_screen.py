"""The screen: what each order costs a sample, and what no order can go below."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from eddy.policies.auto.screen import find_floor, order_greedily, screen
from eddy.policies.shared.orders import price_own
from eddy.tuples.arrays import Floats

NO_BUCKETS = np.zeros((400, 0), np.uint8)


def cost(outcomes: Floats, costs: Floats, order: tuple[int, ...]) -> float:
    """What rows cost in an order, row by row."""
    total = 0.0
    for row in outcomes:
        left = 1.0
        for operator in order:
            total += left * costs[operator]
            left *= row[operator]
    return total / len(outcomes)


OUTCOMES = arrays.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(2, 4)), elements=st.integers(0, 1))


@given(outcomes=OUTCOMES, data=st.data())
def test_no_order_costs_less_than_the_floor(outcomes: Floats, data: st.DataObject) -> None:
    size = outcomes.shape[1]
    costs = np.array(data.draw(st.lists(st.sampled_from([0.25, 1.0, 8.0]), min_size=size, max_size=size)))
    found = {order: cost(outcomes, costs, order) for order in permutations(range(size))}
    for order, expected in found.items():
        assert price_own(outcomes, costs, np.array(order)).mean() == pytest.approx(expected)
    assert find_floor(outcomes, costs) <= min(found.values()) + 1e-9
    assert found[tuple(order_greedily(outcomes, costs).tolist())] <= 4 * min(found.values())


def rows(rates: list[list[float]]) -> tuple[Floats, np.ndarray]:
    """Rows of classes, and the class of each."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, len(rates), 400)
    return (rng.random((400, len(rates[0]))) < np.array(rates)[kind]).astype(float), kind


def test_a_better_order_for_all_is_found() -> None:
    outcomes, _ = rows([[0.9, 0.9, 0.1]])
    found = screen(outcomes, NO_BUCKETS, np.ones(3), np.random.default_rng(0))
    assert found.written == pytest.approx(1 + 0.9 + 0.81, abs=0.15)
    assert found.single == pytest.approx(1 + 0.1 + 0.09, abs=0.15)
    assert found.classes == found.single
    assert found.written - found.single > 5 * found.error > 0


def test_classes_save_more_where_an_attribute_tells_them_apart() -> None:
    outcomes, kind = rows([[0.05, 0.9], [0.9, 0.05]])
    noise = np.random.default_rng(1).integers(0, 9, 400)
    buckets = np.stack([noise, kind], axis=1).astype(np.uint8)
    found = screen(outcomes, buckets, np.ones(2), np.random.default_rng(0))
    assert found.classes < 1.2
    assert found.single > 1.4
    assert found.floor <= found.classes
    # What is held out was not looked at: noise alone promises nothing.
    alone = screen(outcomes, buckets[:, :1], np.ones(2), np.random.default_rng(0))
    assert alone.classes > alone.single - 0.1


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_operators_that_never_or_always_pass(value: float) -> None:
    found = screen(np.full((400, 3), value), NO_BUCKETS, np.ones(3), np.random.default_rng(0))
    expected = 1.0 if value == 0 else 3.0
    assert found == (expected, expected, expected, expected, 0.0)


def test_classes_are_not_looked_at_where_too_little_is_left_to_save() -> None:
    outcomes, kind = rows([[0.05, 0.9], [0.9, 0.05]])
    found = screen(outcomes, kind[:, None].astype(np.uint8), np.ones(2), np.random.default_rng(0), least=10.0)
    assert found.classes == found.single
