"""Runs of rows: segments of a STeM, and candidates of probes."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from eddy.tuples.arrays import Integers, Mask, Numbers, RowIds

NONE_BEHIND: Mask = np.empty(0, np.bool_)


@dataclass(slots=True)
class Segment:
    """A run of a STeM's rows, from `start` up to `stop`.

    `oldest` is the event time of its first row, `least` the smallest one and `newest` the largest, `capacity` how many
    rows it is to hold. Where it `rises`, no row is older than the one before it.

    A serial never comes back: an index that knows the serial and the number of rows knows the rows.
    """

    serial: int
    start: int
    stop: int
    oldest: Any
    least: Any
    newest: Any
    capacity: int
    rises: bool = True

    @property
    def rows(self) -> int:
        """The number of rows in it."""
        return self.stop - self.start


class Kept:
    """Which rows stay: not the `gone` oldest, all others up to `first`, and some of those behind it."""

    def __init__(self, gone: int, first: int, behind: Mask = NONE_BEHIND) -> None:
        self.gone = gone
        self.first = first
        self.behind = behind
        self.has_holes = not behind.all()
        # The rows behind the first ones that stay, by where they are once the oldest have gone.
        self.ids: RowIds = np.flatnonzero(behind) + (first - gone)
        # How many rows are kept before each behind the first:   behind [T F T T] -> [0 1 1 2 3]
        self._before = np.concatenate(([0], np.cumsum(behind)))

    @classmethod
    def of(cls, keep: Mask) -> Kept:
        """Describe a mask of the rows that stay."""
        gone = int(keep.argmax()) if keep.any() else len(keep)
        first = gone + int(np.append(keep[gone:], False).argmin())
        return cls(gone, first, keep[first:])

    def mask(self) -> Mask:
        """Mask the rows that stay."""
        return np.concatenate([np.zeros(self.gone, np.bool_), np.ones(self.first - self.gone, np.bool_), self.behind])

    def place(self, row: int) -> int:
        """Count the rows before one that stay, which is its new place if it does."""
        if row <= self.first:
            return max(row - self.gone, 0)
        return self.first - self.gone + int(self._before[row - self.first])


@dataclass(frozen=True, slots=True)
class Reach:
    """The parts of a STeM's rows that each probe searches.

    They go from `first` to `last`. The range is half-open. Parts are numbered in the order of their rows.
    """

    first: Integers
    last: Integers

    @property
    def width(self) -> int:
        """The largest number of parts that one probe searches."""
        return max(int((self.last - self.first).max(initial=0)), 0)

    def count(self, parts: int) -> list[int]:
        """Count the probes that reach each part."""
        # first [0 1 2], last [2 3 2]: entered [1 1 0], left behind [0 0 1 1]   ->   [1 2 1]
        some = np.flatnonzero(self.first < self.last)
        entered = np.bincount(self.first.take(some), minlength=parts + 1)
        left = np.bincount(self.last.take(some), minlength=parts + 1)
        counted: list[int] = np.cumsum(entered - left)[:parts].tolist()
        return counted

    def of(self, part: int) -> tuple[Integers, Integers]:
        """Find the probes that reach a part.

        Gives the part's place among those that each of them reaches, and the probes.
        """
        # first [0 1 2], last [2 3 3], part 1: probes [0 1], and it is their place [1 0]
        probes = np.flatnonzero((self.first <= part) & (part < self.last))
        return part - self.first.take(probes), probes


def find_probes(reach: Reach | None, part: int, probes: int) -> tuple[Any, Any, int]:
    """Find a part's places and probes, as `Reach.of` does, and how many these are.

    Without a reach every probe searches every part.
    """
    if reach is None:
        return part, slice(None), probes
    slots, reaching = reach.of(part)
    return slots, reaching, len(reaching)


class Runs(NamedTuple):
    """How many runs of rows each tuple finds in a part, and whether those are `exact`: all rows of one code."""

    width: int
    exact: bool


class Lots:
    """The rows of several indexes, as if they stood one behind the other.

    None are copied: what is taken is taken from the lot in which it is. `memo` is what a kernel has made of them, and
    forgotten when there is another.
    """

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._lots: list[tuple[Numbers | None, int]] = []
        self._end = 0
        self.memo: Any = None

    def __len__(self) -> int:
        return self._end

    @property
    def lots(self) -> list[tuple[int, Numbers | None, int, int]]:
        """Where each lot begins, its rows or None, the number of the first one, and how many they are."""
        ends = [*self._begins[1:], *[self._end][: len(self._begins)]]
        return [(begin, *lot, end - begin) for begin, lot, end in zip(self._begins, self._lots, ends, strict=True)]

    def add(self, rows: Numbers | None, first: int, count: int) -> int:
        """Add rows, numbered from a first one, and say where they begin; None stands for `count` rows as they are."""
        begin = self._end
        if count:
            self._begins.append(begin)
            self._lots.append((rows, first))
            self._end += count
            self.memo = None
        return begin

    def followed_by(self, *rows: RowIds) -> Lots:
        """Give the same lots, and some rows behind them."""
        more = Lots()
        more._begins, more._lots, more._end = [*self._begins], [*self._lots], self._end
        for ids in rows:
            more.add(ids, 0, len(ids))
        return more

    def take(self, places: Integers) -> RowIds:
        """Give the rows at some places."""
        # begins [0 100 250]   places [3 99 120 130]   lots 0 and 1: all are taken from 0, then those from 100 on anew
        if not len(places):
            return np.empty(0, np.int64)
        first = bisect_right(self._begins, int(places.min())) - 1
        last = bisect_right(self._begins, int(places.max()))
        if last - first <= FEW_LOTS:
            found = self._take_from(first, places)
            for lot in range(first + 1, last):
                behind = np.flatnonzero(places >= self._begins[lot])
                found[behind] = self._take_from(lot, places.take(behind))
            return found
        found, number = np.empty(len(places), np.int64), np.searchsorted(self._begins, places, side="right") - 1
        order = np.argsort(number, kind="stable")
        ends = np.searchsorted(number.take(order), np.arange(first, last + 1))
        for lot, start, stop in zip(range(first, last), ends, ends[1:], strict=False):
            if start < stop:
                found[order[start:stop]] = self._take_from(lot, places.take(order[start:stop]))
        return found

    def _take_from(self, lot: int, places: Integers) -> RowIds:
        """Take from one lot; places behind its end give any row."""
        rows, first = self._lots[lot]
        if rows is None:
            return places + (first - self._begins[lot])
        begin = self._begins[lot]
        taken = rows.take(places - begin if begin else places, mode="clip")
        return taken + np.int64(first) if first or taken.dtype != np.int64 else taken


FEW_LOTS = 4
"""Lots from which rows are taken one after the other; of more, each is looked for."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Runs of `rows` for each probe: one in each part that it reaches.

    Where they are `ascending`, the rows of a probe that match stand by id. Runs are not spelled out until they are
    asked for, so that a probe with a million candidates costs a million places only when its turn comes.
    """

    starts: Integers
    counts: Integers
    rows: Lots | RowIds
    ascending: bool = True

    def take(self, probes: Numbers) -> Ranges:
        """Give the runs of some probes."""
        return replace(self, starts=self.starts.take(probes, axis=0), counts=self.counts.take(probes, axis=0))

    def per_probe(self) -> Integers:
        """Count the candidates of each probe."""
        return add_columns(self.counts)

    def find_stop(self, first: int, most: int) -> int:
        """Find up to which probe, from a first one on, there are so many candidates at most; one at least."""
        # counts [2 900 1 300]   from 1 on, 1,000 at most:   totals from there [900 901 1201]   ->   3
        totals = np.cumsum(add_columns(self.counts[first:]))
        return first + max(int(np.searchsorted(totals, most, side="right")), 1)

    def list_first(self, probes: RowIds) -> RowIds:
        """List the first candidate of some probes that have any."""
        if not len(probes):
            return np.empty(0, np.int64)
        run = (self.counts.take(probes, axis=0) > 0).argmax(axis=1)
        return self.rows.take(self.starts[probes, run])

    def expand(self, first: int, stop: int) -> tuple[RowIds, RowIds]:
        """List the candidates of some probes that stand side by side, probe by probe.

        Gives the probe's position and the row's id for each of them.
        """
        # Each run is a start and a count. `shift` turns a position in the output into one in `rows`:
        #
        #     starts  [10  40]   counts [3 2]   ends [3 5]   shift [10 37]
        #     arange   0   1   2   3   4
        #     shift   10  10  10  37  37       (repeated by counts)
        #     where   10  11  12  40  41
        runs = self.counts[first:stop]
        counts = runs.ravel()
        total = int(counts.sum())
        if not total:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ends = np.cumsum(counts)
        shift = self.starts[first:stop].ravel() - (ends - counts)
        where = np.repeat(shift, counts)
        where += np.arange(total)
        return np.repeat(np.arange(first, stop), add_columns(runs)), self.rows.take(where)


def add_columns(counts: Integers) -> Integers:
    """Add up each row by columns: along rows as short as these, numpy takes ten times as long."""
    totals = np.zeros(len(counts), np.int64)
    for column in counts.T:
        totals += column
    return totals


def scan_all(probes: int, rows: int) -> Ranges:
    """Make every row a candidate of every probe: a scan."""
    starts = np.zeros((probes, 1), np.int64)
    lots = Lots()
    lots.add(None, 0, rows)
    return Ranges(starts, np.full((probes, 1), rows, np.int64), lots)
