"""Running selectivities: steady while the stream is, quick when it changes."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Cells = np.ndarray[Any, Any]

MEMORY = 2_000
"""Tuples that a steady estimate remembers: known to a hundredth, and no older than a few micro-batches."""

DOUBT = 5.0
"""A cell is weighed against the whole as if it had seen this many tuples of it: what few tuples say is not believed."""

SURPRISE = 4.0
"""Standard deviations between the quick and the steady estimate that mean a change: once in some ten thousand looks by
chance, and then nothing is lost but some memory."""


class Running:
    """Outputs per input in each of some cells.

    The quick estimate is the paper's (section 4.1): each tuple moves it by `1 - alpha`. Twenty tuples' worth of memory
    follow any change, but leave it wavering by a tenth, and so the orders that hang on it. Therefore a steady estimate
    goes beside it, and is used until the two disagree by more than chance allows; then it begins anew from the quick.
    """

    def __init__(self, cells: int, alpha: float) -> None:
        self._alpha = alpha
        self._quick = np.full(cells, np.nan)
        self._seen = np.zeros(cells)
        self._out = np.zeros(cells)
        self.changes = 0

    def start(self, seen: Floats, out: Floats) -> None:
        """Begin with what a sample showed."""
        self._seen, self._out = seen.astype(np.float64), out.astype(np.float64)
        self._quick = np.divide(out, seen, out=np.full(len(seen), np.nan), where=seen > 0)

    def add(self, cells: Cells, outcomes: Cells) -> None:
        """Count the outcomes of tuples, each in its cell."""
        seen = np.bincount(cells, minlength=len(self._seen)).astype(np.float64)
        out = np.bincount(cells, weights=outcomes, minlength=len(self._seen))
        fresh = seen > 0
        mean = np.divide(out, seen, out=np.zeros_like(out), where=fresh)
        kept = self._alpha**seen
        known = np.where(np.isnan(self._quick), mean, self._quick * kept + mean * (1 - kept))
        self._quick = np.where(fresh, known, self._quick)
        fade = np.minimum(1.0, MEMORY / np.maximum(self._seen + seen, 1.0))
        self._seen, self._out = (self._seen + seen) * fade, (self._out + out) * fade
        self._notice(fresh)

    def rates(self, whole: float) -> Floats:
        """The estimates, leaning on that of the whole where a cell has seen little."""
        return (self._out + DOUBT * whole) / (self._seen + DOUBT)

    def snapshot(self) -> Floats:
        """Quick estimates, tuples seen, and tuples that came out, one row each."""
        return np.stack((self._quick, self._seen, self._out))

    def restore(self, state: Floats) -> None:
        """Go on from a snapshot."""
        self._quick, self._seen, self._out = state.copy()

    def _notice(self, fresh: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        """Where quick and steady disagree, begin anew."""
        memory = 1 / (1 - self._alpha) if self._alpha < 1 else MEMORY
        steady = np.divide(self._out, self._seen, out=np.zeros_like(self._out), where=self._seen > 0)
        spread = np.where(steady <= 1, np.maximum(steady * (1 - steady), 1 / memory), steady)
        doubt = np.sqrt(spread * (1 - self._alpha) / (1 + self._alpha))
        changed = fresh & (self._seen > memory) & (np.abs(self._quick - steady) > SURPRISE * doubt)
        self._seen = np.where(changed, memory, self._seen)
        self._out = np.where(changed, memory * self._quick, self._out)
        self.changes += int(changed.sum())
