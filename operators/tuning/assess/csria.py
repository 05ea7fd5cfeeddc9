"""Counts access patterns, and forgets the rare ones (CSRIA, section 5.3.2)."""

from __future__ import annotations

from collections.abc import Mapping

from eddy.operators.tuning.assess.entries import Entries


class Csria(Entries):
    """Finds every pattern of at least `theta` of the searches, and undercounts by `epsilon` of them at most.

    >>> counted = Csria(epsilon=0.1, theta=0.2)
    >>> for pattern, times in ((0b01, 9), (0b10, 1), (0b11, 10)):
    ...     counted.add(pattern, times)
    >>> counted.counts()
    {1: 9, 3: 10}
    """

    def __init__(self, *, epsilon: float, theta: float, seed: int = 0) -> None:
        self._least = theta - epsilon
        super().__init__(epsilon)

    def counts(self) -> Mapping[int, int]:
        """Give the counts of the patterns that may have `theta`."""
        least = self._least * self._total
        return {p: count for p, count in self._counts.items() if self._most(p) >= least}

    def _compress(self, segment: int) -> None:
        """Forget what is too rare for this many segments."""
        for pattern in [p for p in self._counts if self._most(p) <= segment]:
            self._remove(pattern)
