"""Drift: a stream changes at once, bit by bit, recurring or by chance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.errors import check_choice, check_whole
from eddy.jobs.workloads.parameters import call
from eddy.tuples.arrays import Floats, Integers

PIECES = 25
"""Pieces into which a gradual change is cut for who is told of it: in each the share changes by a twenty-fifth."""


class Drift(ABC):
    """A schedule of selectivities."""

    @abstractmethod
    def mix(self, before: Floats, after: Floats, classes: Integers, positions: Integers) -> Floats:
        """Give each operator's selectivities for some tuples, as they are at their numbers."""

    @abstractmethod
    def points(self, rows: int) -> tuple[int, ...]:
        """Give the numbers of the tuples at which a change begins."""

    def steps(self, rows: int) -> tuple[int, ...]:
        """Give the numbers of the tuples between which the share hardly changes."""
        return self.points(rows)


class Weighted(Drift):
    """A schedule from one table of selectivities to another."""

    @abstractmethod
    def weights(self, positions: Integers) -> Floats:
        """The share of the second table, from 0 to 1, by tuple number."""

    def mix(self, before: Floats, after: Floats, classes: Integers, positions: Integers) -> Floats:
        """Mix the tables by their weights."""
        weights = self.weights(positions)[:, None]
        return before[classes] * (1 - weights) + after[classes] * weights


@dataclass(frozen=True)
class Sudden(Weighted):
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


@dataclass(frozen=True)
class Gradual(Weighted):
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
class Recurring(Weighted):
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


@dataclass(frozen=True)
class Permuted(Drift):
    """Operators change their selectivities among each other.

    After each period they are dealt out anew; the first one has the table as it is.

    >>> Permuted(period=2, operators=3, seed=0).points(6)
    (2, 4)
    """

    period: int
    operators: int
    seed: int

    def mix(self, before: Floats, _after: Floats, classes: Integers, positions: Integers) -> Floats:
        """Deal the columns of the table out."""
        periods = positions // self.period
        dealt: Floats = before[classes[:, None], self._orders(int(periods.max(initial=0)) + 1)[periods]]
        return dealt

    def _orders(self, periods: int) -> Integers:
        """Say which column each operator has in each period.

        In no two periods in a row they are the same.
        """
        rng, orders = np.random.default_rng([self.seed, 4]), [np.arange(self.operators)]
        while len(orders) < periods:
            order = rng.permutation(self.operators)
            if self.operators == 1 or (order != orders[-1]).any():
                orders.append(order)
        return np.array(orders)

    def points(self, rows: int) -> tuple[int, ...]:
        """Give the beginnings of all periods but the first."""
        return tuple(range(self.period, rows, self.period))


def sudden(_operators: int, _seed: int, *, at: int) -> Drift:
    """Everything changes at one tuple."""
    return Sudden(check_whole(at, "at", 0, where="drift sudden"))


def gradual(_operators: int, _seed: int, *, start: int, end: int) -> Drift:
    """The change begins at one tuple and is complete at another."""
    first = check_whole(start, "start", 0, where="drift gradual")
    return Gradual(first, check_whole(end, "end", first + 1, where="drift gradual"))


def recurring(_operators: int, _seed: int, *, period: int) -> Drift:
    """The two tables take turns."""
    return Recurring(check_whole(period, "period", 1, where="drift recurring"))


def permuted(operators: int, seed: int, *, period: int) -> Drift:
    """The operators' selectivities are permuted by chance."""
    return Permuted(check_whole(period, "period", 1, where="drift permuted"), operators, seed)


PERMUTED = "permuted"
"""The schedule that needs no second table."""

DRIFTS: dict[str, Callable[..., Drift]] = {
    "sudden": sudden,
    "gradual": gradual,
    "recurring": recurring,
    PERMUTED: permuted,
}
"""The schedules there are."""


def drift(choice: Mapping[str, Any], operators: int, seed: int) -> Drift:
    """Make a schedule by its kind and parameters.

    They are such as {"kind": "sudden", "at": 50_000}.
    """
    parameters = dict(choice)
    kind = parameters.pop("kind", None)
    check_choice(kind, DRIFTS, "kind", where="drift")
    more = ("kind",) if kind == PERMUTED else ("kind", "selectivities")
    return call(DRIFTS[kind], parameters, operators, seed, where=f"drift {kind}", more=more)
