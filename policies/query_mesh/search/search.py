"""Sets of training tuples that share a route: the cheapest partition.

Sections 4.6 and 4.7 of the Query Mesh paper search among random neighbours of a partition, by iterative improvement or
simulated annealing. Here training tuples with the same best route begin together, and then all of them move at once to
where they cost least, until none gains by it. That ends within 0.2 % of the optimum on average, with no chance in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.best_route import Pricer
from eddy.policies.shared.legality import HopNumbers
from eddy.tuples.arrays import Floats, Integers

ROUTES_AT_ONCE = 16
"""Training tuples whose best routes are found in one step."""


class Partition(NamedTuple):
    """The set of each training tuple, by number, and the best route of each set.

    `under` has a line for each route: what the rows of every training tuple take on it. `cost` is that of equation (2)
    by row, with a tree that is as high as it will have to be at least.
    """

    label: Integers
    routes: list[HopNumbers]
    under: Floats
    cost: float


def search(pricer: Pricer, density: Floats, overheads: Overheads, work: Work) -> Steps[Partition]:
    """Find a partition of training tuples that have so many rows each, and nearly none is cheaper than."""
    alone = np.eye(len(density))
    singles: list[HopNumbers] = []
    for begun in range(0, len(density), ROUTES_AT_ONCE):
        singles += pricer.routes(alone[begun : begun + ROUTES_AT_ONCE])
        yield work.step()
    distinct = list(dict.fromkeys(singles))
    best = fit_routes(np.array([distinct.index(route) for route in singles]), pricer, density, overheads)
    while len(best.routes) > 1:
        # Routes go that cost more than they save, tuples go where they cost less, and then each set gets the best
        # route for what it has become.
        moved = _thin(best.under, density, overheads).argmin(axis=0)
        yield work.step()
        found = fit_routes(moved, pricer, density, overheads)
        if found.cost >= best.cost:
            break
        best = found
    return best


def fit_routes(label: Integers, pricer: Pricer, density: Floats, overheads: Overheads) -> Partition:
    """Give each set of training tuples its best route."""
    numbers, place = np.unique(label, return_inverse=True)
    routes = pricer.routes((place == np.arange(len(numbers))[:, None]).astype(np.float64))
    under = np.stack([pricer.price_rows(route) for route in routes])
    spent = float(under[place, np.arange(len(place))].sum())
    return Partition(place, routes, under, spent / float(density.sum()) + overheads.estimate(len(routes)))


def _thin(under: Floats, density: Floats, overheads: Overheads) -> Floats:
    """Drop routes whose tuples may as well go elsewhere, the least missed first."""
    while len(under) > 1:
        best, second = np.partition(under, 1, axis=0)[:2]
        missed = np.bincount(under.argmin(axis=0), second - best, len(under)) / density.sum()
        least = int(missed.argmin())
        if missed[least] >= overheads.estimate(len(under)) - overheads.estimate(len(under) - 1):
            break
        under = np.delete(under, least, axis=0)
    return under
