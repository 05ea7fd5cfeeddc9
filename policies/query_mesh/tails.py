"""Routes that end alike where it hardly matters.

Most rows are dropped by the first operators of their route. What is left of each way is a handful of rows, and an order
of its own for them costs a call of every operator in every round. Where the common order costs less for them than the
calls, routes end in it, and all ways take those steps together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.orders import price_orders, sort_by_merit
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats


def share_tails(
    mesh: Mesh,
    sample: Sample,
    costs: Floats,
    legality: Legality,
    overheads: Overheads,
    work: Work,
    *,
    is_independent: bool = False,
) -> Steps[Mesh]:
    """Let the routes of a mesh end in the common order from where that pays.

    Where operators are independent within a way, what comes far follows from their rates: hardly any row of a sample
    does.
    """
    # Where only calls count, a step costs nothing.
    if len(mesh.routes) == 1 or not overheads.step:
        return mesh
    given = mesh.give_ways(sample)
    prices = np.broadcast_to(sample.price(costs), sample.outcomes.shape)
    usual = sample.outcomes.mean(axis=0)
    common = sort_by_merit(usual, prices.mean(axis=0)).tolist()
    found: list[tuple[HopNumbers, int]] = []
    is_free = legality.is_free
    for way, route in enumerate(mesh.routes):
        some = given == way
        places = range(1, len(route) + 1)
        begun = [place for place in places if is_free or _is_legal(_end(route, place, common), legality)]
        if not some.any() or not begun:
            found.append((route, len(route)))
            continue
        ends = [_end(route, place, common) for place in begun]
        outcomes = _take_mean(sample.outcomes[some], usual) if is_independent else sample.outcomes[some]
        spent = price_orders(outcomes, prices[some].mean(axis=0), np.array(ends)).mean(axis=1)
        spent *= overheads.rows * some.mean()
        steps = np.array(begun) * overheads.step
        best = int((spent + steps).argmin())
        found.append((ends[best], begun[best]))
        yield work.step()
    return _renumber(mesh, found)


def _renumber(mesh: Mesh, found: list[tuple[HopNumbers, int]]) -> Mesh:
    """The mesh with other routes, and from where on each is shared; alike ones become one."""
    distinct = dict(found)
    numbers = {route: number for number, route in enumerate(distinct)}
    renumbered = [numbers[route] for route, _ in found]
    if len(distinct) == 1:
        return mesh
    share, spent = np.zeros(len(distinct)), np.zeros(len(distinct))
    np.add.at(share, renumbered, mesh.share)
    np.add.at(spent, renumbered, np.array(mesh.share) * mesh.seconds)
    return replace(
        mesh,
        routes=tuple(distinct),
        own=tuple(distinct.values()),
        tree=mesh.tree.renumber(renumbered),
        share=tuple(share.tolist()),
        seconds=tuple((spent / np.maximum(share, np.finfo(np.float64).tiny)).tolist()),
    )


def _take_mean(outcomes: Floats, usual: Floats) -> Floats:
    """One row with the rates of some, and one ordinary row beside them."""
    mean: Floats = (outcomes.sum(axis=0, keepdims=True) + usual) / (len(outcomes) + 1)
    return mean


def _end(route: HopNumbers, place: int, common: list[int]) -> HopNumbers:
    """The route, in the common order from a place on."""
    begun = route[:place]
    return (*begun, *(operator for operator in common if operator not in begun))


def _is_legal(route: HopNumbers, legality: Legality) -> bool:
    return all(operator in legality.find_ready(route[:place]) for place, operator in enumerate(route))
