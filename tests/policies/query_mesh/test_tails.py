"""Routes end alike from where an order of its own costs more calls than it saves."""

from __future__ import annotations

import numpy as np
import pytest

from eddy.policies.query_mesh.learn.steps import Work, finish
from eddy.policies.query_mesh.learn.tree import leaf
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.optimizer import optimize
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.tails import share_tails
from tests.policies.query_mesh.worlds import legality, sample, skewed

OPERATORS = 5
COSTS = np.ones(OPERATORS)


def found(leg: float, needs: dict[int, list[set[int]]] | None = None) -> tuple[Mesh, Mesh, float]:
    """A mesh as it is found, and with its tails shared; and what those cost a row more."""
    kind = np.random.default_rng(0).integers(0, 3, 1_200)
    rows = sample(skewed(kind, OPERATORS, low=0.02), kind[:, None], 1)
    overheads = Overheads(level=0.0, bucket=0.0, leg=leg, rows=1_000, step=leg / 3)
    mesh, _ = finish(optimize(rows, COSTS, legality(OPERATORS, needs), 100, overheads, Work()))
    shared = finish(share_tails(mesh, rows, COSTS, legality(OPERATORS, needs), overheads, Work()))
    more = shared.price_rows(rows, COSTS).mean() - mesh.price_rows(rows, COSTS).mean()
    return mesh, shared, float(more)


def test_what_is_left_of_a_few_rows_goes_the_common_way() -> None:
    mesh, shared, more = found(leg=3.0)
    assert len(shared.routes) == len(mesh.routes) == 3
    assert [route[0] for route in shared.routes] == [route[0] for route in mesh.routes]
    assert max(shared.own) < OPERATORS - 1
    # What a route has not done yet by its own place comes in one order, whichever route it is.
    tails = [route[begun:] for route, begun in zip(shared.routes, shared.own, strict=True)]
    for one in tails:
        for other in tails:
            both = set(one) & set(other)
            assert [op for op in one if op in both] == [op for op in other if op in both]
    assert more < 0.01


def test_tails_are_their_own_where_calls_cost_nothing() -> None:
    mesh, shared, _ = found(leg=0.0)
    assert shared is mesh


@pytest.mark.parametrize("leg", [0.0, 3.0, 300.0])
def test_tails_are_legal(leg: float) -> None:
    needs = {3: [{1}], 4: [{2}]}
    _, shared, _ = found(leg, needs)
    allowed = legality(OPERATORS, needs)
    for route in shared.routes:
        assert all(op in allowed.find_ready(route[:place]) for place, op in enumerate(route))


def test_one_route_is_left_alone() -> None:
    mesh, _, _ = found(leg=0.0)
    kind = np.zeros((10, 1), np.uint8)
    rows = sample(np.full((10, OPERATORS), 0.5), kind, 1)
    single = Mesh(
        routes=mesh.routes[:1],
        tree=leaf(0),
        seconds=(1.0,),
        share=(1.0,),
        cost=1.0,
        single_cost=1.0,
        training=1,
    )
    assert finish(share_tails(single, rows, COSTS, legality(OPERATORS), Overheads(), Work())) is single
