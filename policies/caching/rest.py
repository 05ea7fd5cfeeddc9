"""Rest: rounds in which nobody counts, since no cache would pay.

To be told of each step, to count keys and to price probes takes a few percent of what probes take. Where nothing is
worth a trial all that is for nothing. So the policy looks seldom then, each time half as often, until something is
worth a trial, or the rows are others: they come at other rates, or find more or fewer matches. Caches that are in use,
and have been for some rounds, are looked at in one round of a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eddy.contracts import Hop, Statistics

LONGEST = 64
"""Rounds from one look to the next at most: a look takes about as much as a twentieth of a round."""

LONGEST_IN_USE = 4
"""The same while caches are in use: what no longer pays is to go soon."""

CHANGED = 1.5
"""Times by which rows or matches must differ to be others."""

FEWEST = 100
"""Rows of a round below which it says little about how many come."""

LEAST_RATE = 0.01
"""Matches of a tuple below which it does not matter how few there are."""


class Rest:
    """How many rounds are left, and what rows were like when they began.

    >>> rest, statistics = Rest(), Statistics()
    >>> rest.begin({"t": 1_000, "s": 1_000}, [], statistics, LONGEST)
    >>> rest.end_round({"t": 1_000, "s": 1_000}, statistics), rest.is_on
    (False, False)
    >>> rest.begin({"t": 1_000, "s": 1_000}, [], statistics, LONGEST)
    >>> rest.end_round({"t": 1_000, "s": 1_000}, statistics), rest.is_on
    (False, True)
    >>> rest.end_round({"t": 9_000, "s": 1_000}, statistics), rest.is_on
    (True, False)
    """

    def __init__(self) -> None:
        self._left, self._length = 0, 1
        self._rows: dict[str, float] = {}
        self._rates: dict[Hop, float] = {}

    @property
    def is_on(self) -> bool:
        """Whether nobody counts."""
        return self._left > 0

    def begin(self, rows: Mapping[str, float], hops: Iterable[Hop], statistics: Statistics, longest: int) -> None:
        """Begin, after a round in which so many rows of each stream went by some hops; each time for longer."""
        self._left = min(self._length, longest)
        self._length = min(2 * self._length, longest)
        self._rows = dict(rows)
        self._rates = {hop: statistics[hop].rate for hop in hops}

    def end_round(self, rows: Mapping[str, float], statistics: Statistics) -> bool:
        """End a round of it; it is over with the last one, or once rows are others, and says whether they are."""
        self._left -= 1
        is_over = self._has_changed(rows, statistics)
        if is_over:
            self.forget()
        return is_over

    def forget(self) -> None:
        """Be awake, and begin with a short rest again."""
        self._left, self._length = 0, 1

    def _has_changed(self, rows: Mapping[str, float], statistics: Statistics) -> bool:
        # A micro-batch may have more rows than another: what counts is which share of them each stream has.
        before, now = sum(self._rows.values()), sum(rows.values())
        for origin in rows.keys() | self._rows.keys():
            usual, came = self._rows.get(origin, 0.0) * now, rows.get(origin, 0.0) * before
            if max(usual, came) > FEWEST * max(before, now) and _differ(usual, came):
                return True
        return any(
            _differ(max(rate, LEAST_RATE), max(statistics[hop].rate, LEAST_RATE)) for hop, rate in self._rates.items()
        )

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [self._left, self._length, self._rows, [[*hop, rate] for hop, rate in self._rates.items()]]

    def restore(self, state: list[Any]) -> None:
        """Go on from a snapshot."""
        self._left, self._length, self._rows, rates = state[0], state[1], dict(state[2]), state[3]
        self._rates = {Hop(operator, pattern): rate for operator, pattern, rate in rates}


def _differ(one: float, other: float) -> bool:
    return max(one, other) > CHANGED * min(one, other)
