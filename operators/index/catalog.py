"""The indexes of one STeM: which there are, and which of them answers a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from eddy.contracts import Index, PartRows
from eddy.operators.index import price
from eddy.operators.index.admission import Admission, Option
from eddy.operators.index.counts import IndexCounts, Served
from eddy.operators.index.key_map import Field, KeyMap
from eddy.operators.index.parts import Part, Parts, Piece
from eddy.operators.index.registry import INDEXES
from eddy.operators.index.sample import SAMPLE, Sample
from eddy.operators.index.searches import Searches
from eddy.operators.index.segments import Segments
from eddy.operators.index.time_bounds import LEAST_SAVED, TimeBounds, narrow
from eddy.operators.keys import Key
from eddy.operators.tuning.settings import IndexSettings
from eddy.tuples.arrays import Integers, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import Request, list_keys
from eddy.tuples.runs import Lots, Ranges, find_probes

HASH_BITS = 16

MOST_PATTERNS = 1 << 12
"""Access patterns that are listed ahead; of a query with more of them only those that are asked for are known."""

Bounds = Callable[[], TimeBounds]
"""Works out the bounds of all tuples, where there is something to be left out by them."""

Range = tuple[Index | None, int]
"""An index of a part, None for its rows as they stand, and where those are among all that a search may find."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartView:
    """A part of the rows, that has indexes of its own.

    `built` are those of its maps that were asked for, and `oldest` and `newest` the event times.
    """

    number: int
    rows: int
    maps: tuple[KeyMap, ...]
    built: tuple[KeyMap, ...]
    nbytes: int
    oldest: float
    newest: float
    segments: int = 1


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
        self._segments = segments
        self._ticks = ticks
        self._keys: list[tuple[Key, str, str]] = []
        self._patterns: set[int] = set()
        self._parts = Parts(merge=self.settings.merge)
        self._maps: list[KeyMap] = []
        self.room = math.inf
        self._admission = Admission()
        self._sample: Sample | None = None
        self._sampled = 0
        # What is found out once for the rows as they are: indexes that are ready, their places, and who serves whom.
        self._fresh = False
        self._lots = Lots()
        self._ready: dict[tuple[int, KeyMap | None], Range] = {}
        self._servers: dict[tuple[int, int | None], KeyMap | None] = {}
        self._counts = IndexCounts()

    @property
    def nbytes(self) -> int:
        """The bytes that the indexes occupy."""
        return sum(part.nbytes for part in self._parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The texts of the keys, by their numbers; with the type where a text stands for several keys."""
        texts = [text for _, text, _ in self._keys]
        return tuple(f"{text} as {kind}" if texts.count(text) > 1 else text for _, text, kind in self._keys)

    @property
    def patterns(self) -> tuple[int, ...]:
        """The access patterns that the query can ask for, as masks of the keys' numbers."""
        return tuple(sorted(self._patterns))

    @property
    def maps(self) -> tuple[KeyMap, ...]:
        """The key maps in force."""
        return tuple(self._maps)

    @property
    def parts(self) -> Sequence[PartView]:
        """What there is of parts."""
        return [
            PartView(
                number=part.number,
                rows=part.rows,
                maps=self.maps,
                built=tuple(part.built),
                nbytes=part.nbytes,
                oldest=part.least,
                newest=part.newest,
                segments=len(part.segments),
            )
            for part in self._parts
        ]

    def add_key(self, key: Key, text: str, kind: str) -> None:
        """Give a key a number; one that is known keeps its own."""
        if all(known != key for known, _, _ in self._keys):
            self._keys.append((key, text, kind))

    def number(self, key: Key) -> int:
        """Find a key's number."""
        return next(n for n, (known, _, _) in enumerate(self._keys) if known == key)

    def list_patterns(self, masks: Iterable[int]) -> None:
        """Note which keys each other input has equalities for; a tuple may span any of them."""
        for mask in masks:
            more = {known | mask for known in self._patterns} | {mask} if mask else set()
            if len(self._patterns | more) <= MOST_PATTERNS:
                self._patterns |= more

    def use(self, maps: Sequence[KeyMap]) -> None:
        """Give the parts that are yet to come other key maps."""
        raise NotImplementedError

    def migrate(self, part: int, maps: Sequence[KeyMap]) -> int:
        """Give a part other key maps; says how many rows are put in order for it."""
        raise NotImplementedError

    def alike(self, keys: Iterable[int]) -> float:
        """Estimate the chance that two rows have the same values of some keys."""
        return self._look().alike(keys)

    def distinct(self, keys: Iterable[int], rows: int) -> float:
        """Estimate how many values some keys have together among so many rows."""
        return self._look().distinct(keys, rows)

    def predict(self, key_map: KeyMap | None, pattern: int, rows: int) -> float:
        """Predict what a look into a part of so many rows takes; infinity if the map does not serve the pattern."""
        if key_map is None:
            return price.CANDIDATE * rows
        if not key_map.fields:
            return price.CANDIDATE * rows / 2
        if not key_map.serves(pattern):
            return math.inf
        alike = self.alike(key_map.fields[0].keys)
        return price.predict(key_map, rows, alike, self._bits(key_map, rows)).price

    def find(
        self, request: Request, bounds: Bounds | None = None, before: RowIds | None = None
    ) -> tuple[Ranges, Served]:
        """Find the candidates of some tuples, and say what has served them.

        They may be older or newer than the tuple's bounds, or have come later: what is left out is what is easy to.
        """
        self._follow()
        key_map = self._find_server(request)
        bounds = None if bounds is None or not self.settings.time_order else cache(bounds)
        reach = self._parts.reach(before, bounds)
        starts = np.zeros((len(request), len(self._parts) if reach is None else reach.width), np.int64)
        counts = np.zeros_like(starts)
        lookups = 0
        for number, part in enumerate(self._parts):
            slot, probes, size = find_probes(reach, number, len(request))
            if size:
                first, many = self._look_into(part, key_map, request, probes, bounds)
                starts[probes, slot], counts[probes, slot] = first, many
                lookups += size
        self._counts.ask(request.pattern, len(request))
        self._admission.ask(request.pattern, len(request))
        served = (key_map, request.pattern)
        work = self._counts.work(served)
        work.probes += len(request)
        work.lookups += lookups
        work.ranges += int(np.count_nonzero(counts))
        # Rows of a part in which times fall stand by time, and not as they came.
        ascending = bool(request.orders) or not self.settings.time_order or all(part.rises for part in self._parts)
        return Ranges(starts, counts, self._lots, ascending), served

    def note(self, served: Served, candidates: int, matches: int) -> None:
        """Count what was looked at of what a search found, and what of that was right."""
        work = self._counts.work(served)
        work.candidates += candidates
        work.matches += matches

    def note_arrived(self, rows: int) -> None:
        """Count rows that came."""
        self._counts.arrived += rows
        self._sampled -= rows
        self._admission.arrive(rows)
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
        rows = sum(part.rows for part in self._parts)
        self._admission.rest(self._maps, self._count_bytes, self._list_options, room, rows)
        for part in self._parts:
            part.built = {m: pieces for m, pieces in part.built.items() if self._is_kept(m, pieces, part)}

    def _is_kept(self, key_map: KeyMap, pieces: Sequence[Piece], part: Part) -> bool:
        """Tell whether there is room for an index, and for so many bits of it."""
        most = self._bits(key_map, part.rows) + 1
        return not self._admission.leaves_out(key_map) and all(piece.index.bits <= most for piece in pieces)

    def invalidate(self) -> None:
        """Note that the rows are no longer those of the indexes."""
        self._fresh = False
        self.searches.clear()

    def _follow(self) -> None:
        if not self._fresh:
            self._parts.follow(list(self._segments), None)
            self._lots, self._ready, self._servers = Lots(), {}, {}
            self._fresh = True

    def _look_into(
        self, part: Part, key_map: KeyMap | None, request: Request, probes: slice | RowIds, bounds: Bounds | None
    ) -> tuple[Integers, Integers]:
        """Find where in all lots the runs of some probes start, in one part, and how many rows they have."""
        index, begin = self._index(part, key_map)
        if index is None:
            return np.array(begin), np.array(part.rows)
        first, many = index.search(request, probes)
        if bounds is not None and not request.orders and part.newest > part.least:
            long = np.flatnonzero(many >= LEAST_SAVED)
            if len(long):
                times = self._ticks()[part.start : part.stop]
                narrow(first, many, long, bounds().take(probes), times, index.order, (part.least, part.newest))
        first += begin
        return first, many

    def _find_server(self, request: Request) -> KeyMap | None:
        """Find the key map that answers a search; None for a look through all rows."""
        asked = (request.pattern, request.then)
        if asked not in self._servers:
            own = KeyMap(then=request.then)
            if request.pattern:
                own = KeyMap(fields=(Field(keys=list_keys(request.pattern), bits=HASH_BITS),))
            if own not in self._maps:
                self._maps.append(own)
            there = [own] if not self._admission.leaves_out(own) else [None, *self._maps]
            there = [key_map for key_map in there if key_map is None or not self._admission.leaves_out(key_map)]
            self._servers[asked] = min(there, key=lambda key_map: self._price(key_map, request.pattern))
        return self._servers[asked]

    def _price(self, key_map: KeyMap | None, pattern: int, spare: int | None = None) -> float:
        """Predict what a search takes for one tuple."""
        rows = [part.rows for part in self._parts]
        if key_map is None:
            return price.CANDIDATE * sum(rows)
        if not key_map.fields:
            # By an order alone half of the rows are found.
            return np.inf if pattern else price.CANDIDATE * sum(rows) / 2
        if not key_map.serves(pattern):
            return np.inf
        alike = self.alike(key_map.fields[0].keys)
        return sum(price.predict(key_map, n, alike, self._bits(key_map, n, spare)).price for n in rows)

    def _list_options(self, key_map: KeyMap) -> list[Option]:
        """List what a map takes and saves, with the fewest bits first."""
        return [
            Option(
                self._count_bytes(key_map, spare),
                {pattern: self._price(key_map, pattern, spare) for pattern in (*self._patterns, 0)},
            )
            for spare in reversed(price.SPARE_BITS)
        ]

    def _count_bytes(self, key_map: KeyMap, spare: int) -> float:
        """Count the bytes that a map takes where parts are looked into."""
        rows = [part.rows for part in self._parts if part.built]
        return float(sum(price.count_bytes(key_map, n, self._bits(key_map, n, spare)) for n in rows))

    def _bits(self, key_map: KeyMap, rows: int, spare: int | None = None) -> int:
        """Find the bits of a code for so many rows of a part."""
        if not key_map.fields:
            return 0
        if self._is_as_before():
            return HASH_BITS
        spare = self._admission.spare(key_map) if spare is None else spare
        return price.find_bits(rows, self.distinct(key_map.fields[0].keys, rows), spare)

    def _is_as_before(self) -> bool:
        return not (self.settings.merge or self.settings.time_order)

    def _count_rows(self) -> int:
        return sum(segment.rows for segment in self._segments)

    def _look(self) -> Sample:
        """Give the sample; a new one when as many rows have come as there are."""
        if self._sample is None or self._sampled <= 0:
            self._sample = Sample([key for key, _, _ in self._keys], self._count_rows)
            self._sampled = max(self._count_rows(), SAMPLE)
        return self._sample

    def _index(self, part: Part, key_map: KeyMap | None) -> Range:
        """Give an index of a part, ready to be searched."""
        known = (part.number, key_map)
        if known not in self._ready:
            index = None if key_map is None else self._build(part, key_map)
            begin = self._lots.add(
                None if index is None else index.order, part.start, part.rows if index is None else len(index.order)
            )
            self._ready[known] = (index, begin)
        return self._ready[known]

    def _build(self, part: Part, key_map: KeyMap) -> Index:
        """Build what there is not, or make it of pieces."""
        pieces = [piece for piece in part.built.pop(key_map, []) if piece.stop > part.gone]
        index = self._join(part, key_map, pieces)
        if index is None:
            index = self._make(part, key_map, part.gone, part.end, self._bits(key_map, part.rows))
        part.built[key_map] = [Piece(index, part.gone, part.end)]
        return index

    def _join(self, part: Part, key_map: KeyMap, pieces: Sequence[Piece]) -> Index | None:
        """Make one index of pieces; None if they are not all rows, or cannot be put together."""
        if not pieces or pieces[0].first > part.gone or pieces[-1].stop != part.end:
            return None
        first, *others = pieces
        index, stop = first.index, first.stop
        if others and (not part.rises or index.bits < self._bits(key_map, part.rows)):
            return None
        if first.first < part.gone and not index.trim(part.gone - first.first):
            return None
        for piece in others:
            more = piece.index
            if more.bits != index.bits:
                more = self._make(part, key_map, piece.first, piece.stop, index.bits)
            if piece.first != stop or not index.extend(more, piece.first - part.gone):
                return None
            stop = piece.stop
        return index

    def _make(self, part: Part, key_map: KeyMap, first: int, stop: int, bits: int) -> Index:
        """Put rows in order, by their own numbers in a part."""
        name = "ordered" if not key_map.fields else "sorted" if self._is_as_before() else "mapped"
        numbers = [n for field in key_map.fields for n in field.keys] or [key_map.then or 0]
        keys, ids = [self._keys[n][0] for n in numbers], np.arange(first, stop) + (part.start - part.gone)
        valid = [v for key in keys if (v := key.valid(ids)) is not None]
        in_order = part.rises or not self.settings.time_order
        rows = PartRows(
            len(ids),
            [key.codes(ids) for key in keys],
            np.logical_and.reduce(valid) if valid else None,
            None if in_order else self._ticks()[ids],
            bits,
        )
        self._counts.sort(key_map, len(ids))
        return INDEXES[name](key_map, rows)
