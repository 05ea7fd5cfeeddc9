"""Which key map answers a search in a part, and which maps are built at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from eddy.operators.index import price
from eddy.operators.index.admission import LEAST_ROOM, Admission, Asked, Option
from eddy.operators.index.builder import Builder
from eddy.operators.index.counts import Served, Work
from eddy.operators.index.linking import Linking
from eddy.operators.index.parts import Part, Parts
from eddy.operators.index.pricing import Pricing
from eddy.operators.index.sample import Sample
from eddy.operators.index.structures.key_map import KeyMap, hash_map, linked_map
from eddy.operators.index.structures.mapped import MOST_RUNS
from eddy.operators.tuning.settings import Kind
from eddy.tuples.request import Request

HASH_BITS = 16
"""Bits of a pattern's own map: as many as the rows need, and there is room for."""

LINKED_SPARES = tuple(spare for spare in reversed(price.SPARE_BITS) if spare <= 0)
"""By how many bits the heads of chains may fall short of the rows: more heads than rows find no fewer candidates. An
order that may stand for chains is weighed with the same: with more of them a decision took a quarter longer, and chose
no better."""

Groups = Mapping[tuple[KeyMap, ...] | None, Sequence[Part]]
"""The parts, by the maps that they have."""


class Server(NamedTuple):
    """What answers a search in a part: the best map there may be, and the pattern's own once so many tuples ask."""

    best: KeyMap | None
    own: KeyMap | None = None
    enough: float = math.inf


class ServingMap(NamedTuple):
    """The key map that answers a search in a part, None for a look through all rows, up to so many tuples."""

    key_map: KeyMap | None
    enough: float


class Servers(NamedTuple):
    """What answers searches in a part, as long as what it was found out from stays: the `stamp`."""

    stamp: tuple[Any, ...]
    known: dict[Asked, Server]


class Serving:
    """Finds who serves whom, by price.

    `maps` are all that serve some part. Before others were `chosen`, there is one for each access pattern. Where it
    `may_link`, searches go along chains of all rows instead, if there is room for some.
    """

    def __init__(self, kind: Kind, parts: Parts, builder: Builder, sample: Sample, *, may_link: bool = False) -> None:
        self.maps: list[KeyMap] = []
        self.chosen: tuple[KeyMap, ...] | None = None
        self.admission = Admission()
        self.pricing = Pricing(sample, builder, self.admission)
        self.linking = Linking(self.admission, self.pricing, may_link=may_link)
        self._asked: set[Asked] = set()
        self._rows = 0
        self._kind = kind
        self._parts = parts
        self._builder = builder
        self._sample = sample
        self._servers: dict[int, Servers] = {}
        # As long as the rows are as they are: how many tuples have asked, and how many runs a search may find.
        self._probed: dict[Asked, int] = {}
        self._runs: dict[int, int] = {}

    def begin(self) -> None:
        """Follow rows or maps that are others."""
        self._probed, self._runs = {}, {}
        numbers = {part.number for part in self._parts}
        for gone in [number for number in self._servers if number not in numbers]:
            del self._servers[gone]

    def ask(self, request: Request) -> None:
        """Note a search."""
        asked = (request.pattern, request.then)
        self._probed[asked] = self._probed.get(asked, 0) + len(request)
        self._asked.add(asked)
        self.admission.ask(asked, len(request))

    @property
    def is_linked(self) -> bool:
        """All searches go along chains, so nobody has to know the parts."""
        return bool(self.linking.maps) and not self.maps and self.chosen is None

    @property
    def is_plain(self) -> bool:
        """All maps have one field at most, so a search finds one run in a part."""
        return all(len(key_map.fields) < 2 for key_map in self.maps)

    def choose(self, maps: Sequence[KeyMap]) -> None:
        """Serve searches by some maps, in the parts that are yet to come."""
        self.chosen = tuple(maps)
        self.linking.stop()

    def be_plain(self, pattern: int) -> bool:
        """Serve a pattern without chains, since they lead past rows that are too new; tell whether that is new."""
        is_new = self.linking.be_plain(pattern)
        if is_new:
            # Its own map was left out, since chains stood for it.
            self.reconsider(hash_map(pattern, HASH_BITS))
        return is_new

    def reconsider(self, key_map: KeyMap) -> None:
        """Let a map be built that was left out, until it is decided about again."""
        self.admission.reconsider(key_map)
        self._servers.clear()

    def count_bytes(self, key_map: KeyMap) -> float:
        """Count the bytes that a map would take."""
        return self._count_bytes(key_map, self.admission.spare(key_map))

    def find_linked(self, request: Request, rows: int) -> KeyMap | None:
        """Find the chains that answer a search among so many rows; None if others do."""
        return self.linking.find(request.pattern, len(request), rows, lambda: self._price_orders(request.pattern))

    def _price_orders(self, pattern: int) -> float:
        """Predict what a search takes for one tuple by the best map that puts rows in order."""
        there = [m for m in (*self.maps, hash_map(pattern, HASH_BITS)) if not self.admission.leaves_out(m)]
        parts = list(self._parts)
        return min((self.pricing.price_parts(m, parts, pattern) for m in there), default=math.inf)

    def rest(self, room: int, rows: int, served: Mapping[Served, Work], follow: Callable[[], None]) -> None:
        """Choose the maps that there is room for, and let go of all others; `served` is what searches took.

        There are so many `rows`; whoever must know their parts tells them to `follow`.
        """
        self.pricing.experience.note(served)
        self.linking.rest()
        if self._builder.is_as_before and self.chosen is None:
            self._keep_latest(room)
            return
        if self.chosen is not None:
            others = (m for part in self._parts for m in (*(part.maps or ()), *part.built))
            self.maps = list(dict.fromkeys((*self.chosen, *others, *self._list_missed())))
        self._note_missed(served)
        self._rows = rows
        groups = self._group_parts()

        def list_options(key_map: KeyMap) -> list[Option]:
            walks = self._list_walks(key_map) if key_map.linked else []
            follow()
            return sorted([*walks, *self._list_options(key_map, self._group_parts())], key=lambda one: one.nbytes)

        linked = self.linking.maps
        own = [linked_map(pattern) for pattern, _ in self.admission.asked if self.linking.serves(pattern)]
        self.admission.rest(
            list(dict.fromkeys((*linked, *map(self._find_link, self.maps)))),
            self._count_bytes,
            list_options,
            room,
            {None: rows}
            if self.chosen is None
            else {maps: sum(p.rows for p in group) for maps, group in groups.items()},
            own,
        )
        self._let_go(served, room)

    def _find_link(self, key_map: KeyMap) -> KeyMap:
        """Find the chains that may stand for a map; the map itself if there are none."""
        linked = linked_map(sum(key_map.masks))
        return linked if linked in self.linking.maps and len(key_map.fields) == 1 else key_map

    def _is_replaced(self, key_map: KeyMap) -> bool:
        linked = self._find_link(key_map)
        return linked != key_map and not self.admission.leaves_out(linked)

    def _group_parts(self) -> dict[tuple[KeyMap, ...] | None, list[Part]]:
        groups: dict[tuple[KeyMap, ...] | None, list[Part]] = {}
        for part in self._parts:
            groups.setdefault(part.maps, []).append(part)
        return groups

    def _let_go(self, served: Mapping[Served, Work], room: int) -> None:
        """Let go of indexes that there is no room for, and of those for which chains stand and that nobody searched."""
        used = {key_map for key_map, _ in served}
        self.maps = [m for m in self.maps if m in used or not self._is_replaced(m)]
        built = sum(piece.index.nbytes for part in self._parts for pieces in part.built.values() for piece in pieces)
        # A part that is trimmed soon needs a bit less, which is no reason to put it in order again while there is room.
        more = 1 if built <= max(room, LEAST_ROOM) else 0
        for part in self._parts:
            part.built = {m: pieces for m, pieces in part.built.items() if self._is_kept(m, part, more)}

    def _note_missed(self, served: Mapping[Served, Work]) -> None:
        """Note the candidates in vain that searches had since their own maps were left out.

        They are counted, not predicted: what was known of the keys when it was decided is what may have changed.
        """
        for (key_map, pattern), work in served.items():
            own = hash_map(pattern, HASH_BITS)
            vain = max(work.candidates - work.matches, 0)
            if key_map is not None and key_map.linked:
                self._note_passed(key_map, pattern, price.STEP * vain)
            elif pattern and self.admission.leaves_out(own):
                self.admission.miss(own, price.CANDIDATE * vain)

    def _note_passed(self, key_map: KeyMap, pattern: int, missed: float) -> None:
        """Note that a search went past rows along chains of fewer keys."""
        own = linked_map(pattern)
        if key_map == own:
            return
        if self.admission.leaves_out(own):
            self.admission.miss(own, missed)
        elif missed > price.LINKED_ROW * self._rows:
            self.linking.reconsider(pattern)

    def _list_missed(self) -> list[KeyMap]:
        """List the maps of patterns that would be built, if they had not been left out: their turn may come again."""
        if not self.may_fall_back:
            return []
        own = (hash_map(pattern, HASH_BITS) for pattern, _ in self.admission.asked if pattern)
        return [key_map for key_map in own if self.admission.leaves_out(key_map)]

    def _keep_latest(self, room: int) -> None:
        """Keep the maps that were asked for last, as before there were key maps; others are built again when asked."""
        used = 0
        for key_map in list(reversed(self.maps)):
            used += sum(piece.index.nbytes for part in self._parts for piece in part.built.get(key_map, ()))
            if used > room:
                self.maps.remove(key_map)
                for part in self._parts:
                    part.built.pop(key_map, None)

    def _is_kept(self, key_map: KeyMap, part: Part, more: int) -> bool:
        """Tell whether there is room for an index, and for so many bits of it, or some more."""
        if self.chosen is None and key_map not in self.maps:
            return False
        most = sum(self.pricing.find_bits(key_map, part.rows)) + more
        return not self.admission.leaves_out(key_map) and all(
            sum(piece.index.bits) <= most for piece in part.built[key_map]
        )

    def count_asked(self, request: Request) -> int:
        """Count the tuples that have asked, as long as the rows are as they are."""
        return self._probed[request.pattern, request.then]

    def find(self, part: Part, request: Request) -> ServingMap:
        """Find the key map that answers a search in a part."""
        asked = (request.pattern, request.then)
        # What is best among so many rows is best, or nearly so, until they are twice as many.
        stamp = (part.rows.bit_length(), part.maps, self.chosen, self.admission.decisions, self._sample.age)
        servers = self._servers.get(part.number)
        if servers is None or servers.stamp != stamp:
            servers = self._servers[part.number] = Servers(stamp, {})
        if asked not in servers.known:
            servers.known[asked] = self._find(part, *asked)
        best, own, enough = servers.known[asked]
        found = ServingMap(best, enough) if self._probed[asked] <= enough else ServingMap(own, math.inf)
        if found.key_map is not None and found.key_map not in self.maps:
            self.maps.append(found.key_map)
        return found

    def _find(self, part: Part, pattern: int, then: int | None) -> Server:
        own = hash_map(pattern, HASH_BITS) if pattern else KeyMap(then=then)
        # Where maps were chosen for a part, a pattern has its own only if that pays.
        is_free = pattern > 0 and part.maps is not None
        if not (is_free or self.admission.leaves_out(own)):
            return Server(own)
        if not pattern:
            # Rows that stand in the order of another key are not those that were asked for.
            return Server(None)
        there = [m for m in (self.maps if part.maps is None else part.maps) if not self.admission.leaves_out(m)]
        there += [m for m in part.built if m not in there]
        best = self._choose(there, part, pattern)
        if not (is_free and self.may_fall_back) or self.admission.leaves_out(own):
            return Server(best)
        # To put a part in order pays for as many tuples as save more than that takes.
        find = self.pricing.price_part
        saved = find(best, part.rows, pattern) - find(own, part.rows, pattern)
        return Server(best, own, part.rows * price.SORTED_ROW / saved if saved > 0 else math.inf)

    @property
    def may_fall_back(self) -> bool:
        """What serves a search may be another once enough tuples have asked."""
        return self._kind.is_free and self.chosen is not None

    def _choose(self, maps: Sequence[KeyMap], part: Part, pattern: int) -> KeyMap | None:
        return min((None, *maps), key=lambda key_map: self.pricing.price_part(key_map, part.rows, pattern))

    def count_runs(self, pattern: int) -> int:
        """Say about how many runs the map that serves a search finds in one part."""
        if pattern not in self._runs:
            self._runs[pattern] = self._count_runs(pattern)
        return self._runs[pattern]

    def _count_runs(self, pattern: int) -> int:
        part = max(self._parts, key=lambda one: one.rows, default=None)
        best = None if part is None else self._choose(self.maps, part, pattern)
        if part is None or best is None or len(best.fields) < 2:
            return 1
        look = self.pricing.guess(best, part.rows, pattern)
        return min(math.ceil(look.ranges), MOST_RUNS)

    def _list_walks(self, key_map: KeyMap) -> list[Option]:
        """List what chains take and save, those of the fewest bytes first."""
        found = {
            one: self.pricing.price_part(key_map, self._rows, one[0], 0)
            for one in sorted(self._asked)
            if key_map.list_fields(one[0]) and self.linking.serves(one[0])
        }
        options = []
        for spare in LINKED_SPARES:
            passed = price.price_passed(self._rows, spare) - price.price_passed(self._rows, 0)
            prices = {(one, 0): walk + passed for one, walk in found.items()}
            nbytes = price.count_linked_bytes(self._rows, spare)
            options.append(Option(key_map, spare, nbytes, prices, price.LINKED_ROW))
        return options

    def _list_options(self, key_map: KeyMap, groups: Groups) -> list[Option]:
        """List what a map that puts rows in order takes and saves; for chains, the one that may stand for them."""
        own = hash_map(key_map.masks[0], HASH_BITS) if key_map.linked else key_map
        spares = LINKED_SPARES if key_map.linked else price.SPARE_BITS[::-1]
        prices: dict[int, dict[tuple[Asked, int], float]] = {spare: {} for spare in spares}
        for number, (maps, parts) in enumerate(groups.items()):
            for some in self._sort_asked(own, maps):
                times = {one: self.pricing.find_times(own, one[0]) if own.fields else 1.0 for one in some}
                for spare in spares:
                    looks, candidates = self.pricing.guess_all(own, parts, some[0][0], spare)
                    prices[spare].update({(one, number): looks + candidates * of for one, of in times.items()})
        return [Option(own, spare, self._count_bytes(own, spare), prices[spare]) for spare in spares]

    def _sort_asked(self, key_map: KeyMap, maps: tuple[KeyMap, ...] | None) -> list[list[Asked]]:
        """Group what a map may serve in some parts: searches by the same fields are guessed to take the same."""
        found: dict[tuple[int, ...], list[Asked]] = {}
        for one in sorted(self._asked):
            fields = key_map.list_fields(one[0])
            is_served = bool(fields) if key_map.fields else one == (0, key_map.then)
            if is_served and self._may_serve(key_map, maps, one[0]):
                found.setdefault(fields, []).append(one)
        return list(found.values())

    def _may_serve(self, key_map: KeyMap, maps: tuple[KeyMap, ...] | None, pattern: int) -> bool:
        """Tell whether a search may find rows by a map in the parts that have some maps."""
        if maps is None or not pattern or key_map in maps:
            return True
        return self.may_fall_back and key_map == hash_map(pattern, HASH_BITS)

    def _count_bytes(self, key_map: KeyMap, spare: int) -> float:
        """Count the bytes that a map takes where parts are looked into; in all, where none has been."""
        if key_map.linked:
            own = hash_map(key_map.masks[0], HASH_BITS)
            built = (piece for part in self._parts for piece in part.built.get(own, ()))
            return price.count_linked_bytes(self._rows, spare) + sum(piece.index.nbytes for piece in built)
        seen = [part for part in self._parts if part.built] or list(self._parts)
        seen = [p for p in seen if p.maps is None or key_map in p.maps or key_map in p.built]
        return float(sum(self._count_part_bytes(key_map, spare, part) for part in seen))

    def _count_part_bytes(self, key_map: KeyMap, spare: int, part: Part) -> int:
        """Count the bytes of a part's index; one that stays as it is has the bits of when it was made."""
        counted = price.count_bytes(key_map, part.rows, self.pricing.find_bits(key_map, part.rows, spare))
        if spare != self.admission.spare(key_map):
            return counted
        return max(counted, sum(piece.index.nbytes for piece in part.built.get(key_map, ())))
