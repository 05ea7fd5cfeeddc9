"""Counts access patterns, and forgets the rare ones (CSRIA, section 5.3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.operators.tuning.assess.entries import Entries


class Csria:
    """Finds every pattern of at least `theta` of the searches, and undercounts by `epsilon` of them at most.

    >>> counted = Csria(epsilon=0.1, theta=0.2)
    >>> for pattern, times in ((0b01, 9), (0b10, 1), (0b11, 10)):
    ...     counted.add(pattern, times)
    >>> counted.counts()
    {1: 9, 3: 10}
    """

    def __init__(self, *, epsilon: float, theta: float, seed: int = 0) -> None:
        self._least = theta - epsilon
        self._entries = Entries(epsilon, _forget)

    @property
    def tracked(self) -> int:
        """The number of patterns that have a count."""
        return len(self._entries)

    def add(self, pattern: int, times: int) -> None:
        """Count searches by a pattern."""
        self._entries.add(pattern, times)

    def counts(self) -> Mapping[int, int]:
        """Give the counts of the patterns that may have `theta`."""
        least = self._least * self._entries.total
        return {p: count for p, count in self._entries.counts.items() if self._entries.most(p) >= least}

    def snapshot(self) -> dict[str, Any]:
        """Give what was counted, as plain values."""
        return self._entries.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._entries.restore(state)


def _forget(entries: Entries, segment: int) -> None:
    """Forget what is too rare for this many segments."""
    for pattern in [p for p in entries.counts if entries.most(p) <= segment]:
        entries.remove(pattern)
