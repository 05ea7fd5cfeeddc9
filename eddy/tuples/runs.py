"""Runs of rows: segments of a STeM, and candidates of probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.tuples.arrays import Integers, RowIds


@dataclass(slots=True)
class Segment:
    """A run of a STeM's rows, from `start` up to `stop`.

    `oldest` is the event time of its first row, `newest` the largest one, `capacity` how many rows it is to hold.

    A serial never comes back: an index that knows the serial and the number of rows knows the rows.
    """

    serial: int
    start: int
    stop: int
    oldest: Any
    newest: Any
    capacity: int

    @property
    def rows(self) -> int:
        """The number of rows in it."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Reach:
    """The segments that each probe searches.

    They go from `first` to `last`. The range is half-open. Segments are numbered in the order in which an index is told
    of them.
    """

    first: Integers
    last: Integers

    @property
    def width(self) -> int:
        """The largest number of segments that one probe searches."""
        return max(int((self.last - self.first).max(initial=0)), 0)

    def of(self, segment: int) -> tuple[Integers, Integers]:
        """Find the probes that reach a segment.

        Gives the segment's place among those that each of them reaches, and the probes.
        """
        # first [0 1 2], last [2 3 3], segment 1: probes [0 1], and it is their place [1 0]
        probes = np.flatnonzero((self.first <= segment) & (segment < self.last))
        return segment - self.first.take(probes), probes


def find_probes(reach: Reach | None, segment: int) -> tuple[Any, Any]:
    """Find a segment's places and probes, as `Reach.of` does.

    Without a reach every probe searches every segment.
    """
    return (segment, slice(None)) if reach is None else reach.of(segment)


@dataclass(frozen=True, slots=True)
class Ranges:
    """A run of `rows` for each probe and each of its segments.

    These are the segments that it reaches. Runs are not spelled out until they are asked for, so that a probe with a
    million candidates costs a million places only when its turn comes.
    """

    starts: Integers
    counts: Integers
    rows: np.ndarray[Any, Any]

    def per_probe(self) -> Integers:
        """Count the candidates of each probe."""
        totals: Integers = self.counts.sum(axis=1)
        return totals

    def expand(self, probes: int) -> tuple[RowIds, RowIds]:
        """List the candidates of the first probes, probe by probe.

        Gives the probe's position and the row's id for each of them.
        """
        # Each run is a start and a count. `shift` turns a position in the output into one in `rows`:
        #
        #     starts  [10  40]   counts [3 2]   ends [3 5]   shift [10 37]
        #     arange   0   1   2   3   4
        #     shift   10  10  10  37  37       (repeated by counts)
        #     where   10  11  12  40  41
        counts = self.counts[:probes].ravel()
        total = int(counts.sum())
        if not total:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ends = np.cumsum(counts)
        shift = self.starts[:probes].ravel() - (ends - counts)
        where = np.repeat(shift, counts)
        where += np.arange(total)
        at = np.repeat(np.arange(probes), self.counts[:probes].sum(axis=1))
        return at, self.rows.take(where).astype(np.int64, copy=False)


def scan_all(probes: int, rows: int) -> Ranges:
    """Make every row a candidate of every probe: a scan."""
    starts = np.zeros((probes, 1), np.int64)
    return Ranges(starts, np.full((probes, 1), rows, np.int64), np.arange(rows))
