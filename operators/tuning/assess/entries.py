"""Counts with the most that each may lack, made fewer at the end of every segment of searches.

Lossy counting (Manku and Motwani, "Approximate frequency counts over data streams"), as sections 5.3.2 and 5.4.2 of
the AMRI paper use it. A segment is 1/epsilon searches. What an entry lacks is what its pattern may have had before the
entry was made: one less than the number of the segment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Compress = Callable[["Entries", int], None]
"""Makes entries fewer at the end of a segment, given its number."""

MOST_COUNTED = 1 << 62
"""No count is larger: a snapshot that says so is forged."""


class Entries:
    """Counts by pattern, compressed after every segment."""

    def __init__(self, epsilon: float, compress: Compress) -> None:
        self.total = 0
        self.counts: dict[int, int] = {}
        self.lacks: dict[int, int] = {}
        self._segment = math.ceil(1 / epsilon)
        self._compress = compress

    def __len__(self) -> int:
        return len(self.counts)

    def add(self, pattern: int, times: int) -> None:
        """Count searches by a pattern, as if they came one by one."""
        # All up to the last border that they reach are of one pattern, so that only what stood there at this border
        # matters, and the borders before are passed over:
        #
        #     segment 4   ..|.a aa|aaaa|aaaa|aa      9 of 11 are counted, compressed once, then the last two
        behind = (self.total + times) % self._segment
        before = times - behind
        if before > 0:
            self.gather(pattern, before, self.total // self._segment)
            self.total += before
            self._compress(self, self.total // self._segment)
            times = behind
        if times:
            self.gather(pattern, times, self.total // self._segment)
            self.total += times

    def gather(self, pattern: int, times: int, lacking: int) -> None:
        """Add to a count; a new one may lack as many as were missed until now."""
        self.counts[pattern] = self.counts.get(pattern, 0) + times
        self.lacks.setdefault(pattern, lacking)

    def remove(self, pattern: int) -> int:
        """Forget a pattern, and give its count."""
        del self.lacks[pattern]
        return self.counts.pop(pattern)

    def most(self, pattern: int) -> int:
        """Give the most that a pattern may have had."""
        return self.counts[pattern] + self.lacks[pattern]

    def snapshot(self) -> dict[str, Any]:
        """Give what was counted, as plain values."""
        return {"total": self.total, "entries": [[p, count, self.lacks[p]] for p, count in self.counts.items()]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self.total = read_count(state["total"])
        self.counts, self.lacks = {}, {}
        for pattern, count, lack in state["entries"]:
            self.counts[read_count(pattern)] = read_count(count)
            self.lacks[pattern] = read_count(lack)


class Compacted:
    """What all assessments have in common that keep their counts in entries."""

    def __init__(self, epsilon: float, compress: Compress) -> None:
        self._entries = Entries(epsilon, compress)

    @property
    def tracked(self) -> int:
        """The number of patterns that have a count."""
        return len(self._entries)

    def add(self, pattern: int, times: int) -> None:
        """Count searches by a pattern."""
        self._entries.add(pattern, times)

    def snapshot(self) -> dict[str, Any]:
        """Give what was counted, as plain values."""
        return self._entries.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._entries.restore(state)


def read_count(value: Any) -> int:
    """Check a count that a snapshot has."""
    if type(value) is not int or not 0 <= value <= MOST_COUNTED:
        raise ValueError(f"expected a count, got {value!r:.40}")
    return value
