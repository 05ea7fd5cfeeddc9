"""Counts every access pattern by itself (SRIA, section 5.3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.operators.tuning.assess.entries import read_count
from eddy.operators.tuning.contracts import REST

MOST_TRACKED = 1 << 12
"""Patterns that have a count of their own: all that twelve keys can make. Those that come later are counted as the
rest, so that a query with more keys takes no more memory."""


class Sria:
    """An exact count for each pattern, and all of them worth an index.

    >>> counted = Sria(epsilon=0.1, theta=0.2)
    >>> counted.add(0b01, 9); counted.add(0b11, 1)
    >>> counted.counts()
    {1: 9, 3: 1}
    """

    def __init__(self, *, epsilon: float, theta: float, seed: int = 0) -> None:
        self._counts: dict[int, int] = {}

    @property
    def tracked(self) -> int:
        """The number of patterns that have a count."""
        return len(self._counts)

    def add(self, pattern: int, times: int) -> None:
        """Count searches by a pattern."""
        if pattern not in self._counts and len(self._counts) >= MOST_TRACKED - 1:
            pattern = REST
        self._counts[pattern] = self._counts.get(pattern, 0) + times

    def counts(self) -> Mapping[int, int]:
        """Give all counts."""
        return dict(self._counts)

    def snapshot(self) -> dict[str, Any]:
        """Give what was counted, as plain values."""
        return {"entries": [[pattern, count] for pattern, count in self._counts.items()]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._counts = {read_count(pattern): read_count(count) for pattern, count in state["entries"]}
