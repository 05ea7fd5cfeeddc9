"""The search against the cheapest of all partitions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from eddy.policies.query_mesh.learn.steps import Work, finish
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.search.search import fit_routes, search
from eddy.policies.shared.best_route import Exact
from eddy.tuples.arrays import Floats
from tests.policies.query_mesh.worlds import legality

OVERHEADS = Overheads(level=0.01, leg=0.03, rows=1.0)
"""As much as a few hundredths of an operator: it decides between partitions, and does not decide alone."""


def instance(seed: int, most: int = 6, operators: int = 5) -> tuple[Exact, Floats]:
    """Training tuples with selectivities and densities of their own."""
    chance = np.random.default_rng(seed)
    count = int(chance.integers(2, most + 1))
    rates = chance.beta(0.8, 0.8, (count, operators))
    density = chance.integers(10, 200, count).astype(np.float64)
    reaches = np.ones((count, 1 << operators))
    for done in range(1 << operators):
        for operator in range(operators):
            if done >> operator & 1:
                reaches[:, done] *= rates[:, operator]
    return Exact(reaches * density[:, None], chance.uniform(0.5, 2.0, operators), legality(operators)), density


def partitions(count: int) -> Iterator[list[int]]:
    """All of them: each training tuple joins a set of those before, or begins one."""
    found: list[list[int]] = [[]]
    for _ in range(count):
        found = [[*label, place] for label in found for place in range(max(label, default=-1) + 2)]
    yield from found


@pytest.mark.parametrize(("count", "bell"), [(1, 1), (2, 2), (4, 15), (6, 203)])
def test_there_are_as_many_partitions_as_the_bell_number_says(count: int, bell: int) -> None:
    assert len(set(map(tuple, partitions(count)))) == bell


def test_it_ends_near_the_optimum() -> None:
    ratios = []
    for seed in range(30):
        pricer, density = instance(seed)
        found = finish(search(pricer, density, OVERHEADS, Work()))
        every = [fit_routes(np.array(label), pricer, density, OVERHEADS).cost for label in partitions(len(density))]
        ratios.append(found.cost / min(every))
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) <= 1.005
    assert max(ratios) <= 1.05


@pytest.mark.parametrize("seed", range(10))
def test_it_never_ends_where_it_costs_more_than_it_did_at_first(seed: int) -> None:
    pricer, density = instance(seed, most=30)
    found = finish(search(pricer, density, OVERHEADS, Work()))
    each = fit_routes(np.arange(len(density)), pricer, density, OVERHEADS)
    assert (
        found.cost
        <= min(each.cost, fit_routes(np.zeros(len(density), np.int64), pricer, density, OVERHEADS).cost) + 1e-9
    )
    assert sorted(set(found.label.tolist())) == list(range(len(found.routes)))
    spent = found.under[found.label, np.arange(len(density))].sum() / density.sum()
    assert found.cost == pytest.approx(spent + OVERHEADS.estimate(len(found.routes)))


def test_one_training_tuple_has_one_route() -> None:
    found = finish(search(Exact(np.ones((1, 32)), np.ones(5), legality(5)), np.ones(1), OVERHEADS, Work()))
    assert (found.label.tolist(), len(found.routes)) == ([0], 1)
