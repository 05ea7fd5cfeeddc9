"""What the rows of an idle stream show on their way, which nobody observes.

The statistics that all policies share are there anyway, and how they have changed from one look to the next says what
operators made of the rows in between: older rows fade by the number of those that came in, and of each operator that
is what the one before let pass. So a change shows at the next look, and costs some additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eddy.contracts import Statistic, Statistics, fading
from eddy.observe.statistics import HALF_LIFE
from eddy.policies.shared.standing_order import RecentRates
from eddy.tuples import Hop

FEWEST = 1.0
"""Rows below which nothing is read out of a difference: it may be rounding."""


class IdleRows:
    """The rows of an idle stream from one look to the next.

    >>> statistics, rows, hop = Statistics(), IdleRows(), Hop("f")
    >>> statistics.add(hop, Statistic(20_000, 20_000, 18_000)); rows.begin((hop,), statistics)
    >>> statistics.add(hop, Statistic(500, 500, 50)); rows.look((hop,), statistics, 500)
    >>> round(statistics[hop].rate, 2), round(rows.see(statistics)[hop].rate, 2)
    (0.88, 0.1)
    """

    def __init__(self) -> None:
        self._seen: dict[Hop, tuple[float, float]] = {}
        self._recent = RecentRates()
        self.is_begun = False

    def begin(self, route: Sequence[Hop], statistics: Statistics) -> None:
        """Begin before the first rows that go along the route."""
        self.is_begun = True
        self._keep(route, statistics)

    def forget(self) -> None:
        """Forget everything: rows went other ways."""
        self._seen, self._recent, self.is_begun = {}, RecentRates(), False

    def _keep(self, route: Sequence[Hop], statistics: Statistics) -> None:
        self._seen = {hop: (statistics[hop].rows_in, statistics[hop].rows_out) for hop in route}

    def look(self, route: Sequence[Hop], statistics: Statistics, rows: float) -> None:
        """Look at the rows since the last look, all of which went along the route."""
        came = rows
        for hop in route:
            rows_in, rows_out = self._seen.get(hop, (0.0, 0.0))
            kept = fading(came, HALF_LIFE)
            new_in, new_out = statistics[hop].rows_in - kept * rows_in, statistics[hop].rows_out - kept * rows_out
            if new_in < FEWEST or came < FEWEST:
                break
            rate = max(new_out / new_in, 0.0)
            if not hop.pattern:
                self._recent.count(hop, new_in, min(rate, 1.0) * new_in)
            came *= rate
        self._keep(route, statistics)

    def see(self, statistics: Statistics) -> Statistics:
        """See what operators do by now: what all rows say, or the last ones where they surely say something else."""
        return FreshStatistics(statistics, self._recent) if self._recent.is_known else statistics

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [[[*hop, *counts] for hop, counts in self._seen.items()], self._recent.snapshot(), self.is_begun]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self._seen = {Hop(operator, pattern): (rows, out) for operator, pattern, rows, out in state[0]}
        self._recent.restore(state[1])
        self.is_begun = state[2]


class FreshStatistics(Statistics):
    """The statistics of all rows, and of the last ones where a filter has changed."""

    def __init__(self, statistics: Statistics, recent: RecentRates) -> None:
        self._statistics, self._fresh = statistics, recent

    def __getitem__(self, hop: Hop) -> Statistic:
        return self._fresh.find(hop, self._statistics[hop])
