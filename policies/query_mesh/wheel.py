"""Or-sets of a route, and the wheel that draws their order.

Section 5.4 of the Query Mesh paper: neighbours in a route whose exchange would cost about the same share an or-set,
since the sample cannot tell which of them is better. Each time the route is taken, a wheel draws the order within each
set; an operator's slice is the larger the more it drops for its cost among the rows that came to it on this way. So the
uncertainty resolves itself at the tuples, and costs next to nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.orders import SMALLEST_REACH, price_orders
from eddy.tuples.arrays import Floats

Sets = tuple[tuple[int, ...], ...]

LARGEST_OR_SET = 4
"""Operators in an or-set: exchanges that cost little each add up."""

SURE_OF_ORDER = 1.0
"""Standard errors by which an exchange must be dearer, or the order is uncertain: the lottery learns from thousands of
rows what the sample could not say."""

LEAST_DROPPED = 0.01
"""The least share of tuples that an operator is taken to drop: a slice of nothing would never be tried again."""

SLICE_POWER = 12.0
"""Slices are to this power: of two operators that drop 50 and 45 % the better one comes first three times in four,
and of such as drop 50 and 40 % nearly always."""

SMALLEST_SLICE = 1e-200
"""A slice is never nothing, however dear its operator."""

ROWS_REMEMBERED = 2_000
"""Rows that a slice remembers: known to a hundredth, and forgotten within a few rounds."""


def or_sets(outcomes: Floats, costs: Floats, route: HopNumbers, legality: Legality, tolerance: float) -> Sets:
    """Divide a route into sets of uncertain order.

    Most sets have one operator. `outcomes` are those of the rows that take the route, `tolerance` is a share of what it
    costs; an exchange that is dearer by no more than chance explains is uncertain as well. Where hardly any tuple comes
    nothing is drawn.
    """
    swapped = [(*route[:i], route[i + 1], route[i], *route[i + 2 :]) for i in range(len(route) - 1)]
    seconds = price_orders(outcomes, costs, np.array([route, *swapped]))
    dearer = seconds[1:] - seconds[0]
    chance = SURE_OF_ORDER * dearer.std(axis=1) / np.sqrt(len(outcomes))
    allowed = np.maximum(tolerance * seconds[0].mean(), chance)
    early = count_early(outcomes, route)
    sets: list[list[int]] = [[route[0]]]
    for place, is_near in enumerate((dearer.mean(axis=1) <= allowed).tolist()):
        operator, begun = route[place + 1], place + 1 - len(sets[-1])
        free = {operator, *sets[-1]} <= set(legality.find_ready(route[:begun]))
        if free and len(sets[-1]) < LARGEST_OR_SET and is_near and place + 1 < early:
            sets[-1].append(operator)
        else:
            sets.append([operator])
    return tuple(map(tuple, sets))


def count_early(outcomes: Floats, route: HopNumbers) -> int:
    """Count the places of a route that a noticeable share of its tuples comes to."""
    left = outcomes[:, list(route)].cumprod(axis=1).mean(axis=0)
    return 1 + int((left[:-1] >= SMALLEST_REACH).cumprod().sum())


class Wheel:
    """The or-sets of a route, and its operators' outcomes.

    Outcomes are of rows that came to them on this route.
    """

    def __init__(self, sets: Sets, costs: Floats, rates: Floats) -> None:
        self.sets = sets
        # Lists: a few numbers are looked up one by one, in every round.
        self._costs = costs.tolist()
        self._seen = [1.0] * len(costs)
        self._out = rates.tolist()
        # Where nothing is drawn there is nothing to count.
        self._drawn = [operator for one in sets if len(one) > 1 for operator in one]

    @property
    def is_certain(self) -> bool:
        """Whether there is nothing to draw."""
        return not self._drawn

    def draw(self, chance: np.random.Generator) -> HopNumbers:
        """Draw a route.

        Of each set it takes one operator after the other, by the slices of those that are left. Who is drawn next is
        who waits shortest, if each waits for a random time, the shorter the larger its slice.
        """
        waits = chance.standard_exponential(len(self._drawn)).tolist()
        wait = {operator: one / part for operator, one, part in zip(self._drawn, waits, self._slices(), strict=True)}
        return tuple(
            operator for one in self.sets for operator in (one if len(one) == 1 else sorted(one, key=wait.__getitem__))
        )

    def guess(self) -> HopNumbers:
        """Take of each set the largest slices first: the order that is most likely drawn."""
        slices = dict(zip(self._drawn, self._slices(), strict=True))
        return tuple(
            operator
            for one in self.sets
            for operator in (one if len(one) == 1 else sorted(one, key=slices.__getitem__, reverse=True))
        )

    def count(self, operator: int, rows: int, out: float) -> None:
        """Count what an operator made of rows on this way."""
        if operator not in self._drawn:
            return
        kept = min(1.0, ROWS_REMEMBERED / (self._seen[operator] + rows))
        self._seen[operator] = (self._seen[operator] + rows) * kept
        self._out[operator] = (self._out[operator] + out) * kept

    def _slices(self) -> list[float]:
        worth = [max(1 - self._out[op] / self._seen[op], LEAST_DROPPED) / self._costs[op] for op in self._drawn]
        most = max(worth)
        return [max((one / most) ** SLICE_POWER, SMALLEST_SLICE) for one in worth]

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [list(map(list, self.sets)), list(self._costs), list(self._seen), list(self._out)]

    @staticmethod
    def restore(state: Sequence[Any]) -> Wheel:
        """From a snapshot."""
        sets, costs, seen, out = state
        wheel = Wheel(tuple(map(tuple, sets)), np.array(costs), np.array(out))
        wheel._seen = list(seen)
        return wheel
