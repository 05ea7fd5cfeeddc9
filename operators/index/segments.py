"""The slices of a STeM, indexed and forgotten one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from eddy.query import Range, Rows, Window
from eddy.tuples.event_time import Ticks, age
from eddy.tuples.runs import Kept, Segment

SMALLEST_SEALED = 4_096
"""Rows of a segment that is sealed: about what can be sorted in the time that one probe takes."""

FEWEST_SEALED = 1_024
"""Rows of a segment that is sealed because of its time, or where a window counts rows: smaller ones would let rows go
sooner, but a search looks into each that is in reach."""

LARGEST = 1 << 31
"""Rows of a table: none of them goes, so they are all one segment, and a search looks into one instead of four."""

LARGEST_AT_ONCE = 1 << 14
"""The same where codes have 16 bits: beyond that too many rows have a hash in common."""

LARGEST_GROWING = 1 << 14
"""Rows of a segment to which rows are added: in every micro-batch they are put in order anew, whatever the window."""

SEGMENTS_PER_WINDOW = 4
"""Segments for a window and for all rows: a probe looks into about five then, and a row outlives its time by a
quarter of the window at most."""


class Segments:
    """All rows of a STeM, in slices by the order of arrival.

    A row goes once the watermark has passed its time by its `life`: the window, or the `horizon` within which another
    row can meet it. `delay` is how late rows may come, in ticks: so much longer they are kept, and so much longer are
    the slices. Rows that come at once and stay, as those of a table, are in fewer slices.
    """

    def __init__(
        self,
        window: Window,
        delay: float | None = None,
        *,
        horizon: float | None = None,
        stays: bool = False,
        merge: bool = True,
    ) -> None:
        own = window.ticks if isinstance(window, Range) else math.inf
        self.life = own if horizon is None else min(own, horizon)
        self._segments: list[Segment] = []
        self._serial = 0
        self._span = math.inf
        if delay is not None:
            self._span = (max(self.life, 0) + delay) / SEGMENTS_PER_WINDOW
        self._smallest = (
            max(FEWEST_SEALED, window.count // SEGMENTS_PER_WINDOW) if isinstance(window, Rows) else SMALLEST_SEALED
        )
        self.stays = stays
        if stays:
            self._smallest = LARGEST if merge else LARGEST_AT_ONCE

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def rows(self) -> int:
        """The number of rows in all of them."""
        return self._segments[-1].stop if self._segments else 0

    @property
    def rises(self) -> bool:
        """No row is older than the one before it."""
        behind = all(one.newest <= other.least for one, other in pairwise(self._segments))
        return behind and all(segment.rises for segment in self._segments)

    def extend(self, ticks: Ticks) -> None:
        """Add rows with these event times at the end.

        They fill the last segment, then begin new ones.
        """
        start = self._segments[-1].stop if self._segments else 0
        total, taken = start + len(ticks), 0
        while taken < len(ticks):
            left = ticks[taken:]
            room = self._room(left) if self._segments else 0
            if not room:
                capacity = max(self._smallest, min(total // SEGMENTS_PER_WINDOW, LARGEST_GROWING))
                place, tick = start + taken, left[0].item()
                self._segments.append(Segment(self._next(), place, place, tick, tick, tick, capacity))
                room = max(self._room(left), 1)
            last = self._segments[-1]
            new = left[:room]
            last.rises = last.rises and bool(new[0] >= last.newest) and bool((new[1:] >= new[:-1]).all())
            last.least, last.newest = min(last.least, new.min().item()), max(last.newest, new.max().item())
            last.stop += room
            taken += room

    def _room(self, ticks: Ticks) -> int:
        """Count the next rows that belong to the last segment.

        The first that is too far from its first row does not, nor do those after it.
        """
        last = self._segments[-1]
        room = min(last.capacity - last.rows, len(ticks))
        if room <= 0 or self._span == math.inf:
            return max(room, 0)
        # A few rows belong to it even if their time is too far away: tiny segments would each cost every probe a look.
        soonest = min(max(FEWEST_SEALED - last.rows, 0), room)
        outside = age(ticks[:room], np.full_like(ticks[:room], last.oldest)) > self._span
        return max(int(outside.argmax()), soonest) if outside.any() else room

    def retain(self, kept: Kept) -> None:
        """Follow the rows when only some are kept."""
        left = []
        for segment in self._segments:
            rows, segment.start, segment.stop = segment.rows, kept.place(segment.start), kept.place(segment.stop)
            # Other rows need a new serial, so that indexes are built anew; moved as a whole, a segment keeps its own.
            if segment.rows != rows:
                segment.serial = self._next()
            if segment.rows:
                left.append(segment)
        self._segments = left

    def _next(self) -> int:
        self._serial += 1
        return self._serial
