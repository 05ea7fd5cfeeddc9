"""The best single order, against all orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from eddy.jobs.experiments.workloads.ordering.exact import MOST_OPERATORS
from eddy.jobs.experiments.workloads.selectivities import best_calls, best_order, calls_of, selectivities


@pytest.mark.parametrize("seed", range(10))
def test_no_order_needs_fewer_calls(seed: int) -> None:
    chance = np.random.default_rng(seed)
    values, shares = chance.random((3, 5)), chance.dirichlet(np.ones(3))
    order = best_order(values, shares)
    assert order is not None
    every = [calls_of(list(one), values, shares) for one in permutations(range(5))]
    assert calls_of(order, values, shares) == pytest.approx(min(every))
    assert best_calls(values, shares) <= min(every) + 1e-9


def test_partitions_have_best_orders_that_differ_from_that_of_all() -> None:
    """As the Query Mesh paper asks for; and a mesh can gain the 44 % that it reports."""
    table = selectivities({"table": "partitions"}, 6, seed=0)
    order = best_order(table.values, np.full(3, 1 / 3))
    assert order is not None
    firsts = [set(np.flatnonzero(row == row.min())) for row in table.values]
    assert all(set(order[:2]) != own for own in firsts)
    assert calls_of(order, table.values, np.full(3, 1 / 3)) / best_calls(table.values) > 1.44


def test_of_many_operators_nobody_knows() -> None:
    assert best_order(np.full((1, MOST_OPERATORS + 1), 0.5), np.ones(1)) is None
