"""Does a mesh still cost what it promised when it was decided.

Section 5.3 of the Query Mesh paper leaves the adaptation to another one; here every way is watched by what its rows
cost. Costs are counted with the prices of operators at the decision, so that what is noticed are other selectivities
and other classes, and not how busy the machine is. They are compared with the promise and not with the last
micro-batch: a drift that is slow is noticed as well. What a cost does not show is in `passing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from policies.orders import Floats

ENOUGH = 200
"""Rows of a way before anything is said about it."""

SLACK = 0.1
"""Of the promise: what a mesh loses by less than that, it hardly gains back by a new sample."""

SURE = 4.0
"""Standard errors beyond which a difference is not chance: once in some ten thousand looks."""


class Watch:
    """What a row costs on each way, lately, beside what was promised.

    `spread` is the standard deviation of what a row costs, `sampled` the rows that each promise is from; a row's weight
    halves every `window` rows.
    """

    def __init__(self, promised: Floats, spread: Floats, sampled: Floats, window: int) -> None:
        self.promised, self._spread, self._sampled = promised, spread, sampled
        self._window = window
        self._rows = np.zeros(len(promised))
        self._cost = np.zeros(len(promised))
        self._all_rows = np.zeros(len(promised))
        self._all_cost = np.zeros(len(promised))

    def count(self, rows: Floats, cost: Floats) -> None:
        """Count a micro-batch: how many rows set out on each way, and what they cost."""
        kept = 0.5 ** (rows / self._window)
        self._rows, self._cost = self._rows * kept + rows, self._cost * kept + cost
        self._all_rows, self._all_cost = self._all_rows + rows, self._all_cost + cost

    @property
    def spent(self) -> float:
        """What all rows have cost since the decision."""
        return float(self._all_cost.sum())

    @property
    def missed(self) -> float:
        """By how much all rows have missed the promise since the decision, to either side."""
        return float(np.abs(self._all_cost - self._all_rows * self.promised).sum())

    @property
    def observed(self) -> Sequence[float]:
        """What a row costs on each way; NaN where none went."""
        known = np.where(self._rows > 0, self._rows, np.nan)
        return [float(cost) for cost in self._cost / known]

    def broken(self) -> int | None:
        """The way that breaks its promise most; None where all is as promised."""
        rows = np.maximum(self._rows, 1.0)
        off = np.abs(self._cost / rows - self.promised)
        chance = SURE * self._spread * np.sqrt(1 / rows + 1 / np.maximum(self._sampled, 1.0))
        beyond = np.where(self._rows >= ENOUGH, off - np.maximum(SLACK * self.promised, chance), 0.0)
        worst = int(beyond.argmax())
        return worst if beyond[worst] > 0 else None

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        parts = (self.promised, self._spread, self._sampled, *self._counts())
        return {"window": self._window, "parts": [part.tolist() for part in parts]}

    @staticmethod
    def restored(state: Mapping[str, Any]) -> Watch:
        """From a snapshot."""
        promised, spread, sampled, *counts = map(np.array, state["parts"])
        watch = Watch(promised, spread, sampled, state["window"])
        watch._rows, watch._cost, watch._all_rows, watch._all_cost = counts
        return watch

    def _counts(self) -> tuple[Floats, ...]:
        return (self._rows, self._cost, self._all_rows, self._all_cost)
