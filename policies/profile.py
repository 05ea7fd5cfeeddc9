"""What samples have shown of one operator, for the rows of one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.divider import Buckets
from policies.gain import gain_ratios, signs, skews
from policies.running import Floats

NO_ATTRIBUTE = -1
"""No attribute classifies (the paper's CA of -1)."""

FADE = 0.9
"""Of what has named a classifier, so much counts in the next judgement: one that has lost its meaning is forgotten
after ten samples."""

KEPT = 20_000
"""Rows of evidence that are kept while there is no classifier and no change: one that explains a thousandth of what an
operator does shows in so many, and a stronger one that comes later is seen behind them in a tenth of them."""


class Profile:
    """In and Out by attribute and bucket, and the attribute that they name as the classifier."""

    def __init__(self, attributes: int, cells: int) -> None:
        self._cells = cells
        self._tables = np.zeros((3, attributes, cells))
        self.attribute = NO_ATTRIBUTE
        self.gain = 0.0
        self.sampled = 0
        self.judged = 0

    @property
    def classifiers(self) -> tuple[int, ...]:
        """The attribute that classifies, if there is one."""
        return () if self.attribute == NO_ATTRIBUTE else (self.attribute,)

    @property
    def evidence(self) -> float:
        """Rows that count, by the attribute of which most are known."""
        return float(self._tables[0].sum(axis=1).max(initial=0.0))

    def learn(self, attributes: Sequence[int], buckets: Buckets, outcomes: Any) -> None:
        """Count rows that were sent to the operator to learn, by several attributes at once."""
        count = len(attributes)
        places = (buckets + np.arange(count) * self._cells).ravel()
        for number, weights in enumerate(_powers(outcomes)):
            table = np.bincount(places, weights.repeat(count), count * self._cells)
            self._tables[number, attributes] += table.reshape(count, self._cells)
        self.sampled += len(outcomes)

    def judge(self, threshold: float) -> bool:
        """Choose the attribute that tells most; says whether it is another one than before."""
        seen, out, squares = self._tables
        is_filter = bool((out == squares).all())
        gains = gain_ratios(seen, out) if is_filter else skews(seen, out, squares)
        best = int(gains.argmax()) if len(gains) else NO_ATTRIBUTE
        before, self.attribute = self.attribute, best if len(gains) and gains[best] > threshold else NO_ATTRIBUTE
        self.gain = float(gains[best]) if len(gains) else 0.0
        return self.attribute not in (NO_ATTRIBUTE, before)

    def classified(self) -> tuple[Floats, Floats]:
        """In and Out by the buckets of the classifier."""
        return self._tables[0, self.attribute].copy(), self._tables[1, self.attribute].copy()

    def fade(self) -> None:
        """Begin the next sample."""
        if self.attribute == NO_ATTRIBUTE:
            self.forget(KEPT)
        else:
            self._tables *= FADE
        self.sampled = 0
        self.judged += 1

    def forget(self, rows: int) -> None:
        """Let no more than so many rows count on."""
        self._tables *= np.minimum(1.0, rows / np.maximum(self._tables[0].sum(axis=1), 1.0))[:, None]

    def signs(self) -> Floats:
        """By how many standard deviations each attribute tells more than chance gives."""
        return signs(*self._tables[:2])

    def drop(self) -> None:
        """Go without an attribute until the next sample is judged."""
        self.attribute = NO_ATTRIBUTE

    def snapshot(self) -> tuple[list[float], Floats]:
        """Numbers, and the tables."""
        return [self.attribute, self.gain, self.sampled, self.judged], self._tables

    def restore(self, numbers: Sequence[float], tables: Floats) -> None:
        """Go on from a snapshot."""
        self._tables = tables.copy()
        self.attribute, self.sampled, self.judged = (int(numbers[i]) for i in (0, 2, 3))
        self.gain = numbers[1]


def _powers(outcomes: Any) -> tuple[Floats, Floats, Floats]:
    """Outcomes to the powers of 0, 1 and 2; a filter's are 0 or 1."""
    out = outcomes.astype(np.float64)
    return np.ones(len(out)), out, out if outcomes.dtype == np.bool_ else out**2
