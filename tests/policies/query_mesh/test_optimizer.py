"""From a sample to a mesh, judged on rows that the sample does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eddy.policies.query_mesh.learn.steps import Work, finish
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.optimizer import optimize, refine_routes
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.legality import Legality
from eddy.policies.shared.orders import price_own
from eddy.policies.shared.sample import Sample
from tests.policies.query_mesh.worlds import Floats, legality, noise, sample, skewed

ROWS = 1_000
COST = 20e-6
Kind = Callable[[np.ndarray[Any, np.dtype[np.uint8]]], np.ndarray[Any, np.dtype[Any]]]


def found(
    rows: Sample,
    costs: Floats | None = None,
    legal: Legality | None = None,
    overheads: Overheads | None = None,
    training: int = 100,
) -> Mesh:
    operators = rows.outcomes.shape[1]
    costs = np.full(operators, COST) if costs is None else costs
    thought = optimize(rows, costs, legal or legality(operators), training, overheads or Overheads(), Work())
    return finish(thought)[0]


def spent(mesh: Mesh, rows: Sample) -> float:
    """What each of some rows takes on average, in calls."""
    given = mesh.tree.routes(rows.buckets[:, list(mesh.tree.used)])
    return float(price_own(rows.outcomes, np.ones(rows.outcomes.shape[1]), np.array(mesh.routes)[given]).mean())


def bound(rates: Floats) -> float:
    """What each row takes on average when its own best order is known, in calls."""
    ordered = np.sort(rates, axis=1)
    return float(np.cumprod(np.column_stack((np.ones(len(rates)), ordered[:, :-1])), axis=1).sum(axis=1).mean())


KINDS: dict[str, Kind] = {
    "three ranges": lambda b: b[:, 0] // 8,
    "values": lambda b: b[:, 0] % 3,
    "ranges of two": lambda b: b[:, 0] // 12 + 2 * (b[:, 1] // 12),
    "exclusive or": lambda b: ((b[:, 0] >= 12) ^ (b[:, 1] >= 12)).astype(int),
    "exclusive or of values": lambda b: ((b[:, 0] ^ b[:, 1]) & 1).astype(int),
}


@pytest.mark.parametrize("operators", [4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_nearly_all_that_can_be_gained_is_gained_among_twenty_attributes(kind: str, operators: int) -> None:
    buckets, fresh = noise(ROWS, 20, seed=1), noise(20_000, 20, seed=2)
    mesh = found(sample(skewed(KINDS[kind](buckets), operators), buckets, 3))
    rates = skewed(KINDS[kind](fresh), operators)
    unseen = sample(rates, fresh, 4)
    single = found(unseen, training=1)
    gained = (spent(single, unseen) - spent(mesh, unseen)) / (spent(single, unseen) - bound(rates))
    assert gained > 0.9
    assert mesh.cost < mesh.single_cost


@pytest.mark.parametrize("rates", [[0.5] * 4, [0.2, 0.5, 0.7, 0.9], [0.01, 0.02, 0.5, 0.99]], ids=str)
def test_uniform_rows_have_one_route_and_a_tree_of_one_leaf(rates: list[float]) -> None:
    several = 0
    for seed in range(100):
        mesh = found(sample(np.tile(rates, (ROWS, 1)), noise(ROWS, 10, seed=1_000 + seed), seed))
        several += len(mesh.routes) > 1
        assert (len(mesh.routes) > 1) == (mesh.tree.depth > 0)
    assert several <= 3


def test_the_cost_is_that_of_equation_two() -> None:
    buckets = noise(ROWS, 2, seed=5)
    overheads = Overheads(level=1e-7, bucket=1e-8, leg=1e-3, rows=1_000)
    mesh = found(sample(skewed(buckets[:, 0] // 8, 4), buckets, 6), overheads=overheads)
    routes = len(mesh.routes)
    assert routes == 3
    seconds = sum(share * taken for share, taken in zip(mesh.share, mesh.seconds, strict=True))
    assert mesh.cost == pytest.approx(seconds + 1e-7 * mesh.tree.depth + 1e-8 + (routes - 1) * 1e-6)
    assert sum(mesh.share) == pytest.approx(1)


def test_routes_that_cost_more_than_they_save_are_not_made() -> None:
    buckets = noise(ROWS, 2, seed=5)
    rows = sample(skewed(buckets[:, 0] // 8, 4), buckets, 6)
    assert len(found(rows, overheads=Overheads(leg=1.0, rows=1_000)).routes) == 1
    assert len(found(rows, overheads=Overheads(level=1.0)).routes) == 1


def test_routes_are_legal() -> None:
    buckets = noise(ROWS, 3, seed=9)
    legal = legality(4, {3: [{0}, {1, 2}]})
    mesh = found(sample(skewed(buckets[:, 0] // 6, 4), buckets, 10), legal=legal)
    assert len(mesh.routes) > 1
    assert all(len(legal.hops(route)) == 4 for route in mesh.routes)


def test_more_operators_than_can_be_counted_exactly() -> None:
    buckets, fresh = noise(ROWS, 5, seed=11), noise(10_000, 5, seed=12)
    mesh = found(sample(skewed(buckets[:, 0] // 8, 12), buckets, 13))
    rates = skewed(fresh[:, 0] // 8, 12)
    unseen = sample(rates, fresh, 14)
    assert spent(mesh, unseen) <= 1.02 * bound(rates)


def test_dear_operators_wait() -> None:
    buckets = noise(ROWS, 2, seed=15)
    mesh = found(sample(np.full((ROWS, 3), 0.5), buckets, 16), np.array([1e-3, 0.0, 1e-5]))
    assert mesh.routes == ((1, 2, 0),)


def test_operators_that_no_row_came_to_are_put_in_the_usual_order() -> None:
    """In one class nothing passes operator 0; what comes after it there is decided by what is usual."""
    buckets = noise(ROWS, 1, seed=17)
    rates = np.where(buckets < 12, [[0.0, 0.9, 0.5, 0.7]], [[1.0, 0.9, 0.5, 0.7]])
    mesh = found(sample(rates, buckets, 18))
    assert (0, 2, 3, 1) in mesh.routes


def test_a_mesh_survives_a_restart() -> None:
    buckets = noise(ROWS, 3, seed=21)
    mesh = found(sample(skewed(buckets[:, 0] // 8, 4), buckets, 22))
    again = Mesh.restore(mesh.snapshot())
    assert (again.routes, again.seconds, again.share, again.cost) == (mesh.routes, mesh.seconds, mesh.share, mesh.cost)
    used = buckets[:, list(mesh.tree.used)]
    assert again.tree.routes(used).tolist() == mesh.tree.routes(used).tolist()
    assert again.snapshot().keys() == mesh.snapshot().keys()


def test_a_larger_sample_refines_the_routes_of_a_tree() -> None:
    """What few rows had to guess, more know; what they knew stays."""
    buckets, fresh = noise(150, 2, seed=25), noise(20_000, 2, seed=26)
    rates = np.where(buckets[:, :1] < 12, [[0.1, 0.5, 0.6, 0.7]], [[0.7, 0.6, 0.5, 0.1]])
    mesh = found(sample(rates, buckets, 27))
    assert len(mesh.routes) == 2
    many = sample(np.where(fresh[:, :1] < 12, [[0.1, 0.5, 0.6, 0.7]], [[0.7, 0.6, 0.5, 0.1]]), fresh, 28)
    again = finish(refine_routes(mesh, many, np.ones(4), legality(4), Work()))
    assert set(again.routes) == {(0, 1, 2, 3), (3, 2, 1, 0)}
    assert spent(again, many) <= spent(mesh, many)
    assert sum(again.share) == pytest.approx(1)


def test_routes_that_turn_out_alike_become_one() -> None:
    buckets = noise(ROWS, 2, seed=29)
    mesh = found(sample(skewed(buckets[:, 0] // 8, 4), buckets, 30))
    alike = sample(np.tile([0.1, 0.3, 0.5, 0.7], (ROWS, 1)), buckets, 31)
    again = finish(refine_routes(mesh, alike, np.ones(4), legality(4), Work()))
    assert again.routes == ((0, 1, 2, 3),)
    assert again.tree.used == ()
