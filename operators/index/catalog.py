"""The indexes of one STeM: which there are, and which of them answers a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eddy.contracts import Index
from eddy.kernels.arguments import NO_BOUNDS, Lookup, Narrowing, Places, Rising, Screened
from eddy.kernels.choice import choose_kernels
from eddy.kernels.narrowing import narrow
from eddy.operators.index import price
from eddy.operators.index.builder import Builder
from eddy.operators.index.counts import IndexCounts, Served
from eddy.operators.index.key_map import KeyMap
from eddy.operators.index.parts import Part, Parts
from eddy.operators.index.sample import Sample
from eddy.operators.index.searches import Searches
from eddy.operators.index.segments import Segments
from eddy.operators.index.serving import Serving
from eddy.operators.index.time_bounds import LEAST_SAVED, narrow_order
from eddy.operators.keys import Key
from eddy.operators.tuning.settings import IndexSettings
from eddy.tuples.arrays import Integers, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import Request, TimeBounds
from eddy.tuples.runs import Lots, Ranges, Reach, Runs, find_probes

Bounds = Callable[[], TimeBounds]
"""Works out the bounds of all tuples, where there is something to be left out by them."""


class Found(NamedTuple):
    """Candidates, and what has served each part, with the id of its first row."""

    ranges: Ranges
    served: Sequence[tuple[Served, int]]


class Ready(NamedTuple):
    """An index of a part, None for its rows as they stand, and where those are among all that a search may find."""

    built: Index | None
    begin: int
    runs: Runs


class Look(NamedTuple):
    """A look into a part, by its number among all; `size` is how many probes reach it."""

    number: int
    part: Part
    key_map: KeyMap | None
    ready: Ready
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

    def find(self, request: Request, bounds: Bounds | None = None, before: RowIds | None = None) -> Found:
        """Find the candidates of some tuples, and say what has served them.

        They may be older or newer than the tuple's bounds, or have come later: what is left out is what is easy to.
        """
        self._follow()
        bounds = bounds if self.settings.time_order else None
        reach = self._parts.reach(before, bounds)
        self._counts.ask(request.pattern, len(request))
        self._serving.ask(request)
        sizes = [len(request)] * len(self._parts) if reach is None else reach.count(len(self._parts))
        looks = [
            self._look(number, part, request, size)
            for number, (part, size) in enumerate(zip(self._parts, sizes, strict=True))
            if size
        ]
        places = self._look_up(looks, request, bounds, reach)
        for key_map in {look.key_map for look in looks}:
            self._counts.work((key_map, request.pattern)).probes += len(request)
        ascending = not request.pattern or self._builder.is_as_before or all(look.in_order for look in looks)
        served = [((look.key_map, request.pattern), look.part.start) for look in looks]
        return Found(Ranges(places.starts, places.counts, self._lots, ascending), served)

    def note(self, served: Sequence[tuple[Served, int]], ranges: Ranges, found: Screened, matches: RowIds) -> None:
        """Count what was looked at of what a search found, and what of that was right."""
        if len({one for one, _ in served}) <= 1:
            for one, _ in served[:1]:
                work = self._counts.work(one)
                work.candidates += found.candidates
                work.matches += len(matches)
            return
        begins = [start for _, start in served[1:]]
        looked, right = (
            np.bincount(np.searchsorted(begins, rows, side="right"), minlength=len(served))
            for rows in (ranges.expand(found.taken)[1], matches)
        )
        for (one, _), some, good in zip(served, looked.tolist(), right.tolist(), strict=True):
            work = self._counts.work(one)
            work.candidates += some
            work.matches += good

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

    def _look(self, number: int, part: Part, request: Request, size: int) -> Look:
        key_map = self._serving.find(part, request)
        return Look(number, part, key_map, self._prepare(part, key_map, request.pattern), size)

    def _look_up(self, looks: Sequence[Look], request: Request, bounds: Bounds | None, reach: Reach | None) -> Places:
        """Find where in all lots the runs of the probes start, and how many rows they have."""
        wide = max((look.ready.runs.width for look in looks), default=1)
        columns = wide * (len(self._parts) if reach is None else reach.width)
        places = Places(np.zeros((len(request), columns), np.int64), np.zeros((len(request), columns), np.int64), reach)
        within = Narrowing(NO_BOUNDS if bounds is None else bounds(), LEAST_SAVED)
        tables = {look.number: self._make_lookup(look, request, within) for look in looks} if wide == 1 else {}
        known = {number: lookup for number, lookup in tables.items() if lookup is not None}
        found = dict(zip(known, choose_kernels().kernels.look_up([*known.values()], within, places), strict=True))
        for look in looks:
            work = self._counts.work((look.key_map, request.pattern))
            work.lookups += look.size
            own = found.get(look.number)
            work.ranges += self._look_into(look, request, within, places, wide) if own is None else own
        return places

    def _make_lookup(self, look: Look, request: Request, within: Narrowing) -> Lookup | None:
        """Say what a kernel needs for a look; None where it would take more than that."""
        index, begin, runs = look.ready
        if index is None or look.key_map is None or (look.key_map.then is not None and request.orders):
            return None
        table = index.table(request)
        if table is None:
            return None
        is_narrowed = runs.exact and look.key_map.then is None and look.part.newest > look.part.least
        times = self._builder.read_times(look.part) if is_narrowed and within.bounds is not NO_BOUNDS else None
        rising = None if times is None else Rising(times, look.part.least, look.part.newest)
        return Lookup(table, look.number, begin, rising)

    def _look_into(self, look: Look, request: Request, within: Narrowing, places: Places, wide: int) -> int:
        """Write down what some probes find in one part; counts the runs with rows."""
        slot, probes, size = find_probes(places.reach, look.number, len(request))
        index, begin, _ = look.ready
        if index is None:
            first, many = np.array(begin), np.array(look.part.rows)
        else:
            first, many = index.search(request, probes)
            self._narrow(look, request, within, probes, first, many)
            first += begin
        if wide == 1:
            places.starts[probes, slot], places.counts[probes, slot] = first, many
        else:
            _put_wide(places, look.ready.runs.width, wide, slot, probes, first, many)
        return size if index is None else int(np.count_nonzero(many))

    def _narrow(
        self, look: Look, request: Request, within: Narrowing, probes: slice | Integers, first: Integers, many: Integers
    ) -> None:
        """Leave out what is out of bounds, by the key or the time that rows of one code stand in order of."""
        index, _, runs = look.ready
        long = np.flatnonzero(many >= LEAST_SAVED) if runs.exact else ()
        if not len(long) or index is None or look.key_map is None:
            return
        read = self._builder.read(look.part, look.key_map)
        if look.key_map.then is not None:
            if request.orders and look.key_map.then == request.then:
                orders = [(op, codes[probes]) for op, codes in request.orders]
                narrow_order(first, many, long, orders, read, index.order)
        elif look.part.newest > look.part.least and within.bounds is not NO_BOUNDS:
            extent = (look.part.least, look.part.newest)
            narrow(first, many, long, within.bounds.take(probes), read, index.order, extent, LEAST_SAVED)

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
    places: Places, own: int, wide: int, slot: Any, probes: slice | Integers, first: Integers, many: Integers
) -> None:
    """Put several runs of each probe where there is room for the most that there are."""
    rows = np.arange(len(places.starts))[probes]
    at = (rows[:, None], np.atleast_1d(np.asarray(slot) * wide)[:, None] + np.arange(own))
    places.starts[at], places.counts[at] = (one if one.ndim == 2 else one.reshape(-1, 1) for one in (first, many))
