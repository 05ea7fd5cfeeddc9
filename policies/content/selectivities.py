"""Selectivities that keep steady, and follow a change quickly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.classes.single_values import FIRST_VALUE
from eddy.tuples.arrays import Floats, Integers, Numbers

TUPLES_REMEMBERED = 2_000
"""Tuples that a steady estimate remembers: known to a hundredth, and no older than a few rounds."""

WEIGHT_OF_WHOLE = 5.0
"""A cell is weighed against the whole as if it had seen this many tuples of it: what few tuples say is not believed."""

UNTRIED_RATE = 1.0
"""Outputs per input of which nothing is known: neither good nor bad."""

SURPRISE = 4.0
"""Standard deviations between the quick and the steady estimate that mean a change: once in some ten thousand looks by
chance, and then nothing is lost but some memory."""


NOTHING_REFINED: Mapping[int, Buckets] = {}
"""Where no values are told apart one by one."""


class RunningSelectivities:
    """Running outputs per input, by cell and over all.

    The quick estimate is the paper's (section 4.1): each tuple moves it by `1 - alpha`. Twenty tuples' worth of memory
    follow any change, but leave it wavering by a tenth, and so the orders that hang on it. Therefore a steady estimate
    goes beside it, and is used until the two disagree by more than chance allows; then it begins anew from the quick.
    A row for each operator, a column for each cell; the whole is one more cell, the last. Cells are the buckets of the
    operator's attribute, and behind them the values that are told apart one by one, if there are any.
    """

    def __init__(self, cells: int, alpha: float) -> None:
        self._alpha = alpha
        self._width = cells + 1
        self._quick = np.empty((0, self._width))
        self._seen = np.empty((0, self._width))
        self._out = np.empty((0, self._width))
        self.changes = 0

    def grow(self) -> None:
        """One more operator."""
        self._quick = np.vstack((self._quick, np.full(self._width, np.nan)))
        self._seen = np.vstack((self._seen, np.zeros(self._width)))
        self._out = np.vstack((self._out, np.zeros(self._width)))

    def widen(self, cells: int) -> None:
        """Make room for so many cells."""
        more = cells + 1 - self._width
        if more > 0:
            self._width += more
            places = np.append(np.arange(self._width - more - 1), np.full(more + 1, -1))
            self._quick, self._seen, self._out = (t[:, places] for t in (self._quick, self._seen, self._out))
            self._quick[:, -more - 1 : -1] = np.nan
            self._seen[:, -more - 1 : -1] = self._out[:, -more - 1 : -1] = 0.0

    def start(self, operator: int, seen: Floats, out: Floats) -> None:
        """Begin an operator's cells with what a sample showed.

        Its estimate over all cells goes on.
        """
        self._seen[operator, :-1], self._out[operator, :-1], self._quick[operator, :-1] = 0.0, 0.0, np.nan
        self._seen[operator, : len(seen)], self._out[operator, : len(seen)] = seen, out
        self._quick[operator, : len(seen)] = np.divide(out, seen, out=np.full(len(seen), np.nan), where=seen > 0)

    def places(self, operators: Integers, cells: Numbers | None) -> Integers:
        """The places of outcomes in the tables, for `add`.

        Each belongs to its cell, or to none but the whole.
        """
        return operators * self._width + (self._width - 1 if cells is None else cells)

    def add(self, places: Integers, outcomes: Any) -> list[int]:
        """Count outcomes, each at its place.

        Returns the operators that have changed.
        """
        shape = self._seen.shape
        seen = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        out = np.bincount(places, outcomes, shape[0] * shape[1]).reshape(shape)
        seen[:, -1], out[:, -1] = seen.sum(axis=1), out.sum(axis=1)
        fresh = seen > 0
        mean = out / np.maximum(seen, 1.0)
        kept = self._alpha**seen
        known = np.where(np.isnan(self._quick), mean, self._quick * kept + mean * (1 - kept))
        self._quick = np.where(fresh, known, self._quick)
        fade = np.minimum(1.0, TUPLES_REMEMBERED / np.maximum(self._seen + seen, 1.0))
        self._seen, self._out = (self._seen + seen) * fade, (self._out + out) * fade
        return self._notice(fresh)

    def estimate_whole(self) -> Floats:
        """Estimate outputs per input over all cells.

        It is 1 while nothing is known.
        """
        return (self._out[:, -1] + WEIGHT_OF_WHOLE * UNTRIED_RATE) / (self._seen[:, -1] + WEIGHT_OF_WHOLE)

    def rates(self, buckets: Mapping[int, Buckets] = NOTHING_REFINED) -> Floats:
        """Estimate each cell.

        A bucket that has seen little leans on the estimate over all cells, and a value on its bucket, which has seen
        the value before it was told apart. `buckets` has the bucket of each cell, for operators that values are told
        apart for.
        """
        found: Floats = self._lean(self._out, self._seen, self.estimate_whole()[:, None])[:, :-1]
        for operator, own in buckets.items():
            values = slice(FIRST_VALUE, len(own))
            seen, out = self._seen[operator, values], self._out[operator, values]
            found[operator, values] = self._lean(out, seen, found[operator].take(own[values]))
        return found

    @staticmethod
    def _lean(out: Floats, seen: Floats, usual: Floats) -> Floats:
        found: Floats = (out + WEIGHT_OF_WHOLE * usual) / (seen + WEIGHT_OF_WHOLE)
        return found

    def snapshot(self) -> Floats:
        """Quick estimates, tuples seen, and tuples that came out."""
        return np.stack((self._quick, self._seen, self._out))

    def restore(self, state: Floats) -> None:
        """Go on from a snapshot."""
        self._quick, self._seen, self._out = state.copy()
        self._width = state.shape[-1]

    def _notice(self, fresh: np.ndarray[Any, np.dtype[np.bool_]]) -> list[int]:
        """Restart steady estimates that the quick ones contradict."""
        memory = 1 / (1 - self._alpha) if self._alpha < 1 else TUPLES_REMEMBERED
        steady = self._out / np.maximum(self._seen, 1.0)
        spread = np.where(steady <= 1, np.maximum(steady * (1 - steady), 1 / memory), steady)
        doubt = np.sqrt(spread * ((1 - self._alpha) / (1 + self._alpha)))
        changed = fresh & (self._seen > memory) & (np.abs(self._quick - steady) > SURPRISE * doubt)
        if not changed.any():
            return []
        self._seen = np.where(changed, memory, self._seen)
        self._out = np.where(changed, memory * self._quick, self._out)
        # Of thousands of values some seem to change in every round: they begin anew, and say nothing about the stream.
        changed[:, FIRST_VALUE:-1] = False
        self.changes += int(changed.sum())
        numbers: list[int] = np.flatnonzero(changed.any(axis=1)).tolist()
        return numbers

    def count_values(self, operator: int) -> tuple[Floats, Floats]:
        """In and Out of the values of an operator that are told apart one by one."""
        return self._seen[operator, FIRST_VALUE:-1], self._out[operator, FIRST_VALUE:-1]
