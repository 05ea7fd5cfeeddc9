"""The indexes of one STeM: which there are, and which of them answers a search."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from eddy.kernels.arguments import NO_BOUNDS, Narrowing, Screen, Screened, Walk
from eddy.kernels.choice import choose_chains, choose_kernels
from eddy.operators.index import price
from eddy.operators.index.builder import Builder
from eddy.operators.index.counts import IndexCounts, Served, Work
from eddy.operators.index.looks import Look, Looks, Ready
from eddy.operators.index.parts import Part, Parts
from eddy.operators.index.sample import Sample
from eddy.operators.index.searches import Searches
from eddy.operators.index.segments import Segments
from eddy.operators.index.serving import HASH_BITS, Serving
from eddy.operators.index.structures.chained import Chained
from eddy.operators.index.structures.contracts import Index
from eddy.operators.index.structures.key_map import KeyMap, hash_map
from eddy.operators.index.time_bounds import LEAST_SAVED, leads_past
from eddy.operators.keys import Key
from eddy.operators.tuning.settings import IndexSettings
from eddy.tuples.arrays import RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import Request, TimeBounds
from eddy.tuples.runs import Kept, Lots, Ranges, Runs, scan_all

NO_RANGES = scan_all(0, 0)


class Candidates(NamedTuple):
    """Candidates, or chains that lead to them, and what has served each part, with the id of its first row."""

    ranges: Ranges
    served: Sequence[tuple[Served, int]] = ()
    walk: Walk | None = None


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


class LinkedView(NamedTuple):
    """Chains of the rows of some segments."""

    segments: int
    rows: int
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
        self.room = self._most = math.inf
        self._segments = segments
        self._ticks = ticks
        self._texts: list[tuple[str, str]] = []
        self._parts = Parts(merge=self.settings.merge)
        self._sample = Sample(lambda: sum(segment.rows for segment in segments))
        fewest = price.FEWEST_BITS_OF_TABLE if segments.stays else price.FEWEST_BITS
        self._builder = Builder(self.settings, ticks, self._sample, fewest)
        may_link = self.settings.may_link and choose_kernels().kernels.chains is not None
        self._serving = Serving(self.settings.does, self._parts, self._builder, self._sample, may_link=may_link)
        self._chains: dict[KeyMap, Chained] = {}
        # What is found out once for the rows as they are: indexes that are ready, and their places.
        self._fresh = False
        self._rises: bool | None = None
        self._lots = Lots()
        self._ready: dict[tuple[int, KeyMap | None], tuple[Index | None, int]] = {}
        # With how many tuples they are good for.
        self._looks: dict[tuple[int | None, ...], tuple[Looks, float]] = {}
        self._counts = IndexCounts()

    @property
    def nbytes(self) -> int:
        """The bytes that the indexes occupy."""
        linked = sum(chained.nbytes for chained in self._chains.values())
        return linked + sum(part.nbytes for part in self._parts)

    @property
    def linked(self) -> Mapping[KeyMap, LinkedView]:
        """The chains that there are."""
        segments = len(self._segments)
        return {m: LinkedView(segments, len(chained), chained.nbytes) for m, chained in self._chains.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The texts of the keys, by their numbers; with the type where a text stands for several keys."""
        texts = [text for text, _ in self._texts]
        return tuple(f"{text} as {kind}" if texts.count(text) > 1 else text for text, kind in self._texts)

    @property
    def maps(self) -> tuple[KeyMap, ...]:
        """The key maps in force, without those that there is no room for."""
        if self._serving.chosen is not None:
            return self._serving.chosen
        known = (*self._serving.linking.maps, *self._serving.maps)
        return tuple(m for m in known if not self._serving.admission.leaves_out(m))

    @property
    def stored(self) -> int:
        """The number of rows."""
        return self._segments.rows

    @property
    def has_chains(self) -> bool:
        """Searches go along chains, as long as no maps were chosen."""
        return bool(self._serving.linking.maps)

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
        self._serving.choose(maps)
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
        return self._serving.pricing.price_part(key_map, rows, pattern)

    def count_runs(self, pattern: int) -> int:
        """Say about how many runs a search by some keys may find in one part."""
        if self._serving.is_plain:
            return 1
        self._follow()
        return self._serving.count_runs(pattern)

    def walk(self, request: Request, bounds: TimeBounds | None = None) -> Candidates | None:
        """Find the chains that lead to the candidates of some tuples; None if there are none for their keys."""
        if bounds is not None and self.settings.time_order:
            alike = self._sample.alike(tuple(request.codes))
            is_past = leads_past(self._ticks(), bounds.latest, len(request), alike)
            if is_past and self._serving.be_plain(request.pattern):
                self._looks.clear()
        key_map = self._serving.find_linked(request, self._segments.rows)
        if key_map is None:
            return None
        chained = self._chains.get(key_map)
        if chained is None:
            chained = self._chains[key_map] = Chained(self._serving.admission.spare(key_map))
        self._link(chained, key_map)
        if self._rises is None:
            self._rises = self._segments.rises
        self._counts.ask(request.pattern, len(request))
        self._counts.calls += 1
        self._serving.ask(request)
        work = self._counts.work((key_map, request.pattern))
        work.probes += len(request)
        work.lookups += len(request)
        work.reached += len(request) * len(chained)
        (field,) = key_map.fields
        walk = Walk(chained.chain, request.hashes(field.keys), self._rises)
        return Candidates(NO_RANGES, [((key_map, request.pattern), 0)], walk)

    def find(self, request: Request, bounds: TimeBounds | None = None, before: RowIds | None = None) -> Candidates:
        """Find the candidates of some tuples, and say what has served them.

        They may be older or newer than the tuple's bounds, or have come later: what is left out is what is easy to.
        """
        self._follow()
        bounds = bounds if self.settings.time_order else None
        reach = self._parts.reach(before, bounds)
        self._counts.ask(request.pattern, len(request))
        self._serving.ask(request)
        sizes = [len(request)] * len(self._parts) if reach is None else reach.count(len(self._parts))
        looks = self._list_looks(request, [number for number, size in enumerate(sizes) if size])
        within = Narrowing(bounds or NO_BOUNDS, LEAST_SAVED)
        places, found = looks.find(request, within, reach, len(self._parts))
        for (served, _), rows, size, own in zip(looks.served, looks.rows, filter(None, sizes), found, strict=True):
            work = self._counts.work(served)
            work.lookups += size
            work.reached += size * rows
            work.ranges += own
        self._counts.calls += len(found)
        for key_map in looks.key_maps:
            self._counts.work((key_map, request.pattern)).probes += len(request)
        ascending = not request.pattern or self._builder.is_as_before or looks.in_order
        return Candidates(Ranges(places.starts, places.counts, self._lots, ascending), looks.served)

    def screen(self, found: Candidates, asked: Screen, first: int, most: int, *, newest_only: bool = False) -> Screened:
        """Hold candidates, of tuples from a first one on, against numbers, and count what was looked at."""
        if found.walk is None:
            seen = choose_kernels().kernels.screen(found.ranges, asked, first, most)
        else:
            seen = choose_chains().walk(found.walk, asked, first, most, newest_only)
        # Which rows those are matters only where several have served.
        works = self._count_rows(found.served, seen.candidates, lambda: found.ranges.expand(first, seen.stop)[1])
        for work, some in works:
            work.candidates += some
        return seen

    def note_matches(self, served: Sequence[tuple[Served, int]], rows: RowIds) -> None:
        """Count what of that was right."""
        for work, count in self._count_rows(served, len(rows), lambda: rows):
            work.matches += count

    def index_now(self, pattern: int, found: int) -> bool:
        """Give looks by some keys the map that was left out, if they were too much in vain; tells whether they got it.

        Which maps there is room for is decided between micro-batches, by what was asked for until then. A policy that
        changes an order asks for others, and with thousands of times as many tuples. `found` are matches that are not
        noted yet.
        """
        admission = self._serving.admission
        if not admission.is_limited or not pattern or not admission.leaves_out(own := hash_map(pattern, HASH_BITS)):
            return False
        works = [work for (_, served), work in self._counts.served.items() if served == pattern]
        vain = sum(work.candidates - work.matches for work in works) - found
        if admission.bears(price.CANDIDATE * vain, self.stored):
            return False
        is_built = self.nbytes + self._serving.count_bytes(own) <= self._most
        if is_built:
            self._serving.reconsider(own)
            self._looks.clear()
        return is_built

    def _count_rows(
        self, served: Sequence[tuple[Served, int]], count: int, list_rows: Callable[[], RowIds]
    ) -> Iterator[tuple[Work, int]]:
        """Say to whose work some rows belong, by the ids with which parts begin."""
        if len({one for one, _ in served}) <= 1:
            counts = [count]
        else:
            begins = [start for _, start in served[1:]]
            counts = np.bincount(np.searchsorted(begins, list_rows(), side="right"), minlength=len(served)).tolist()
        for (one, _), some in zip(served, counts, strict=False):
            yield self._counts.work(one), some

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

    def rest(self, room: int, most: int = sys.maxsize) -> None:
        """End the micro-batch, and choose the indexes that there is room for.

        One that is left out is not built in the next micro-batch either: what it is to serve is served by another,
        unless it is needed at once (`index_now`). Then all of them together may take `most` until the micro-batch is
        over.
        """
        self.room, self._most = room, most
        self.invalidate()
        if not self._serving.is_linked:
            self._rest_parts()
        self._serving.rest(room, self._segments.rows, self._counts.served, self._follow)
        self._rest_chains()

    def _rest_parts(self) -> None:
        """Make one index of what is still in pieces."""
        self._follow()
        self._fresh = False
        for part in self._parts:
            for key_map in [m for m, pieces in part.built.items() if len(pieces) > 1 or pieces[0].first < part.gone]:
                self._build(part, key_map)

    def _rest_chains(self) -> None:
        """Let go of chains that there is no room for, or that nobody has followed for as long as rows stay."""
        self._chains = {
            m: chained for m, chained in self._chains.items() if self._serving.linking.keeps(m, len(chained))
        }
        for key_map, chained in self._chains.items():
            read = partial(self._builder.read_tags, key_map, rows=len(chained))
            if again := chained.fit(self._serving.admission.spare(key_map), read):
                self._counts.sort(key_map, again)

    def _link(self, chained: Chained, key_map: KeyMap) -> None:
        """Link the rows that have come since the last time."""
        rows = self._segments.rows
        if come := chained.follow(rows, partial(self._builder.read_tags, key_map, rows=rows)):
            self._counts.sort(key_map, come)

    def retain(self, kept: Kept) -> None:
        """Follow the rows when only some are kept."""
        for key_map, chained in self._chains.items():
            # Rows that nobody has looked for since they came are in no chain yet.
            chained.drop(min(kept.gone, len(chained)))
            first, known = kept.first - kept.gone, len(chained)
            if kept.has_holes and first < known and not chained.keep(first, kept.ids[kept.ids < known]):
                self._link(chained, key_map)
        self.invalidate()

    def invalidate(self) -> None:
        """Note that the rows are no longer those of the indexes."""
        self._fresh, self._rises = False, None
        self.searches.clear()

    def _follow(self) -> None:
        if not self._fresh:
            self._parts.follow(list(self._segments), self._serving.chosen)
            self._lots, self._ready, self._looks = Lots(), {}, {}
            self._serving.begin()
            self._fresh = True

    def _list_looks(self, request: Request, numbers: Sequence[int]) -> Looks:
        """List the looks into some parts, by number."""
        asked = (request.pattern, request.then, *numbers)
        known = self._looks.get(asked)
        if known is None or self._serving.count_asked(request) > known[1]:
            parts = [*self._parts]
            found = {number: self._serving.find(parts[number], request) for number in numbers}
            looks = [
                Look(n, parts[n], one.key_map, self._prepare(parts[n], one.key_map, request.pattern))
                for n, one in found.items()
            ]
            enough = min((one.enough for one in found.values()), default=math.inf)
            known = self._looks[asked] = Looks(looks, request.pattern, self._builder), enough
        return known[0]

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
