"""The parts of a STeM's rows, each of them indexed by itself.

A part has one segment, or several that stand side by side and change no more. The segment to which rows are added is
always a part of its own, so that what is new is put in order without what is old:

    segments   |  a  |  b  |  c  |  d  | e..      e is still growing
    parts      |          a-d          | e        then a goes, and e is full:
    segments         |  b  |  c  |  d  |  e  | f..
    parts            |      b-d        |  e  | f      and in the next micro-batch b-e and f
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from eddy.operators.index.structures.contracts import Index
from eddy.operators.index.structures.key_map import KeyMap
from eddy.tuples.arrays import RowIds
from eddy.tuples.request import TimeBounds
from eddy.tuples.runs import Reach, Segment

MOST_MERGED = (1 << 19) - 1
"""Rows of a part of several segments: to merge as many takes some milliseconds, and a search in half a million rows
looks into three parts and not into nine."""

LARGEST_RATIO = 8
"""A part takes in the next one if it has at most this many times its rows: so a row is put in order again a few times
only, however many segments stand in line. The segments of one window are fewer than that."""

FEWEST_NARROWED = 6
"""Parts from which on a probe leaves some out: among fewer, finding out which takes as long as looking into all."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An index of some of a part's rows: from `first` up to `stop`, in the part's own numbers."""

    index: Index
    first: int
    stop: int


@dataclass(slots=True)
class Part:
    """Some segments, by serial and number of rows, and the indexes of their rows.

    A row keeps its own number in a part as long as the part lasts; `gone` rows had smaller ones. `start` and `stop` are
    ids, as a segment's; `least`, `newest` and `rises` are a segment's too. `maps` are those that were chosen for it;
    None before any were, when each pattern has its own.
    """

    number: int
    segments: tuple[tuple[int, int], ...]
    start: int
    stop: int
    least: float
    newest: float
    rises: bool
    maps: tuple[KeyMap, ...] | None = None
    gone: int = 0
    built: dict[KeyMap, list[Piece]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows in it."""
        return self.stop - self.start

    @property
    def end(self) -> int:
        """The own number behind that of the last row."""
        return self.gone + self.rows

    @property
    def nbytes(self) -> int:
        """The bytes of its indexes."""
        return sum(piece.index.nbytes for pieces in self.built.values() for piece in pieces)

    def trim(self, segments: Sequence[Segment]) -> None:
        """Let go of all but the last segments."""
        rows = self.rows
        self.start, self.stop = segments[0].start, segments[-1].stop
        if len(segments) == len(self.segments):
            return
        self.gone += rows - self.rows
        self.segments = self.segments[-len(segments) :]
        self.least = min(segment.least for segment in segments)
        left = {m: [piece for piece in pieces if piece.stop > self.gone] for m, pieces in self.built.items()}
        self.built = {key_map: pieces for key_map, pieces in left.items() if pieces}

    def merge(self, other: Part) -> None:
        """Take in the part behind."""
        shift = self.end - other.gone
        for key_map, pieces in other.built.items():
            moved = [replace(piece, first=piece.first + shift, stop=piece.stop + shift) for piece in pieces]
            self.built.setdefault(key_map, []).extend(moved)
        self.segments += other.segments
        self.stop = other.stop
        self.rises = self.rises and other.rises and self.newest <= other.least
        self.least, self.newest = min(self.least, other.least), max(self.newest, other.newest)


class Parts:
    """All rows of a STeM, in parts that follow its segments."""

    def __init__(self, *, merge: bool) -> None:
        self._parts: list[Part] = []
        self._merge = merge
        self._number = 0

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def follow(self, segments: Sequence[Segment], maps: tuple[KeyMap, ...] | None) -> None:
        """Follow the segments: a part of which only the first are gone keeps its indexes.

        New parts have some key maps. Two parts that are both older than that are merged, if they have the same ones.
        """
        owners = {known: part for part in self._parts for known in part.segments}
        groups: list[tuple[Part | None, list[Segment]]] = []
        known = [(segment.serial, segment.rows) for segment in segments]
        for one, segment in zip(known, segments, strict=True):
            owner = owners.get(one)
            if owner is None or not groups or groups[-1][0] is not owner:
                groups.append((owner, []))
            groups[-1][1].append(segment)
        parts: list[Part] = []
        settled: list[bool] = []
        done = 0
        for n, (owner, held) in enumerate(groups):
            done += len(held)
            same = owner is not None and owner.segments[-len(held) :] == tuple(known[done - len(held) : done])
            if owner is not None and same:
                owner.trim(held)
                parts.append(owner)
            else:
                parts += [self._make(segment, maps) for segment in held]
            # The last part grows still; and rows of a segment that was full just now may yet fail a filter.
            settled += [same and n + 1 < len(groups)] * (len(parts) - len(settled))
            while len(parts) > 1 and settled[-1] and settled[-2] and self._can_merge(*parts[-2:]):
                parts[-2].merge(parts.pop())
                settled.pop()
        self._parts = parts

    def reach(self, before: RowIds | None, bounds: TimeBounds | None) -> Reach | None:
        """Find the parts in which each tuple may find rows.

        Rows are below some ids, or any, and inside their windows. None stands for all parts.
        """
        if len(self) < FEWEST_NARROWED or (before is None and bounds is None):
            return None
        bounds = bounds or TimeBounds(None, None)
        # Parts stand by arrival, so a bound on ids is one on parts. Their times may overlap where rows come late:
        #
        #     part        0    1    2    3
        #     starts      0   40   80  120      before 90    ->  last 3: part 3 came later
        #     newest     10   22   19   31      from 21 on   ->  first 1
        #     least       1    9   15   18      up to 17     ->  last 3: of those behind part 2 none begins by then
        probes = len(next(known for known in (before, *bounds) if known is not None))
        first, last = np.zeros(probes, np.int64), np.full(probes, len(self))
        if before is not None:
            last = np.searchsorted([part.start for part in self], before)
        # The running extremes rise, as a search needs; they only ever leave out less.
        if bounds.earliest is not None:
            first = np.searchsorted(np.maximum.accumulate([part.newest for part in self]), bounds.earliest)
        if bounds.latest is not None:
            least = np.minimum.accumulate([part.least for part in reversed(self._parts)])[::-1]
            last = np.minimum(last, np.searchsorted(least, bounds.latest, side="right"))
        return Reach(first, last)

    def _make(self, segment: Segment, maps: tuple[KeyMap, ...] | None) -> Part:
        self._number += 1
        return Part(
            number=self._number,
            segments=((segment.serial, segment.rows),),
            start=segment.start,
            stop=segment.stop,
            least=segment.least,
            newest=segment.newest,
            rises=segment.rises,
            maps=maps,
        )

    def _can_merge(self, one: Part, other: Part) -> bool:
        return (
            self._merge
            and one.maps == other.maps
            and one.rows <= LARGEST_RATIO * other.rows
            and one.rows + other.rows <= MOST_MERGED
        )
