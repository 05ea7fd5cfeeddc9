"""The indexes of all inputs of a join, as the engine sees them: what they have done, and who chooses them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eddy.kernels.choice import choose_kernels
from eddy.observe.indexing import IndexCount, Indexed, LateCounts, Tuning, keep_largest
from eddy.operators.index import price
from eddy.operators.index.catalog import Catalog, LinkedView, PartView
from eddy.operators.index.counts import IndexCounts, Work
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.stem import Stem
from eddy.operators.tuning.tuners import Tuners
from eddy.tuples.request import list_keys

SCAN = "scan"
"""The name of a look through all rows, in reports."""


NO_ROOM = "the rows leave no room in max_state: all of them are looked through"
"""Why there is no index, in reports."""


class IndexRoom:
    """What the rows of all streams leave of `max_state` for their indexes, in equal parts.

    `count_held` gives the bytes of results that wait, which come before indexes too.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self.stems: list[Stem] = []
        self.count_held: Callable[[], int] = lambda: 0

    @property
    def is_limited(self) -> bool:
        """There is a limit."""
        return self._most is not None

    def left_by_all(self) -> int:
        """Give the bytes that all streams leave, with their indexes."""
        return sys.maxsize if self._most is None else self._count_left(stem.nbytes for stem in self.stems)

    def left(self) -> int:
        """Give the bytes that the indexes of one stream may occupy."""
        if self._most is None:
            return sys.maxsize
        return self._count_left(stem.row_bytes for stem in self.stems) // len(self.stems)

    def _count_left(self, taken: Iterable[int]) -> int:
        return max((self._most or 0) - self.count_held() - sum(taken), 0)


class JoinIndexes:
    """Takes what each catalog has counted, for reports and for whoever chooses key maps."""

    def __init__(self, catalogs: Mapping[str, Catalog], tuners: Tuners, room: IndexRoom) -> None:
        self._catalogs = catalogs
        self._tuners = tuners
        self._room = room
        self._told: set[str] = set()
        self._kernels_note = choose_kernels().note

    def settle(self) -> Indexed:
        """End the micro-batch, once the rows that are past have gone."""
        taken = {name: catalog.take_counts() for name, catalog in self._catalogs.items()}
        done = [
            _Done(name, catalog, catalog.maps, catalog.parts, catalog.linked, taken[name])
            for name, catalog in self._catalogs.items()
        ]
        counts = LateCounts(lambda: keep_largest(count for one in done for count in _count_maps(one)))
        tunings = [*self._tell_kernels(), *self._tell_no_room(taken)]
        self._tuners.settle(taken)
        return Indexed(counts, [*tunings, *self._tuners.count()])

    def _tell_kernels(self) -> list[Tuning]:
        """Say once, of the first input, why kernels are not those that were wanted."""
        note, self._kernels_note = self._kernels_note, ""
        return [_write_note(*next(iter(self._catalogs.items())), note)] if note else []

    def _tell_no_room(self, taken: Mapping[str, IndexCounts]) -> list[Tuning]:
        """Say once of each input that its rows leave no room for any index."""
        told = []
        for name, counts in taken.items():
            by = {key_map for key_map, pattern in counts.served if pattern}
            if self._room.is_limited and by == {None} and name not in self._told:
                self._told.add(name)
                told.append(_write_note(name, self._catalogs[name], NO_ROOM, after=(SCAN,)))
        return told

    def snapshot(self) -> Mapping[str, Any]:
        """Give what was learned of the searches."""
        return self._tuners.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; rows that were stored are not new ones."""
        for catalog in self._catalogs.values():
            catalog.take_counts()
        self._tuners.restore(state)


class _Done(NamedTuple):
    """What one input's key maps have done, with all that is needed to write it down later."""

    input: str
    catalog: Catalog
    maps: Sequence[KeyMap]
    parts: Sequence[PartView]
    linked: Mapping[KeyMap, LinkedView]
    counts: IndexCounts


def _count_maps(done: _Done) -> Iterator[IndexCount]:
    """Write what each key map of an input has done, in words and numbers."""
    work: dict[KeyMap | None, dict[int, Work]] = {}
    for (key_map, pattern), of_pattern in done.counts.served.items():
        work.setdefault(key_map, {})[pattern] = of_pattern
    names = done.catalog.names
    # The parts of an input are about as large as each other, but for one that grows.
    rows = sum(part.rows for part in done.parts) // max(len(done.parts), 1)
    for key_map in dict.fromkeys([*done.maps, *(m for part in done.parts for m in part.built), *work]):
        stands = _describe_standing(done, key_map)
        known = work.get(key_map, {})
        is_linked = key_map is not None and key_map.linked
        again = 0 if key_map is None else done.counts.sorted_rows.get(key_map, 0)
        upkeep = again * (price.LINKED_ROW if is_linked else price.SORTED_ROW)
        found = stands.rows if is_linked else rows
        looks = [(one.lookups * done.catalog.predict(key_map, pattern, found), one) for pattern, one in known.items()]
        yield IndexCount(
            input=done.input,
            map=SCAN if key_map is None else key_map.describe(names),
            **stands._asdict(),
            patterns=tuple(_write_pattern(pattern, key_map, names) for pattern in known),
            probes=sum(one.probes for one in known.values()),
            lookups=sum(one.lookups for one in known.values()),
            ranges=sum(one.ranges for one in known.values()),
            candidates=sum(one.candidates for one in known.values()),
            matches=sum(one.matches for one in known.values()),
            sorted_rows=again,
            # The maps of old parts may serve patterns that those in force do not: nothing was expected of them.
            predicted=upkeep + sum(_price(one, is_linked=is_linked) if math.isinf(say) else say for say, one in looks),
            observed=upkeep + sum(_price(one, is_linked=is_linked) for _, one in looks),
            by_pattern=tuple(one.candidates for one in known.values()),
        )


class _Standing(NamedTuple):
    """How a key map stands: the segments and parts that it serves, their rows, and its bytes."""

    segments: int
    parts: int
    rows: int
    nbytes: int


def _describe_standing(done: _Done, key_map: KeyMap | None) -> _Standing:
    """Say how a key map stands; chains are one for all rows."""
    found = None if key_map is None else done.linked.get(key_map)
    if found is not None:
        return _Standing(found.segments, 1, found.rows, found.nbytes)
    has = [part for part in done.parts if key_map in part.built]
    return _Standing(
        sum(part.segments for part in has),
        len(has),
        sum(part.rows for part in has),
        sum(part.nbytes // len(part.built) for part in has),
    )


def _price(done: Work, *, is_linked: bool) -> float:
    """Give the price of what was done."""
    if is_linked:
        return price.price_walks(done.lookups, done.candidates, done.matches)
    return price.LOOKUP * done.lookups + price.RANGE * done.ranges + price.CANDIDATE * done.candidates


def _write_note(name: str, catalog: Catalog, why: str, after: tuple[str, ...] | None = None) -> Tuning:
    maps = tuple(one.describe(catalog.names) for one in catalog.maps)
    return Tuning(
        input=name,
        why=why,
        before=maps,
        after=maps if after is None else after,
        predicted=None,
        observed=None,
        migrated=0,
        patterns=0,
    )


def _write_pattern(pattern: int, key_map: KeyMap | None, names: Sequence[str]) -> str:
    """Write an access pattern; one without equalities goes by the order of a key, or by none."""
    keys = list_keys(pattern) or ([] if key_map is None or key_map.then is None else [key_map.then])
    return ", ".join(names[key] for key in keys)
