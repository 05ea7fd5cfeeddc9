"""Statistics of steps, and their decayed sums.

Statistics add up: the statistic of two batches is the sum of theirs, and a decayed one is a sum in which older
rows weigh less. They are plain numbers, so they survive a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import add
from typing import Any, NamedTuple, TypeVar

from eddy.tuples import Hop
from eddy.tuples.arrays import Floats

HALF_LIFE = 10_000
"""Rows after which an operator's older rows count half: enough that a rate is known to about a hundredth, few enough
that a change of the stream shows after as many rows."""

N = TypeVar("N", float, Floats)


def fading(rows: N, half_life: int) -> N:
    """Give the weight that older rows keep.

    It falls with the number of rows that have come since.

    >>> fading(500.0, 500), fading(0.0, 500)
    (0.5, 1.0)
    """
    kept: N = 0.5 ** (rows / half_life)
    return kept


class Statistic(NamedTuple):
    """The rows and seconds of an operator's calls.

    `evaluated` are the rows that it looked at itself. Of these its function was not asked about `skipped` ones, because
    of a null, nor about `reused` ones, whose values it had answered before.

    >>> Statistic(10, 10, 4, 0.5) + Statistic(10, 0, 2, 0.25)
    Statistic(rows_in=20, evaluated=10, rows_out=6, seconds=0.75, skipped=0, reused=0)
    """

    rows_in: float = 0
    evaluated: float = 0
    rows_out: float = 0
    seconds: float = 0.0
    skipped: int = 0
    reused: int = 0

    def __add__(self, other: tuple[Any, ...], /) -> Statistic:
        return Statistic(*map(add, self, other))

    @property
    def rate(self) -> float:
        """Outputs per input; 1 while nothing is known."""
        return self.rows_out / self.rows_in if self.rows_in else 1.0

    @property
    def cost(self) -> float:
        """Seconds per input; 0 while nothing is known."""
        return self.seconds / self.rows_in if self.rows_in else 0.0

    @property
    def asked(self) -> float:
        """Rows that a function was asked about."""
        return self.evaluated - self.skipped - self.reused


NOTHING = Statistic()


class Statistics:
    """The decayed statistic of every hop."""

    def __init__(self) -> None:
        self._recent: dict[Hop, Statistic] = {}

    def __getitem__(self, hop: Hop) -> Statistic:
        return self._recent.get(hop, NOTHING)

    def add(self, hop: Hop, statistic: Statistic) -> None:
        """Count a step.

        What was known before it fades with the rows that came in.
        """
        rows, evaluated, out, seconds, _, _ = self._recent.get(hop, NOTHING)
        new_rows, new_evaluated, new_out, new_seconds, _, _ = statistic
        weight = fading(new_rows, HALF_LIFE)
        self._recent[hop] = Statistic(
            rows * weight + new_rows,
            evaluated * weight + new_evaluated,
            out * weight + new_out,
            seconds * weight + new_seconds,
        )

    def snapshot(self) -> list[list[Any]]:
        """Plain values, one row for each hop."""
        return [
            [hop.operator, hop.pattern, s.rows_in, s.evaluated, s.rows_out, s.seconds]
            for hop, s in self._recent.items()
        ]

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self._recent = {Hop(row[0], row[1]): Statistic(*row[2:]) for row in rows}


def total(parts: Mapping[Any, Statistic]) -> Statistic:
    """Give the sum of statistics."""
    return sum(parts.values(), NOTHING)
