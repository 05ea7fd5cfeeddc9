"""Rounds: a large micro-batch is stored as a whole, and routed part by part.

The policy learns after each, so that what the first thousand rows show is of use to the other ninety-nine thousand. A
probe meets only rows that came before its own, whether they have been routed or not, so rounds change no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from eddy.contracts import Chance, Policy
from eddy.observe.prices import ALONE, Prices
from eddy.routing.router import Router
from eddy.tuples import Tuples
from eddy.tuples.arrays import Integers

NEW_ROUND = 200
"""Rows of the first round while nothing is known: they go any way, and that many tell what rows cost."""

FIRST_ROUND = 1_000
"""Rows of the first round: a policy's first sample, and little lost where the order is bad."""

LARGEST_ROUND = 16_000
"""Rows of the largest: larger ones save no calls that matter, and a change would go unseen for as long."""

CALLS_SHARE = 0.01
"""The share of a round's time that may go into calls as such: where rows are cheap, rounds are larger."""


class StoredTuples(NamedTuple):
    """Rows of a stream that have been stored, and their numbers in the order of arrival."""

    tuples: Tuples
    numbers: Integers


class Rounds:
    """Routes micro-batches, round by round.

    Where a policy does not go `by_clock`, its rounds do not either: the same rows take the same routes.
    """

    def __init__(self, router: Router, policy: Policy, prices: Prices, *, by_clock: bool = True) -> None:
        self._router = router
        self._policy = policy
        self._prices = prices
        self._by_clock = by_clock
        # Rows and rounds of the micro-batch so far, and the rows that a round must have for its calls to cost little.
        self._rows, self._rounds = 0, 0
        self.least = 0

    def route(self, arrived: Sequence[StoredTuples], chance: Chance) -> Iterator[Tuples]:
        """Bring all rows to their end; yields the tuples that complete."""
        self._router.begin()
        self._rows, self._rounds = 0, 0
        rows = sum(len(part.numbers) for part in arrived)
        size = NEW_ROUND if self._policy.is_new else FIRST_ROUND
        if self._choose_size(size, rows) == rows:
            yield from self._route([part.tuples for part in arrived], rows, chance)
            return
        numbers = _merge([part.numbers for part in arrived if len(part.numbers)])
        begun = 0
        while begun < rows:
            end = begun + self._choose_size(size, rows - begun)
            yield from self._route(cut(arrived, numbers, begun, end), end - begun, chance)
            begun, size = end, min(2 * size, LARGEST_ROUND)
        if self._by_clock:
            self.least = self._count_least()

    def _route(self, parts: Sequence[Tuples], rows: int, chance: Chance) -> Iterator[Tuples]:
        """Route the rows of a round; then the policy learns."""
        yield from self._router.route(parts, chance)
        self._router.learn()
        self._rows, self._rounds = self._rows + rows, self._rounds + 1

    def _choose_size(self, size: int, left: int) -> int:
        """Choose the rows of the next round; a policy that has nothing to learn just now gets all that are left."""
        if left <= size or self._policy.is_calm:
            return left
        if self._rounds and self._by_clock:
            self.least = self._count_least()
        return min(left, size if self._policy.is_urgent else max(size, self.least))

    def _count_least(self) -> int:
        """Count the rows that a round must have, so that its calls take no more than their share of the time."""
        own = self._prices[ALONE]
        calls, work = 0.0, 0.0
        for hop, steps in self._router.routing.steps.items():
            price, taken = self._prices[hop], self._router.routing.operators[hop]
            calls += steps * (price.step + own.step)
            work += (price.row + own.row) * taken.rows_in
        if not work:
            return 0
        return int((1 - CALLS_SHARE) / CALLS_SHARE * calls / self._rounds * self._rows / work)


def _merge(numbers: Sequence[Integers]) -> Integers:
    """Merge the numbers of several streams; those of each are in order."""
    return numbers[0] if len(numbers) == 1 else np.sort(np.concatenate(numbers))


def cut(arrived: Sequence[StoredTuples], numbers: Integers, begun: int, end: int) -> list[Tuples]:
    """Cut the rows out that arrived from one place to another, of all streams.

    `numbers` are those of all streams' rows, in order:

        a        0  3  4        numbers   0 1 2 3 4        from place 1 up to 4   ->   a  3
        b        1  2                                                                  b  1 2
    """
    low = numbers[begun]
    parts = []
    for part in arrived:
        first = int(np.searchsorted(part.numbers, low))
        last = int(np.searchsorted(part.numbers, numbers[end])) if end < len(numbers) else len(part.numbers)
        parts.append(part.tuples.first(last).rest(first))
    return parts
