"""Counts with the most that each may lack, made fewer at the end of every segment of searches.

Lossy counting (Manku and Motwani, "Approximate frequency counts over data streams"), as sections 5.3.2 and 5.4.2 of
the AMRI paper use it. A segment is 1/epsilon searches. What an entry lacks is what its pattern may have had before the
entry was made: one less than the number of the segment.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

MOST_COUNTED = 1 << 62
"""No count is larger: a snapshot that says so is forged."""


class Entries(ABC):
    """Counts by pattern, compressed after every segment: all of an assessment but what it compresses and reports."""

    def __init__(self, epsilon: float) -> None:
        self._total = 0
        self._counts: dict[int, int] = {}
        self._lacks: dict[int, int] = {}
        self._segment = math.ceil(1 / epsilon)

    @property
    def tracked(self) -> int:
        """The number of patterns that have a count."""
        return len(self._counts)

    @abstractmethod
    def _compress(self, segment: int) -> None:
        """Make entries fewer at the end of a segment, given its number."""

    def add(self, pattern: int, times: int) -> None:
        """Count searches by a pattern, as if they came one by one."""
        # All up to the last border that they reach are of one pattern, so that only what stood there at this border
        # matters, and the borders before are passed over:
        #
        #     segment 4   ..|.a aa|aaaa|aaaa|aa      9 of 11 are counted, compressed once, then the last two
        behind = (self._total + times) % self._segment
        before = times - behind
        if before > 0:
            self._gather(pattern, before, self._total // self._segment)
            self._total += before
            self._compress(self._total // self._segment)
            times = behind
        if times:
            self._gather(pattern, times, self._total // self._segment)
            self._total += times

    def _gather(self, pattern: int, times: int, lacking: int) -> None:
        """Add to a count; a new one may lack as many as were missed until now."""
        self._counts[pattern] = self._counts.get(pattern, 0) + times
        self._lacks.setdefault(pattern, lacking)

    def _remove(self, pattern: int) -> int:
        """Forget a pattern, and give its count."""
        del self._lacks[pattern]
        return self._counts.pop(pattern)

    def _most(self, pattern: int) -> int:
        """Give the most that a pattern may have had."""
        return self._counts[pattern] + self._lacks[pattern]

    def snapshot(self) -> dict[str, Any]:
        """Give what was counted, as plain values."""
        return {"total": self._total, "entries": [[p, count, self._lacks[p]] for p, count in self._counts.items()]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._total = read_count(state["total"])
        self._counts, self._lacks = {}, {}
        for pattern, count, lack in state["entries"]:
            self._counts[read_count(pattern)] = read_count(count)
            self._lacks[pattern] = read_count(lack)


def read_count(value: Any) -> int:
    """Check a count that a snapshot has."""
    if type(value) is not int or not 0 <= value <= MOST_COUNTED:
        raise ValueError(f"expected a count, got {value!r:.40}")
    return value
