"""What a cache is worth: what the probes that it stands in for would take, against what it takes.

It follows section 5.5.1 of Babu's thesis. What probes take is known from the one price list, and from how many tuples
come out of each: a share of the rows always goes without caches. What a cache takes is what was seen in the last rounds
in which it was used, look-ups and misses. What it takes to keep it up is counted once for all who ask it, in `sharing`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from eddy.contracts import Hop, Prices, Statistics
from eddy.observe.prices import Fit
from eddy.policies.shared.merit import Costs

ROUNDS = 10
"""Rounds that are remembered: W of the thesis."""

LATEST = 3
"""Rounds by which a cache is judged: it is filled in the first, and they say little about the others."""

STILL_FALLING = 0.9
"""Times what the round before took below which a cache is still being filled."""


COMBINATION = 1e-7
"""Seconds that it takes to hold a combination against a row, rather too many than too few: some 50 nanoseconds."""

REMEMBERED = 256
"""Rounds for which it is remembered what look-ups took, once there are none: a machine may have been busy."""


class Takings:
    """What a cache has taken in the last rounds in which it was used by a stream."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._now = [0.0, 0.0]
        self._rounds: deque[list[float]] = deque(maxlen=ROUNDS)
        self.seen = 0
        # Whether the last round was one in which it was used.
        self.is_fresh = False

    def add(self, rows: float, seconds: float) -> None:
        """Count a step."""
        self._now = [self._now[0] + rows, self._now[1] + seconds]

    def end_round(self) -> None:
        """End a round."""
        self.is_fresh = bool(self._now[0])
        if self.is_fresh:
            self.seen += 1
            self._rounds.append(self._now)
            self._now = [0.0, 0.0]

    def begin(self) -> None:
        """Forget everything: the cache is used anew."""
        self._rounds.clear()
        self.seen = 0

    @property
    def rows(self) -> float:
        """The tuples of a round."""
        return sum(rows for rows, _ in self._rounds) / max(len(self._rounds), 1)

    @property
    def all_rows(self) -> float:
        """The tuples of all rounds that are remembered."""
        return sum(rows for rows, _ in self._rounds)

    @property
    def price(self) -> float:
        """What a tuple takes in the latest rounds."""
        return self._price(list(self._rounds)[-LATEST:])

    @property
    def price_of_all(self) -> float:
        """What a tuple takes in all rounds that are remembered."""
        return self._price(list(self._rounds))

    @property
    def is_falling(self) -> bool:
        """Whether the last round took much less than the one before: more and more keys are held."""
        if len(self._rounds) < 2:
            return False
        last, before = (self._price([one]) for one in (self._rounds[-1], self._rounds[-2]))
        return last < STILL_FALLING * before

    def _price(self, rounds: Sequence[Sequence[float]]) -> float:
        rows, seconds = (sum(one[0] for one in rounds), sum(one[1] for one in rounds))
        return 1.0 if self._costs == "unit" else seconds / max(rows, 1.0)

    def snapshot(self) -> list[Any]:
        """The rounds, as plain values."""
        return [self.seen, self._now, [list(one) for one in self._rounds]]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self.seen, self._now, rounds = state[0], list(state[1]), state[2]
        self._rounds = deque([list(one) for one in rounds], maxlen=ROUNDS)


class LookUps:
    """What a step of look-ups takes, by those of all caches that were tried: two caches differ in what they find.

    >>> known = LookUps()
    >>> known.price(1_000)
    0.0
    >>> for rows in (1_000, 2_000) * 4:
    ...     known.add(rows, 0, 1e-3 + 1e-6 * rows)
    >>> round(known.price(1_000), 3)  # 0.002, and a little belief in the usual step
    0.002
    """

    def __init__(self) -> None:
        self._fit, self._idle = Fit(), 0

    def add(self, rows: float, found: float, seconds: float) -> None:
        """Count a step, without what it takes to hold so many combinations against its rows."""
        self._fit.add(rows, rows, seconds - COMBINATION * found)
        self._idle = 0

    def end_round(self) -> None:
        """End a round; what is old is forgotten."""
        self._idle += 1
        if self._idle > REMEMBERED:
            self._fit, self._idle = Fit(), 0

    def price(self, rows: float) -> float:
        """What so many rows are expected to take; 0 while nothing is known."""
        price = self._fit.price
        return price.step + price.unit * rows

    def snapshot(self) -> list[float]:
        """Plain values."""
        return [self._idle, *self._fit.snapshot()]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a snapshot."""
        self._idle, self._fit = int(state[0]), Fit.restore(state[1:])


def price_filters(
    hops: Sequence[Hop], probes: Collection[str], prices: Prices, statistics: Statistics, costs: Costs
) -> float:
    """Price the filters among some probes for a tuple, where they come behind all of these."""
    price, tuples = 0.0, 1.0
    for hop in hops:
        tuples *= statistics[hop].rate if hop.operator in probes else 1.0
    for hop in hops:
        if hop.operator not in probes:
            price += tuples * (1.0 if costs == "unit" else prices[hop].row)
            tuples *= statistics[hop].rate
    return price


def price_probes(hops: Sequence[Hop], rows: float, prices: Prices, statistics: Statistics, costs: Costs) -> float:
    """Price a tuple that takes some probes one after the other, where so many go together.

    A probe of which nothing is known makes it impossible to say, and the price is nothing.
    """
    price, tuples = 0.0, 1.0
    for hop in hops:
        if not statistics[hop].rows_in:
            return 0.0 if tuples else price
        price += tuples if costs == "unit" else tuples * prices[hop].row + prices[hop].step / max(rows, 1.0)
        tuples *= statistics[hop].rate
    return price
