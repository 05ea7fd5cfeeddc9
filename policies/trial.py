"""Does it pay: a new way beside the old one, on the same rows at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np

ENOUGH = 300
"""Rows of the smaller group that decide: a difference of a tenth of a call shows."""

SURE = 2.0
"""Standard errors by which the new way must be worse to be given up."""


class Trial:
    """Costs per row with something new and without it."""

    def __init__(self) -> None:
        self._rows = np.zeros(2)
        self._cost = np.zeros(2)

    def start(self, new: bool, rows: int) -> None:
        """Some rows set out, the new way or the old one."""
        self._rows[int(new)] += rows

    def pay(self, new: bool, cost: float) -> None:
        """What a step of theirs cost."""
        self._cost[int(new)] += cost

    @property
    def is_over(self) -> bool:
        """Have both ways been taken often enough."""
        return bool(self._rows.min() >= ENOUGH)

    @property
    def is_lost(self) -> bool:
        """Is the new way worse, by more than chance explains.

        A row costs about as much as it varies: calls and seconds are both counts of something that mostly happens
        once or a few times.
        """
        old, new = self._cost / self._rows
        return bool(new - old > SURE * old * np.sqrt((1 / self._rows).sum()))

    def snapshot(self) -> list[list[float]]:
        """Rows and costs."""
        return [self._rows.tolist(), self._cost.tolist()]

    def restore(self, state: Any) -> None:
        """Go on from a snapshot."""
        self._rows, self._cost = (np.array(part, np.float64) for part in state)
