"""A good route for a set of training tuples, where there are too many operators for the best one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.orders import Floats, Integers
from policies.query_mesh.legality import Legality, Route
from policies.query_mesh.reach import row_costs


class Greedy:
    """Always the ready operator of the best rank among what is left: (outputs per input - 1) / cost.

    `outcomes` has a row for each sampled row, and `cell` says of which training tuple it is.
    """

    def __init__(self, outcomes: Floats, cell: Integers, costs: Floats, legality: Legality) -> None:
        self._outcomes, self._cell, self._costs, self._legality = outcomes, cell, costs, legality
        self._count = int(cell.max(initial=-1)) + 1

    def price(self, members: Floats) -> Floats:
        """The seconds that the rows of each set take under the route of best ranks."""
        return self._greedy(members)[1]

    def route(self, members: Floats) -> Route:
        """The route of best ranks for one set."""
        return self._greedy(members[None])[0][0]

    def under(self, route: Sequence[int]) -> Floats:
        """The seconds that the rows of each training tuple take on a route."""
        seconds = row_costs(self._outcomes, self._costs, [route])[:, 0]
        return np.bincount(self._cell, seconds, self._count).astype(np.float64)

    def _greedy(self, members: Floats) -> tuple[list[Route], Floats]:
        left = members[:, self._cell]
        whole = left @ self._outcomes / np.maximum(left.sum(axis=1), np.finfo(np.float64).tiny)[:, None]
        routes: list[Route] = [()] * len(members)
        seconds = np.zeros(len(members))
        for _ in range(len(self._costs)):
            rows = left.sum(axis=1)
            out = left @ self._outcomes
            rates = np.divide(out, rows[:, None], out=whole.copy(), where=rows[:, None] > 0)
            ranks = (rates - 1) / self._costs
            for number, route in enumerate(routes):
                ready = self._legality.ready(route)
                if ready:
                    chosen = min(ready, key=ranks[number].__getitem__)
                    seconds[number] += rows[number] * self._costs[chosen]
                    left[number] *= self._outcomes[:, chosen]
                    routes[number] = (*route, chosen)
        return routes, seconds
