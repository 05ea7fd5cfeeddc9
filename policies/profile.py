"""What samples have shown of one operator, for the rows of one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.divider import Buckets
from policies.gain import gain_ratios, skews
from policies.running import Floats

NO_ATTRIBUTE = -1
"""No attribute classifies (the paper's CA of -1)."""

FADE = 0.9
"""Of a sample that has been judged, so much counts in the next one: a weak attribute is found by the evidence of ten
samples, and one that has lost its meaning is forgotten after as many."""


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
        self._tables *= FADE
        self.sampled = 0
        self.judged += 1

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
