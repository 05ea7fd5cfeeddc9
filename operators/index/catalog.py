"""The indexes of one STeM: which there are, and which of them answers a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from eddy.contracts import Index
from eddy.operators.index import price
from eddy.operators.index.builder import Builder
from eddy.operators.index.counts import IndexCounts, Served, Work
from eddy.operators.index.key_map import KeyMap
from eddy.operators.index.parts import Part, Parts
from eddy.operators.index.sample import Sample
from eddy.operators.index.searches import Searches
from eddy.operators.index.segments import Segments
from eddy.operators.index.serving import Serving
from eddy.operators.index.time_bounds import LEAST_SAVED, TimeBounds, narrow, narrow_order
from eddy.operators.keys import Key
from eddy.operators.tuning.settings import IndexSettings
from eddy.tuples.arrays import Integers, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import Request
from eddy.tuples.runs import Lots, Ranges, Runs, find_probes

Bounds = Callable[[], TimeBounds]
"""Works out the bounds of all tuples, where there is something to be left out by them."""


class Candidates(NamedTuple):
    """Candidates, and what has served each part, with the id of its first row."""

    ranges: Ranges
    served: Sequence[tuple[Served, int]]


class Ready(NamedTuple):
    """An index of a part, None for its rows as they stand, and where those are among all that a search may find."""

    built: Index | None
    begin: int
    runs: Runs


class PartSearch(NamedTuple):
    """A search of some probes in a part, and their places among the parts that each of them reaches."""

    part: Part
    key_map: KeyMap | None
    ready: Ready
    slot: int | Integers
    probes: slice | Integers
    size: int

    @property
    def in_order(self) -> bool:
        """Rows that match stand as they came: all have one code, and in this by time, and came so."""
        return self.key_map is None or (self.part.rises and self.key_map.then is None and self.ready.runs.exact)


@dataclass(frozen=True, kw_only=True, slots=True)
class PartView:
    """A part of the rows, that has indexes of its own.

    `built` are those of its maps that were asked for.
    """

    number: int
    segments: int
    rows: int
    maps: tuple[KeyMap, ...]
    built: tuple[KeyMap, ...]
    nbytes: int


class Catalog:
    """Knows the keys of a STeM's rows, and finds rows by any of them."""

    def __init__(
        self,
        segments: Segments,
        settings: IndexSettings | None = None,
        ticks: Callable[[], Ticks] = lambda: np.empty(0, np.int64),
    ) -> None:
        self.settings = settings or IndexSettings()
        self.searches = Searches()
        self.room = math.inf
        self._segments = segments
        self._texts: list[tuple[str, str]] = []
        self._parts = Parts(merge=self.settings.merge)
        self._sample = Sample(lambda: sum(segment.rows for segment in segments))
        fewest = price.FEWEST_BITS_OF_TABLE if segments.stays else price.FEWEST_BITS
        self._builder = Builder(self.settings, ticks, self._sample, fewest)
        self._serving = Serving(self.settings.kind, self._parts, self._builder, self._sample)
        # What is found out once for the rows as they are: indexes that are ready, and their places.
        self._fresh = False
        self._lots = Lots()
        self._ready: dict[tuple[int, KeyMap | None], tuple[Index | None, int]] = {}
        self._counts = IndexCounts()

    @property
    def nbytes(self) -> int:
        """The bytes that the indexes occupy."""
        return sum(part.nbytes for part in self._parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The texts of the keys, by their numbers; with the type where a text stands for several keys."""
        texts = [text for text, _ in self._texts]
        return tuple(f"{text} as {kind}" if texts.count(text) > 1 else text for text, kind in self._texts)

    @property
    def maps(self) -> tuple[KeyMap, ...]:
        """The key maps in force."""
        return tuple(self._serving.maps) if self._serving.chosen is None else self._serving.chosen

    @property
    def parts(self) -> Sequence[PartView]:
        """The parts, from the oldest to the newest."""
        return [
            PartView(
                number=part.number,
                segments=len(part.segments),
                rows=part.rows,
                maps=self.maps if part.maps is None else part.maps,
                built=tuple(part.built),
                nbytes=part.nbytes,
            )
            for part in self._parts
        ]

    def add_key(self, key: Key, text: str, kind: str) -> None:
        """Give a key a number; one that is known keeps its own."""
        if key not in self._builder.keys:
            self._builder.keys.append(key)
            self._sample.keys.append(key)
            self._texts.append((text, kind))

    def number(self, key: Key) -> int:
        """Find a key's number."""
        return self._builder.keys.index(key)

    def use(self, maps: Sequence[KeyMap]) -> None:
        """Give the parts that are yet to come other key maps."""
        self._serving.chosen = tuple(maps)
        self._fresh = False

    def migrate(self, part: int, maps: Sequence[KeyMap]) -> int:
        """Give a part other key maps; says how many rows are put in order for it.

        Those that it has and keeps are not built again.
        """
        found = next((one for one in self._parts if one.number == part), None)
        if found is None:
            return 0
        found.maps = tuple(maps)
        found.built = {m: pieces for m, pieces in found.built.items() if m in maps or not m.fields}
        self._fresh = False
        return found.rows * len(set(maps).difference(found.built))

    def alike(self, keys: Iterable[int]) -> float:
        """Estimate the chance that two rows have the same values of some keys."""
        return self._sample.alike(tuple(keys))

    def distinct(self, keys: Iterable[int], rows: int) -> float:
        """Estimate how many values some keys have together among so many rows."""
        return self._sample.distinct(tuple(keys), rows)

    def predict(self, key_map: KeyMap | None, pattern: int, rows: int) -> float:
        """Predict what a look into a part of so many rows takes; infinity if the map does not serve the pattern."""
        return self._serving.price_part(key_map, rows, pattern)

    def count_runs(self, pattern: int) -> int:
        """Say about how many runs a search by some keys may find in one part."""
        self._follow()
        return self._serving.count_runs(pattern)

    def find(self, request: Request, bounds: Bounds | None = None, before: RowIds | None = None) -> Candidates:
        """Find the candidates of some tuples, and say what has served them.

        They may be older or newer than the tuple's bounds, or have come later: what is left out is what is easy to.
        """
        self._follow()
        bounds = None if bounds is None or not self.settings.time_order else cache(bounds)
        reach = self._parts.reach(before, bounds)
        self._counts.ask(request.pattern, len(request))
        self._serving.ask(request)
        searches = []
        for number, part in enumerate(self._parts):
            slot, probes, size = find_probes(reach, number, len(request))
            if size:
                key_map = self._serving.find(part, request)
                searches.append(
                    PartSearch(part, key_map, self._prepare(part, key_map, request.pattern), slot, probes, size)
                )
        wide = max((search.ready.runs.width for search in searches), default=1)
        starts = np.zeros((len(request), wide * (len(self._parts) if reach is None else reach.width)), np.int64)
        counts = np.zeros_like(starts)
        for search in searches:
            first, many = self._look_into(search, request, bounds)
            self._count(search, request.pattern, many)
            if wide == 1:
                starts[search.probes, search.slot], counts[search.probes, search.slot] = first, many
            else:
                _put_wide(starts, counts, search, wide, first, many)
        for key_map in {search.key_map for search in searches}:
            self._counts.work((key_map, request.pattern)).probes += len(request)
        ascending = not request.pattern or self._builder.is_as_before or all(search.in_order for search in searches)
        served = [((search.key_map, request.pattern), search.part.start) for search in searches]
        return Candidates(Ranges(starts, counts, self._lots, ascending), served)

    def note_candidates(self, served: Sequence[tuple[Served, int]], rows: RowIds) -> None:
        """Count what was looked at of what a search found."""
        for work, count in self._count_rows(served, rows):
            work.candidates += count

    def note_matches(self, served: Sequence[tuple[Served, int]], rows: RowIds) -> None:
        """Count what of that was right."""
        for work, count in self._count_rows(served, rows):
            work.matches += count

    def _count_rows(self, served: Sequence[tuple[Served, int]], rows: RowIds) -> Iterator[tuple[Work, int]]:
        """Say to whose work some rows belong, by the ids with which parts begin."""
        if len({one for one, _ in served}) <= 1:
            counts = [len(rows)]
        else:
            begins = [start for _, start in served[1:]]
            counts = np.bincount(np.searchsorted(begins, rows, side="right"), minlength=len(served)).tolist()
        for (one, _), count in zip(served, counts, strict=False):
            yield self._counts.work(one), count

    def note_arrived(self, rows: int) -> None:
        """Count rows that came."""
        self._counts.arrived += rows
        self._sample.arrive(rows)
        self._serving.admission.arrive(rows)
        self.invalidate()

    def take_counts(self) -> IndexCounts:
        """Give what was counted since the last time."""
        counts, self._counts = self._counts, IndexCounts()
        return counts

    def rest(self, room: int) -> None:
        """End the micro-batch, and choose the indexes that there is room for.

        One that is left out is not built in the next micro-batch either: what it is to serve is served by another.
        """
        self.room = room
        self.invalidate()
        self._follow()
        self._fresh = False
        for part in self._parts:
            for key_map in [m for m, pieces in part.built.items() if len(pieces) > 1 or pieces[0].first < part.gone]:
                self._build(part, key_map)
        self._serving.rest(room)

    def invalidate(self) -> None:
        """Note that the rows are no longer those of the indexes."""
        self._fresh = False
        self.searches.clear()

    def _follow(self) -> None:
        if not self._fresh:
            self._parts.follow(list(self._segments), self._serving.chosen)
            self._lots, self._ready = Lots(), {}
            self._serving.begin()
            self._fresh = True

    def _count(self, search: PartSearch, pattern: int, found: Integers) -> None:
        work = self._counts.work((search.key_map, pattern))
        self._counts.calls += 1
        work.lookups += search.size
        work.ranges += int(np.count_nonzero(found)) if search.ready.built is not None else search.size

    def _look_into(self, search: PartSearch, request: Request, bounds: Bounds | None) -> tuple[Integers, Integers]:
        """Find where in all lots the runs of some probes start, in one part, and how many rows they have."""
        index, begin, runs = search.ready
        if index is None or search.key_map is None:
            return np.array(begin), np.array(search.part.rows)
        first, many = index.search(request, search.probes)
        then = search.key_map.then
        if runs.exact and (bounds is not None if then is None else bool(request.orders) and then == request.then):
            long = np.flatnonzero(many >= LEAST_SAVED)
            if len(long):
                read = self._builder.read(search.part, search.key_map)
                if then is not None:
                    orders = [(op, codes[search.probes]) for op, codes in request.orders]
                    narrow_order(first, many, long, orders, read, index.order)
                elif bounds is not None and search.part.newest > search.part.least:
                    extent = (search.part.least, search.part.newest)
                    narrow(first, many, long, bounds().take(search.probes), read, index.order, extent)
        first += begin
        return first, many

    def _prepare(self, part: Part, key_map: KeyMap | None, pattern: int) -> Ready:
        """Give an index of a part, ready to be searched."""
        known = (part.number, key_map)
        if known not in self._ready:
            index = None if key_map is None else self._build(part, key_map)
            rows, size = (None, part.rows) if index is None else (index.order, len(index.order))
            self._ready[known] = (index, self._lots.add(rows, part.start, size))
        index, begin = self._ready[known]
        return Ready(index, begin, Runs(1, exact=True) if index is None else index.runs(pattern))

    def _build(self, part: Part, key_map: KeyMap) -> Index:
        return self._builder.build(part, key_map, self._serving.admission.spare(key_map), self._counts.sort)


def _put_wide(
    starts: Integers, counts: Integers, search: PartSearch, wide: int, first: Integers, many: Integers
) -> None:
    """Put several runs of each probe where there is room for the most that there are."""
    slots = np.asarray(search.slot) * wide
    probes = np.arange(len(starts))[search.probes]
    runs = np.arange(search.ready.runs.width)
    places = (probes[:, None], np.atleast_1d(slots)[:, None] + runs)
    starts[places], counts[places] = (one if one.ndim == 2 else one.reshape(-1, 1) for one in (first, many))
