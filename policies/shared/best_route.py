"""The best route for a set of training tuples.

Follows section 4.3 of the Query Mesh paper, which leaves the method open: dynamic programming over the sets of
operators that are done, up to `MOST_EXACT_OPERATORS` operators, and by rank, one operator after the other, beyond.

Where it does better: selectivities are conditional. What reaches an operator after a set of others is counted in the
verdict matrix and not multiplied from selectivities of its own, so filters that agree or exclude each other are priced
for what they do. The counts of a set of training tuples are the sums of theirs, so a set is priced without a look at
rows, and many sets at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from eddy.policies.shared.legality import HopNumbers, Legality, bits
from eddy.policies.shared.orders import price_orders
from eddy.tuples.arrays import Floats, Integers

MOST_EXACT_OPERATORS = 10
"""Operators up to which all 2^n sets are counted: 1,024 numbers for each training tuple, 0.8 MB for 100 of them. Each
operator more doubles that."""


class Pricer(Protocol):
    """Finds the best routes of sets of training tuples, and prices tuples on them."""

    def routes(self, members: Floats) -> list[HopNumbers]:
        """The best route for each set; `members` has a row for each set, a column for each tuple."""

    def price_rows(self, route: Sequence[int]) -> Floats:
        """Price each training tuple on a route, in seconds."""


class Exact:
    """Dynamic programming over sets of operators.

    What is left of a row after a set of operators does not depend on their order. So the cheapest way to go on from
    there does not either, and is worked out once for each set: 2^n numbers in place of n! orders.

    `reaches` has a row for each training tuple and a column for each set of operators: how many tuples are left of its
    rows once those operators are done (`reach`).
    """

    def __init__(self, reaches: Floats, costs: Floats, legality: Legality) -> None:
        # Costs of each training tuple with each operator, or the same for all.
        self._reaches, self._costs = reaches, np.broadcast_to(costs, (len(reaches), len(legality.operators)))
        self._is_uniform = costs.ndim == 1
        self._nowhere = reaches.shape[1]
        self._layers, self._steps = legality.layers()

    def routes(self, members: Floats) -> list[HopNumbers]:
        """The best route for each set."""
        rest, spent = self._rest(members), self._spend(members)
        found = []
        for left, reached in zip(rest.T, spent.transpose(2, 0, 1), strict=True):
            route: list[int] = []
            while (done := bits(route)) in self._steps:
                route.append(int((left[self._steps[done]] + reached[:, done]).argmin()))
            found.append(tuple(route))
        return found

    def price_rows(self, route: Sequence[int]) -> Floats:
        """Price each training tuple on a route, in seconds."""
        prefixes = [bits(route[:place]) for place in range(len(route))]
        seconds: Floats = (self._reaches[:, prefixes] * self._costs[:, list(route)]).sum(axis=1)
        return seconds

    def _rest(self, members: Floats) -> Floats:
        """The cost that is left once a set of operators is done.

        There is a row for each set of operators, and a column for each set of training tuples. The last row stands for
        illegal sets (infinite cost). A set with nothing ready costs 0.
        """
        # rest(done) = min over ready j of reach(done) * cost(j) + rest(done | j), for all sets of training tuples at
        # once. `here` is three-dimensional: the sets of operators of a layer, the next operator, the sets.
        # Steps to `_nowhere` find infinity in the last row, so the minimum never takes them.
        spent = self._spend(members)
        rest = np.zeros((self._nowhere + 1, len(members)))
        rest[-1] = np.inf
        for masks, steps in self._layers:
            rest[masks] = (rest.take(steps, axis=0) + spent[:, masks].swapaxes(0, 1)).min(axis=1)
        return rest

    def _spend(self, members: Floats) -> Floats:
        """What each operator takes for each set, after each set of operators: `[operator, operators done, set]`."""
        if self._is_uniform:
            found: Floats = self._costs[0][:, None, None] * (members @ self._reaches).T
            return found
        return np.stack([(members @ (self._reaches * cost[:, None])).T for cost in self._costs.T])


class Greedy:
    """Routes by rank, lowest first.

    The rank is (outputs per input - 1) / cost, among the tuples that are left. `outcomes` has a row for each sampled
    row, and `cell` says of which training tuple it is.
    """

    def __init__(self, outcomes: Floats, cell: Integers, costs: Floats, legality: Legality) -> None:
        self._outcomes, self._cell, self._costs, self._legality = outcomes, cell, costs, legality
        self._count = int(cell.max(initial=-1)) + 1

    def price_rows(self, route: Sequence[int]) -> Floats:
        """Price each training tuple on a route, in seconds."""
        (seconds,) = price_orders(self._outcomes, self._costs, np.array([route]))
        return np.bincount(self._cell, seconds, self._count).astype(np.float64)

    def routes(self, members: Floats) -> list[HopNumbers]:
        """The route of best ranks for each set."""
        left = members[:, self._cell]
        whole = left @ self._outcomes / np.maximum(left.sum(axis=1), np.finfo(np.float64).tiny)[:, None]
        routes: list[HopNumbers] = [()] * len(members)
        for _ in range(len(self._costs)):
            rows = left.sum(axis=1)
            out = left @ self._outcomes
            # Where nothing of a set of tuples is left, the rates among all its rows stand in.
            rates = np.divide(out, rows[:, None], out=whole.copy(), where=rows[:, None] > 0)
            ranks = (rates - 1) / self._costs
            for number, route in enumerate(routes):
                ready = self._legality.find_ready(route)
                if ready:
                    chosen = min(ready, key=ranks[number].__getitem__)
                    left[number] *= self._outcomes[:, chosen]
                    routes[number] = (*route, chosen)
        return routes


def reach(outcomes: Floats) -> Floats:
    """Count the tuples left of each row after each operator set.

    It is the product of what the operators make of the row. For filters that is 1 where all of them pass, for probes
    what they return together.

    >>> reach(np.array([[1.0, 0.0], [1.0, 3.0]]))
    array([[1., 1., 0., 0.], [1., 1., 3., 3.]])
    """
    rows, operators = outcomes.shape
    left = np.ones((rows, 1 << operators))
    for number in range(operators):
        half = 1 << number
        np.multiply(left[:, :half], outcomes[:, number : number + 1], out=left[:, half : 2 * half])
    return left
