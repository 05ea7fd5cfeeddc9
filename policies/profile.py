"""What has been learned of one operator for the rows of one stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.divider import Buckets
from policies.gain import gain_ratios, skews
from policies.running import Floats, Running

NO_ATTRIBUTE = -1
"""No attribute classifies (the paper's CA of -1)."""

FADE = 0.9
"""Of a sample that has been judged, so much counts in the next one: a weak attribute is found by the evidence of ten
samples, and one that has lost its meaning is forgotten after as many."""


class Profile:
    """In and Out by attribute and bucket, the classifier attribute, and the running selectivities by its buckets."""

    def __init__(self, attributes: int, buckets: int, alpha: float) -> None:
        self._cells = buckets + 1
        self._tables = np.zeros((3, attributes, self._cells))
        self._running = Running(self._cells, alpha)
        self.attribute = NO_ATTRIBUTE
        self.gain = 0.0
        self.sampled = 0
        self.judged = 0

    @property
    def rate(self) -> float:
        """Outputs per input of all rows (W of the paper)."""
        return self._running.whole

    @property
    def changes(self) -> int:
        """How often a selectivity has changed."""
        return self._running.changes

    def rates(self, buckets: Buckets | None, rows: int) -> Floats:
        """Outputs per input of each row, by the buckets of the classifier (S of the paper), or of all rows alike."""
        if buckets is None:
            return np.full(rows, self.rate)
        return self._running.rates().take(buckets)

    def add(self, buckets: Buckets | None, outcomes: Any) -> None:
        """Count what the operator did with some rows; `buckets` are those of the classifier, where there is one."""
        self._running.add(buckets, outcomes)

    def learn(self, buckets: Buckets, outcomes: Any) -> None:
        """Count rows that were sent to the operator to learn, by all attributes at once."""
        attributes = self._tables.shape[1]
        cells = (buckets + np.arange(attributes) * self._cells).ravel()
        for number, power in enumerate((0, 1, 2)):
            weights = np.repeat(np.power(outcomes, power, dtype=np.float64), attributes)
            table = np.bincount(cells, weights, attributes * self._cells)
            self._tables[number] += table.reshape(attributes, self._cells)
        self.sampled += len(outcomes)

    def judge(self, threshold: float) -> bool:
        """Choose the attribute that tells most; says whether it is another one than before."""
        seen, out, squares = self._tables
        is_filter = bool((out == squares).all())
        gains = gain_ratios(seen, out) if is_filter else skews(seen, out, squares)
        best = int(gains.argmax()) if len(gains) else NO_ATTRIBUTE
        before, self.attribute = self.attribute, best if len(gains) and gains[best] > threshold else NO_ATTRIBUTE
        self.gain = float(gains[best]) if len(gains) else 0.0
        if self.attribute not in (NO_ATTRIBUTE, before):
            self._running.start(seen[self.attribute], out[self.attribute])
        self._tables *= FADE
        self.sampled = 0
        self.judged += 1
        return self.attribute not in (NO_ATTRIBUTE, before)

    def drop(self) -> None:
        """Go without an attribute until the next sample is judged."""
        self.attribute = NO_ATTRIBUTE

    def snapshot(self) -> tuple[list[float], dict[str, Floats]]:
        """Numbers, and arrays."""
        arrays = {"tables": self._tables, "running": self._running.snapshot()}
        return [self.attribute, self.gain, self.sampled, self.judged, self.changes], arrays

    def restore(self, numbers: Sequence[float], arrays: Mapping[str, Floats]) -> None:
        """Go on from a snapshot."""
        self._tables = arrays["tables"].copy()
        self._running.restore(arrays["running"])
        self.attribute, self.sampled, self.judged = (int(numbers[i]) for i in (0, 2, 3))
        self.gain, self._running.changes = numbers[1], int(numbers[4])
