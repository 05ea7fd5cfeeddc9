"""What filters did of late, where that is surely not what they did before.

The statistics that all policies share remember ten thousand rows and more, so that a rate is known to a hundredth; a
change shows after as many. Here the last thousand rows count, and they are believed where chance does not explain what
they say. What probes find is too uneven for that, and is left to the statistics.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from eddy.contracts import Observation, Statistic
from eddy.tuples import Hop

HALF_LIFE = 1_000
"""Rows after which an older one counts half."""

FEWEST = 100
"""Rows before anything is said."""

SURE = 4.0
"""Standard errors by which rates must differ: filters are looked at by the dozen, for as long as a stream lasts."""

LEAST = 0.05
"""The least difference of two rates that may be worth another order at once."""


class RecentRates:
    """Rows of late that came to each filter, and that passed.

    >>> recent, hop = RecentRates(), Hop("f")
    >>> recent.count(hop, 400, 40.0)
    >>> recent.find(hop, Statistic(9_000, 9_000, 990.0)).rate, recent.find(hop, Statistic(9_000, 9_000, 8_100.0)).rate
    (0.11, 0.1)
    """

    def __init__(self) -> None:
        self._counts: dict[Hop, tuple[float, float]] = {}

    def observe(self, observation: Observation) -> None:
        """Count a step, or a sample that somebody else has drawn."""
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            if not hop.pattern:
                self.count(hop, statistic.rows_in, statistic.rows_out)

    def count(self, hop: Hop, rows: float, passed: float) -> None:
        """Count rows that came to a filter; older ones are forgotten when it surely did something else with them."""
        known = self._counts.get(hop)
        if known is not None and not (rows >= FEWEST and self.differs(hop, passed / rows, rows)):
            kept = 0.5 ** (rows / HALF_LIFE)
            rows, passed = known[0] * kept + rows, known[1] * kept + passed
        self._counts[hop] = rows, passed

    def find(self, hop: Hop, statistic: Statistic) -> Statistic:
        """Find what to go by: all that is known of a filter, or what it did of late."""
        if not self.differs(hop, statistic.rate):
            return statistic
        rows, passed = self._counts[hop]
        return Statistic(rows, rows, passed)

    def differs(self, hop: Hop, rate: float, of: float = math.inf) -> bool:
        """Tell whether a filter did surely something else of late than pass that share of its rows, or `of` so many."""
        rows, passed = self._counts.get(hop, (0.0, 0.0))
        if rows < FEWEST:
            return False
        recent = passed / rows
        if abs(recent - rate) <= LEAST:
            return False
        spread = max(rate * (1 - rate), recent * (1 - recent), 1 / rows)
        error = math.sqrt(spread * (1 / rows + 1 / of))
        return abs(recent - rate) > SURE * error

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return bool(self._counts)

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [[*hop, *counts] for hop, counts in self._counts.items()]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self._counts = {Hop(operator, pattern): (rows, out) for operator, pattern, rows, out in state}
