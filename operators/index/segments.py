"""The slices of a STeM that are indexed, and let go of, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eddy.ranges import Segment

SMALLEST = 4_096
"""Rows of a segment that is sealed: about what can be sorted in the time that one probe takes."""

SHARE = 8
"""A segment grows to an eighth of the rows, so that a probe looks into about that many, and rows outlive their time
by an eighth of a window at most."""


class Segments:
    """All rows of a STeM, in slices by the order of arrival."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._serial = 0

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def extend(self, ticks: np.ndarray[Any, Any]) -> None:
        """Add rows with these event times at the end: fill the last segment, then begin new ones."""
        start = self._segments[-1].stop if self._segments else 0
        total, taken = start + len(ticks), 0
        while taken < len(ticks):
            if not self._segments or self._segments[-1].rows >= self._segments[-1].capacity:
                self._begin(start + taken, ticks[taken], max(SMALLEST, total // SHARE))
            last = self._segments[-1]
            more = min(last.capacity - last.rows, len(ticks) - taken)
            last.newest = max(last.newest, ticks[taken : taken + more].max())
            last.stop += more
            taken += more

    def retain(self, keep: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        """Follow the rows when only some are kept."""
        before = np.concatenate(([0], np.cumsum(keep)))
        kept = []
        for segment in self._segments:
            rows, segment.start, segment.stop = segment.rows, int(before[segment.start]), int(before[segment.stop])
            if segment.rows != rows:
                segment.serial = self._next()
            if segment.rows:
                kept.append(segment)
        self._segments = kept

    def _begin(self, start: int, tick: Any, capacity: int) -> None:
        self._segments.append(Segment(self._next(), start, start, tick, capacity))

    def _next(self) -> int:
        self._serial += 1
        return self._serial
