"""Runs of rows: the segments of a STeM, and where the candidates of many probes lie in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.tuples.arrays import Integers, RowIds


@dataclass(slots=True)
class Segment:
    """Rows from `start` to `stop`, the first and the newest event time, and how many it is to hold.

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
        """How many there are."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Reach:
    """In which segments each probe may find anything: from its `first` up to its `last`, which is none of them.

    Segments are numbered in the order in which an index is told of them.
    """

    first: Integers
    last: Integers

    @property
    def width(self) -> int:
        """In how many at the most."""
        return max(int((self.last - self.first).max(initial=0)), 0)

    def of(self, segment: int) -> tuple[Integers, Integers]:
        """The probes that reach a segment: the place of it among those that each of them reaches, and the probes."""
        probes = np.flatnonzero((self.first <= segment) & (segment < self.last))
        return segment - self.first.take(probes), probes


def find_probes(reach: Reach | None, segment: int) -> tuple[Any, Any]:
    """The places and the probes of a segment, as `Reach.of` has them; without a reach every probe looks everywhere."""
    return (segment, slice(None)) if reach is None else reach.of(segment)


@dataclass(frozen=True, slots=True)
class Ranges:
    """For each probe, and each segment in its reach, a run of `rows`: where it starts, and how long it is.

    Runs are not spelled out until they are asked for, so that a probe with a million candidates costs a million
    places only when its turn comes.
    """

    starts: Integers
    counts: Integers
    rows: np.ndarray[Any, Any]

    def per_probe(self) -> Integers:
        """How many candidates each probe has."""
        totals: Integers = self.counts.sum(axis=1)
        return totals

    def expand(self, probes: int) -> tuple[RowIds, RowIds]:
        """The candidates of the first probes: the probe's position, and the row's id, probe by probe."""
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
    """Every row is a candidate of every probe: a scan."""
    starts = np.zeros((probes, 1), np.int64)
    return Ranges(starts, np.full((probes, 1), rows, np.int64), np.arange(rows))
