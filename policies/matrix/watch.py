"""Watches over what rows do at each place of an order.

All rows tell it for nothing, and there are many more of them than profile rows: a change shows here first. What none of
them shows, that an operator has become better than those before it, only profile rows do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Counts
from eddy.observe.statistics import fading
from eddy.tuples.arrays import Floats

HALF_LIVES = (500, 5_000)
"""Rows after which older ones count half: one for what changes at once, one for what changes slowly."""

MOST_REFERENCE = 20_000.0
"""Rows since the order was taken that the newest ones are held against. More would make small differences sure."""

SURE_OF_CHANGE = 4.5
"""Standard errors beyond which a difference is not chance: there are some ten tests for each thousand rows."""

LEAST_CHANGE = 0.03
"""Outputs per input by which an operator must differ: less hardly makes another order better."""

ROWS_TO_NOTICE = 100.0
"""Rows that have come to a place before anything is said about it."""

EVENTS = 10.0
"""Rows that pass, and rows that do not, without which no test counts on averages."""

ROWS, OUT, SQUARES = range(3)


class Watch:
    """Rows in, tuples out and their squares at each place: the newest ones, and those since the order was taken."""

    def __init__(self, places: int) -> None:
        self._new = np.zeros((3, places))
        self._recent = np.zeros((len(HALF_LIVES), 3, places))
        self._reference = np.zeros((3, places))

    def begin(self) -> None:
        """Begin anew: the order is another one, or the stream is."""
        for counts in (self._new, self._recent, self._reference):
            counts[:] = 0.0

    def count(self, place: int, outcomes: Counts) -> None:
        """Count what came out at a place, tuple by tuple."""
        out = float(np.count_nonzero(outcomes))
        squares = out
        if outcomes.dtype != np.bool_:
            out, squares = float(outcomes.sum()), float((outcomes * outcomes).sum())
        self._new[:, place] += len(outcomes), out, squares

    def look(self) -> int | None:
        """Count the round that is over; gives the place at which rows do otherwise than before, if there is one."""
        rows = float(self._new[ROWS, 0])
        kept = np.array([fading(rows, half_life) for half_life in HALF_LIVES])
        self._recent = self._recent * kept[:, None, None] + self._new
        sure = np.stack([_compare(recent, self._reference) for recent in self._recent]).max(axis=0)
        if self._reference[ROWS, 0] < MOST_REFERENCE:
            self._reference += self._new
        self._new[:] = 0.0
        return int(sure.argmax()) if len(sure) and sure.max() > SURE_OF_CHANGE else None

    def price(self, costs: Floats) -> float:
        """Price a row by what was seen of the places recently; NaN where nothing was."""
        rows = self._recent[-1, ROWS]
        return float(rows @ costs / rows[0]) if len(rows) and rows[0] else float("nan")

    def snapshot(self) -> list[list[list[float]]]:
        """Plain values."""
        return [part.tolist() for part in (self._new, *self._recent, self._reference)]

    def restore(self, state: Sequence[Sequence[Sequence[float]]]) -> None:
        """Go on from a snapshot."""
        self._new, *recent, self._reference = (np.array(part, np.float64) for part in state)
        self._recent = np.stack(recent)


def _compare(recent: Floats, reference: Floats) -> Floats:
    """Hold recent rows against earlier ones; gives standard errors, by place, where the difference is worth it."""
    rows, before = np.maximum(recent[ROWS], 1.0), np.maximum(reference[ROWS], 1.0)
    apart = np.abs(recent[OUT] / rows - reference[OUT] / before)
    whole = recent + reference
    mean = whole[OUT] / np.maximum(whole[ROWS], 1.0)
    # A filter that has passed all, or none, has no spread: the next one that differs is no proof.
    least = np.minimum(EVENTS / np.maximum(whole[ROWS], 1.0), 0.25)
    spread = np.maximum(whole[SQUARES] / np.maximum(whole[ROWS], 1.0) - mean**2, least)
    enough = (recent[ROWS] >= ROWS_TO_NOTICE) & (reference[ROWS] >= ROWS_TO_NOTICE)
    enough &= apart >= LEAST_CHANGE * np.maximum(mean, 1.0)
    return np.where(enough, apart / np.sqrt(spread * (1 / rows + 1 / before)), 0.0)
