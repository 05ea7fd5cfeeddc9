"""Drift: a stream changes at once, bit by bit or recurring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eddy.errors import check_choice, check_whole
from eddy.jobs.workloads.parameters import call
from eddy.tuples.arrays import Floats, Integers

PIECES = 25
"""Pieces into which a gradual change is cut for who is told of it: in each the share changes by a twenty-fifth."""


class Drift(Protocol):
    """A schedule from one table of selectivities to another."""

    def weights(self, positions: Integers) -> Floats:
        """The share of the second table, from 0 to 1, by tuple number."""

    def points(self, rows: int) -> tuple[int, ...]:
        """Give the numbers of the tuples at which a change begins."""

    def steps(self, rows: int) -> tuple[int, ...]:
        """Give the numbers of the tuples between which the share hardly changes."""


@dataclass(frozen=True)
class Sudden:
    """From one tuple to the next.

    >>> Sudden(at=2).weights(np.arange(4))
    array([0., 0., 1., 1.])
    """

    at: int

    def weights(self, positions: Integers) -> Floats:
        """Nothing, then everything."""
        return (positions >= self.at).astype(np.float64)

    def points(self, rows: int) -> tuple[int, ...]:
        """Give the one change."""
        return (self.at,) if self.at < rows else ()

    def steps(self, rows: int) -> tuple[int, ...]:
        """Give the one change."""
        return self.points(rows)


@dataclass(frozen=True)
class Gradual:
    """A little more with every tuple.

    >>> Gradual(start=1, end=3).weights(np.arange(5))
    array([0. , 0. , 0.5, 1. , 1. ])
    """

    start: int
    end: int

    def weights(self, positions: Integers) -> Floats:
        """Give a straight line between the two tuples."""
        return np.clip((positions - self.start) / (self.end - self.start), 0, 1)

    def points(self, rows: int) -> tuple[int, ...]:
        """Give the beginning of the line."""
        return (self.start,) if self.start < rows else ()

    def steps(self, rows: int) -> tuple[int, ...]:
        """Cut the line into short pieces."""
        cuts = np.linspace(self.start, self.end, PIECES + 1).astype(np.int64).tolist()
        return tuple(dict.fromkeys(cut for cut in cuts if cut < rows))


@dataclass(frozen=True)
class Recurring:
    """To and fro.

    >>> Recurring(period=2).weights(np.arange(6))
    array([0., 0., 1., 1., 0., 0.])
    """

    period: int

    def weights(self, positions: Integers) -> Floats:
        """Give every other period."""
        return (positions // self.period % 2).astype(np.float64)

    def points(self, rows: int) -> tuple[int, ...]:
        """Give the beginnings of all periods but the first."""
        return tuple(range(self.period, rows, self.period))

    def steps(self, rows: int) -> tuple[int, ...]:
        """Give the beginnings of all periods but the first."""
        return self.points(rows)


def sudden(*, at: int) -> Drift:
    """Everything changes at one tuple."""
    return Sudden(check_whole(at, "at", 0, where="drift sudden"))


def gradual(*, start: int, end: int) -> Drift:
    """The change begins at one tuple and is complete at another."""
    first = check_whole(start, "start", 0, where="drift gradual")
    return Gradual(first, check_whole(end, "end", first + 1, where="drift gradual"))


def recurring(*, period: int) -> Drift:
    """The two tables take turns."""
    return Recurring(check_whole(period, "period", 1, where="drift recurring"))


DRIFTS: dict[str, Callable[..., Drift]] = {"sudden": sudden, "gradual": gradual, "recurring": recurring}
"""The schedules there are."""


def drift(choice: dict[str, Any]) -> Drift:
    """Make a schedule by its kind and parameters.

    They are such as {"kind": "sudden", "at": 50_000}.
    """
    parameters = dict(choice)
    kind = parameters.pop("kind", None)
    check_choice(kind, DRIFTS, "kind", where="drift")
    return call(DRIFTS[kind], parameters, where=f"drift {kind}", more=("kind", "selectivities"))
