"""A trial of new classifiers beside the old way.

Rows of the same round go both ways. Routes are planned as a whole, so each step knows which way its rows go.
Everything counts that a way costs: rows by the price of a row, steps by the price of a step, thinking by the clock of
its thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eddy.contracts import Leg
from eddy.tuples import Hop
from eddy.tuples.arrays import Integers

ROWS_TO_DECIDE = 300
"""Rows of the smaller group that decide: a difference of a tenth of a call shows."""

MOST_TO_DECIDE = 2_000
"""Rows of the smaller group after which the mean decides, where the new way surely costs something to take."""

CONTROL_SHARE = 0.3
"""The share of rows that do without the new classifiers: then one round of a thousand decides."""

MOST_CONTROL = 600
"""Rows of a round at most that do without them: twice as many as decide, however large the round is."""

SURE_OF_LOSS = 2.0
"""Standard errors by which the new way must be worse to be given up."""


class OnTrial(NamedTuple):
    """The way that a leg goes, new or old."""

    new: bool


class HalfTrial:
    """Costs per row with new classifiers, and without them; lists have the old way first."""

    def __init__(self, hops: Sequence[Hop]) -> None:
        self.hops = tuple(hops)
        self._rows = np.zeros(2)
        self._cost = np.zeros(2)
        self._fixed = np.zeros(2)

    def split(self, rows: Integers, chance: np.random.Generator) -> tuple[Integers, Integers]:
        """The rows that go the old way, and those that go the new one."""
        old = chance.random(len(rows)) < min(CONTROL_SHARE, MOST_CONTROL / max(len(rows), 1))
        parts = rows[old], rows[~old]
        self._rows += [len(part) for part in parts]
        return parts

    def mark(self, legs: Sequence[Leg], *, new: bool) -> list[Leg]:
        """Mark legs as going the new way, or the old one.

        What they cost is counted by that.
        """
        return [replace(leg, tag=OnTrial(new)) for leg in legs]

    def spend(self, seconds: float, *, new: bool) -> None:
        """Count the time that it took to plan a way."""
        self._fixed[int(new)] += seconds

    def pay(self, legs: Sequence[Leg], rows: Sequence[int], price: float, step: float = 0.0) -> None:
        """Count the cost of a step.

        It has a price for each row, and one for the step, which each way would take alone.
        """
        ways = set()
        for leg, count in zip(legs, rows, strict=True):
            if isinstance(leg.tag, OnTrial):
                self._cost[int(leg.tag.new)] += count * price
                ways.add(int(leg.tag.new))
        for way in ways:
            self._fixed[way] += step

    @property
    def is_over(self) -> bool:
        """Whether both ways have been taken often enough."""
        least = self._rows.min()
        if least < ROWS_TO_DECIDE:
            return False
        lost, doubt = self._weigh()
        return bool(not self._fixed.any() or abs(lost) > doubt or least >= MOST_TO_DECIDE)

    @property
    def is_lost(self) -> bool:
        """Whether the new way is worse.

        By more than chance explains, where it costs nothing to take; otherwise it has to be the better one.
        """
        lost, doubt = self._weigh()
        return bool(lost > (0.0 if self._fixed.any() else doubt))

    def _weigh(self) -> tuple[float, float]:
        """What a row loses by the new way, and what chance may make of it."""
        # A row costs about as much as it varies: calls and seconds are both counts of something that mostly happens
        # once or a few times. What a way takes whatever its rows is shared by all rows, as it would be without a trial.
        (old, new), (usual, added) = self._cost / self._rows, self._fixed / self._rows.sum()
        doubt = SURE_OF_LOSS * old * np.sqrt((1 / self._rows).sum())
        return float(new - old + added - usual), float(doubt)

    def snapshot(self) -> list[Any]:
        """The operators on trial; rows, and both kinds of costs."""
        return [[list(hop) for hop in self.hops], self._rows.tolist(), self._cost.tolist(), self._fixed.tolist()]

    @staticmethod
    def restore(state: Sequence[Any]) -> HalfTrial:
        """From a snapshot."""
        hops, *counts = state
        trial = HalfTrial([Hop(*hop) for hop in hops])
        trial._rows, trial._cost, trial._fixed = (np.array(part, np.float64) for part in counts)
        return trial
