"""Searches that are kept, for whoever asks about the same rows again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eddy.tuples.arrays import RowIds
from eddy.tuples.runs import Ranges

MOST_KEPT = 1 << 18
"""Numbers that are kept of one search: two megabytes, and in an index of few segments those of several rounds."""

SearchKey = tuple[str, tuple[str, ...]]
"""The stream whose rows were searched for, and by what."""


class KeptSearch(NamedTuple):
    """What rows have found, and for each row that came which of these is its own; -1 for none.

    `size` is how many numbers that takes.
    """

    places: np.ndarray[Any, np.dtype[np.int32]]
    ranges: Ranges
    size: int


class Searches:
    """What the rows of a micro-batch have found, until stored rows change.

    Rows are numbered as they came in the micro-batch.
    """

    def __init__(self) -> None:
        self._kept: dict[SearchKey, KeptSearch] = {}

    def __bool__(self) -> bool:
        return bool(self._kept)

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()

    def keep(self, key: SearchKey, rows: RowIds, ranges: Ranges, *, are_own: bool) -> None:
        """Keep what some rows have found; where it is too much, older searches go.

        The rows of the ranges are an index's, or `are_own`.
        """
        size = 2 * ranges.starts.size + (len(ranges.rows) if are_own else 0)
        if not len(rows) or size > MOST_KEPT:
            return
        first, places = 0, np.empty(0, np.int32)
        known = self._kept.get(key)
        if known is not None and known.size + size <= MOST_KEPT:
            first, places, size = len(known.ranges.starts), known.places, known.size + size
            ranges = join_ranges(known.ranges, ranges)
        missing = int(rows.max()) + 1 - len(places)
        places = np.concatenate([places, np.full(max(missing, 0), -1, np.int32)])
        places[rows] = np.arange(first, first + len(rows))
        self._kept[key] = KeptSearch(places, ranges, size)

    def find(self, key: SearchKey, rows: RowIds) -> Ranges | None:
        """Give what some rows have found; None if that is not known of all of them."""
        known = self._kept.get(key)
        if known is None or rows.max(initial=-1) >= len(known.places):
            return None
        at = known.places.take(rows)
        if at.min(initial=0) < 0:
            return None
        return known.ranges.take(at)


def join_ranges(known: Ranges, more: Ranges) -> Ranges:
    """Put the runs of one search behind those of another."""
    # An index gives all its searches the same rows; candidates that were verified have rows of their own:
    #
    #     rows [7 9] and [4]   ->   rows [7 9 4], and the starts of the second search are 2 more
    rows, shift = known.rows, 0
    if isinstance(rows, np.ndarray) and isinstance(more.rows, np.ndarray) and more.rows is not rows:
        rows, shift = np.concatenate([rows, more.rows]), len(rows)
    width = max(known.starts.shape[1], more.starts.shape[1])
    starts = np.vstack([_widen(known.starts, width), _widen(more.starts + shift, width)])
    counts = np.vstack([_widen(known.counts, width), _widen(more.counts, width)])
    return Ranges(starts, counts, rows, known.ascending and more.ascending)


def _widen(runs: np.ndarray[Any, np.dtype[np.int64]], width: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Give each probe runs of no rows, so that all have as many."""
    return np.pad(runs, ((0, 0), (0, width - runs.shape[1]))) if runs.shape[1] < width else runs
