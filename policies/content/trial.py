"""A trial of a new classifier beside the old way.

Where all that is left to do may be done in any order, rows of the same round go both ways. Where an operator has
to wait for another, nobody knows which later tuples came from which of the rows; there whole rounds take turns.
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

TURNS_TO_DECIDE = 3
"""Rounds of each way that decide, where whole ones take turns: a single one may be unlike the others."""

CONTROL_SHARE = 0.3
"""The share of rows that do without the new classifier, where both ways are taken at once: then one round of a
thousand decides."""

SURE_OF_LOSS = 2.0
"""Standard errors by which the new way must be worse to be given up."""


class OnTrial(NamedTuple):
    """The way that a leg goes, new or old."""

    new: bool


class HalfTrial:
    """Costs per row with a new classifier, and without it.

    The classifier is of one operator and for the rows of one stream.
    """

    def __init__(self, origin: str, hop: Hop) -> None:
        self.origin, self.hop = origin, hop
        self._rows = np.zeros(2)
        self._cost = np.zeros(2)
        self._turns = np.zeros(2)
        self._turn: bool | None = None

    def place(self, ready: Sequence[Hop]) -> int | None:
        """The place of the operator on trial among some hops."""
        return ready.index(self.hop) if self.hop in ready else None

    def split(self, rows: Integers, chance: np.random.Generator) -> tuple[Integers, Integers]:
        """The rows that go the old way, and those that go the new one."""
        old = chance.random(len(rows)) < CONTROL_SHARE
        parts = rows[old], rows[~old]
        self._rows += [len(part) for part in parts]
        return parts

    def mark(self, legs: Sequence[Leg], *, new: bool) -> list[Leg]:
        """Mark legs as going the new way, or the old one.

        What they cost is counted by that.
        """
        return [replace(leg, tag=OnTrial(new)) for leg in legs]

    def turn(self, arriving: int, chance: np.random.Generator) -> bool:
        """Draw whether a whole round goes the new way.

        It is drawn when the first rows arrive.
        """
        if self._turn is None:
            self._turn = bool(chance.random() < 1 / 2)
            self._turns[int(self._turn)] += 1
        self._rows[int(self._turn)] += arriving
        return self._turn

    def pay(self, legs: Sequence[Leg], rows: Sequence[int], price: float) -> None:
        """Count the cost of a step, at a price for each row."""
        if self._turn is not None:
            self._cost[int(self._turn)] += sum(rows) * price
            return
        for leg, count in zip(legs, rows, strict=True):
            if isinstance(leg.tag, OnTrial):
                self._cost[int(leg.tag.new)] += count * price

    def rest(self) -> None:
        """The round is over."""
        self._turn = None

    @property
    def is_over(self) -> bool:
        """Whether both ways have been taken often enough."""
        return bool(
            self._rows.min() >= ROWS_TO_DECIDE and (not self._turns.any() or self._turns.min() >= TURNS_TO_DECIDE)
        )

    @property
    def is_lost(self) -> bool:
        """Whether the new way is worse, by more than chance explains.

        A row costs about as much as it varies: calls and seconds are both counts of something that mostly happens
        once or a few times.
        """
        old, new = self._cost / self._rows
        return bool(new - old > SURE_OF_LOSS * old * np.sqrt((1 / self._rows).sum()))

    def snapshot(self) -> list[Any]:
        """The operator on trial; rows, costs and turns."""
        return [self.origin, *self.hop, self._rows.tolist(), self._cost.tolist(), self._turns.tolist()]

    @staticmethod
    def restore(state: Sequence[Any]) -> HalfTrial:
        """From a snapshot."""
        origin, operator, pattern, *counts = state
        trial = HalfTrial(origin, Hop(operator, pattern))
        trial._rows, trial._cost, trial._turns = (np.array(part, np.float64) for part in counts)
        return trial
