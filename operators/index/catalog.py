"""The indexes of one STeM, each built when a probe needs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from eddy.contracts import Index
from eddy.operators.index.counts import IndexCounts, Served
from eddy.operators.index.key_map import Field, KeyMap
from eddy.operators.index.registry import INDEXES
from eddy.operators.index.searches import Searches
from eddy.operators.index.segments import Segments
from eddy.operators.keys import Key
from eddy.operators.tuning.settings import IndexSettings
from eddy.tuples.arrays import Integers, KeyCodes, Valid
from eddy.tuples.runs import Ranges, Reach

HASH_BITS = 16

MOST_PATTERNS = 1 << 12
"""Access patterns that are listed ahead; of a query with more of them only those that are asked for are known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What some tuples search for: rows with these codes of the pattern's keys, by rising number.

    `orders` are bounds on the codes of one more key, `then`.
    """

    pattern: int
    codes: Sequence[KeyCodes]
    then: int | None = None
    orders: Sequence[tuple[str, KeyCodes]] = ()
    reach: Reach | None = None

    @property
    def probes(self) -> int:
        """The number of tuples."""
        return len(self.codes[0]) if self.codes else len(self.orders[0][1])


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

    def alike(self, keys: Iterable[int]) -> float:
        """Estimate the chance that two of its rows have the same values of some keys."""
        raise NotImplementedError(self, keys)

    def distinct(self, keys: Iterable[int]) -> float:
        """Estimate how many values some keys have together."""
        raise NotImplementedError(self, keys)


class Catalog:
    """Knows the keys of a STeM's rows, and finds rows by any of them."""

    def __init__(self, segments: Segments, settings: IndexSettings | None = None) -> None:
        self.settings = settings or IndexSettings()
        self.searches = Searches()
        self._segments = segments
        self._keys: list[tuple[Key, str, str]] = []
        self._patterns: set[int] = set()
        self._indexes: dict[KeyMap, Index] = {}
        self._fresh: set[KeyMap] = set()
        self._counts = IndexCounts()

    @property
    def nbytes(self) -> int:
        """The bytes that the indexes occupy."""
        return sum(index.nbytes for index in self._indexes.values())

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
        return tuple(self._indexes)

    @property
    def parts(self) -> Sequence[PartView]:
        """What there is of parts."""
        return [
            PartView(
                number=s.serial,
                rows=s.rows,
                maps=self.maps,
                built=self.maps,
                nbytes=self.nbytes * s.rows // max(sum(one.rows for one in self._segments), 1),
                oldest=s.oldest,
                newest=s.newest,
            )
            for s in self._segments
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

    def find(self, request: Request) -> tuple[Ranges, Served]:
        """Find the candidates of some tuples, and say what has served them."""
        key_map = self._map_for(request)
        bounds = [("=", codes) for codes in request.codes] or request.orders
        ranges = self._index(key_map).search(bounds, request.reach)
        self._counts.ask(request.pattern, request.probes)
        served = (key_map, request.pattern)
        work = self._counts.work(served)
        work.probes += request.probes
        work.lookups += ranges.counts.size
        work.ranges += int(np.count_nonzero(ranges.counts))
        return ranges, served

    def note(self, served: Served, candidates: int, matches: int) -> None:
        """Count what was looked at of what a search found, and what of that was right."""
        work = self._counts.work(served)
        work.candidates += candidates
        work.matches += matches

    def note_arrived(self, rows: int) -> None:
        """Count rows that came."""
        self._counts.arrived += rows
        self.invalidate()

    def take_counts(self) -> IndexCounts:
        """Give what was counted since the last time."""
        counts, self._counts = self._counts, IndexCounts()
        return counts

    def rest(self, room: int) -> None:
        """End the micro-batch, and keep the latest indexes.

        Only as many are kept as there is room for.
        """
        for index in self._indexes.values():
            index.rest()
        used = 0
        # Latest first, as long as they fit: the rows come first, indexes can be built again.
        for key_map in list(reversed(self._indexes)):
            used += self._indexes[key_map].nbytes
            if used > room:
                del self._indexes[key_map]
        self.invalidate()

    def invalidate(self) -> None:
        """Note that the rows are no longer those of the indexes."""
        self._fresh = set()
        self.searches.clear()

    def _map_for(self, request: Request) -> KeyMap:
        if not request.pattern:
            return KeyMap(then=request.then)
        return KeyMap(fields=(Field(keys=list_keys(request.pattern), bits=HASH_BITS),))

    def _index(self, key_map: KeyMap) -> Index:
        # Popped and put back, so that the dict stands in the order of use.
        index = self._indexes.pop(key_map, None) or INDEXES["sorted" if key_map.fields else "ordered"]()
        if key_map not in self._fresh:
            keys = [self._keys[n][0] for field in key_map.fields for n in field.keys]
            keys = keys or [self._keys[key_map.then or 0][0]]
            index.refresh(list(self._segments), lambda start, stop: _codes(keys, start, stop))
            self._fresh.add(key_map)
        self._indexes[key_map] = index
        return index


def list_keys(pattern: int) -> tuple[int, ...]:
    """List the keys of a pattern by number.

    >>> list_keys(0b101)
    (0, 2)
    """
    return tuple(n for n in range(pattern.bit_length()) if pattern >> n & 1)


def _codes(keys: Sequence[Key], start: int, stop: int) -> tuple[list[KeyCodes], Valid]:
    ids: Integers = np.arange(start, stop)
    valid = [v for key in keys if (v := key.valid(ids)) is not None]
    return [key.codes(ids) for key in keys], np.logical_and.reduce(valid) if valid else None
