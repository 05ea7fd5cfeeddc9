"""Which key map answers a search in a part, and which maps are built at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eddy.operators.index import price
from eddy.operators.index.admission import Admission, Option
from eddy.operators.index.builder import Builder
from eddy.operators.index.key_map import KeyMap, hash_map
from eddy.operators.index.mapped import MOST_RUNS
from eddy.operators.index.parts import Part, Parts
from eddy.operators.index.sample import Sample
from eddy.tuples.request import Request

HASH_BITS = 16

FALLING_BACK = ("chosen", "told")
"""The kinds under which an index that is missed is built: under the others, it is their point to do without."""

Asked = tuple[int, int | None]
"""An access pattern, and the key by whose order a search goes besides."""


class Serving:
    """Finds who serves whom, by price.

    `maps` are all that serve some part. Before others were `chosen`, there is one for each access pattern.
    """

    def __init__(self, kind: str, parts: Parts, builder: Builder, sample: Sample) -> None:
        self.maps: list[KeyMap] = []
        self.chosen: tuple[KeyMap, ...] | None = None
        self.admission = Admission()
        self._patterns: set[int] = set()
        self._kind = kind
        self._parts = parts
        self._builder = builder
        self._sample = sample
        # As long as the rows are as they are: who serves whom in which part, and how many tuples have asked.
        self._servers: dict[tuple[int, int, int | None], KeyMap | None] = {}
        self._probed: dict[Asked, int] = {}

    def begin(self) -> None:
        """Find everything out anew, since rows or maps are others."""
        self._servers, self._probed = {}, {}

    def ask(self, request: Request) -> None:
        """Note a search."""
        asked = (request.pattern, request.then)
        self._probed[asked] = self._probed.get(asked, 0) + len(request)
        self._patterns.add(request.pattern)
        self.admission.ask(request.pattern, len(request))

    def rest(self, room: int) -> None:
        """Choose the maps that there is room for, and let go of all others."""
        if self.chosen is not None:
            others = (m for part in self._parts for m in (*(part.maps or ()), *part.built))
            self.maps = list(dict.fromkeys((*self.chosen, *others)))
        rows = sum(part.rows for part in self._parts)
        self.admission.rest(self.maps, self._count_bytes, self._list_options, room, rows)
        for part in self._parts:
            part.built = {m: pieces for m, pieces in part.built.items() if self._is_kept(m, part)}

    def _is_kept(self, key_map: KeyMap, part: Part) -> bool:
        """Tell whether there is room for an index, and for so many bits of it."""
        most = sum(self.find_bits(key_map, part.rows)) + 1
        return not self.admission.leaves_out(key_map) and all(
            sum(piece.index.bits) <= most for piece in part.built[key_map]
        )

    def find(self, part: Part, request: Request) -> KeyMap | None:
        """Find the key map that answers a search in a part; None for a look through all its rows."""
        pattern, then = request.pattern, request.then
        known = (part.number, pattern, then)
        if known in self._servers and not self._may_fall_back:
            return self._servers[known]
        own = KeyMap(then=then)
        if pattern:
            own = hash_map(pattern, HASH_BITS)
        there = [m for m in (self.maps if part.maps is None else part.maps) if not self.admission.leaves_out(m)]
        there += [m for m in part.built if m not in there]
        if not pattern or part.maps is None:
            self._servers[known] = own
            if self.admission.leaves_out(own):
                self._servers[known] = self._choose(there, part, pattern)
        else:
            best = self._choose(there, part, pattern)
            falls = self._may_fall_back and not self.admission.leaves_out(own)
            self._servers[known] = own if falls and self._pays(own, best, part, request) else best
        found = self._servers[known]
        if found is not None and found not in self.maps:
            self.maps.append(found)
        return found

    @property
    def _may_fall_back(self) -> bool:
        return self._kind in FALLING_BACK and self.chosen is not None

    def _choose(self, maps: Sequence[KeyMap], part: Part, pattern: int) -> KeyMap | None:
        return min((None, *maps), key=lambda key_map: self.price_part(key_map, part.rows, pattern))

    def _pays(self, own: KeyMap, best: KeyMap | None, part: Part, request: Request) -> bool:
        """Tell whether to put a part in order for a search costs less than what it is served by."""
        saved = self.price_part(best, part.rows, request.pattern) - self.price_part(own, part.rows, request.pattern)
        return self._probed[request.pattern, request.then] * saved > part.rows * price.SORTED_ROW

    def price_part(self, key_map: KeyMap | None, rows: int, pattern: int, spare: int | None = None) -> float:
        """Predict what a search takes for one tuple in so many rows."""
        if key_map is None:
            return price.CANDIDATE * rows
        if not key_map.fields:
            # By an order alone half of the rows are found.
            return math.inf if pattern else price.CANDIDATE * rows / 2
        return self._predict(key_map, rows, pattern, spare).price

    def _predict(self, key_map: KeyMap, rows: int, pattern: int, spare: int | None = None) -> price.Look:
        bits = self.find_bits(key_map, rows, spare)
        return price.predict(key_map, pattern, rows, bits, self._sample.alike, self._sample.distinct)

    def count_runs(self, pattern: int) -> int:
        """Say about how many runs the map that serves a search finds in one part."""
        if all(len(key_map.fields) < 2 for key_map in self.maps):
            return 1
        part = max(self._parts, key=lambda one: one.rows, default=None)
        best = None if part is None else self._choose(self.maps, part, pattern)
        if part is None or best is None or len(best.fields) < 2:
            return 1
        look = self._predict(best, part.rows, pattern)
        return min(math.ceil(look.ranges), MOST_RUNS)

    def _price(self, key_map: KeyMap, pattern: int, spare: int) -> float:
        """Predict what a search takes for one tuple, in the rows as they are; infinity if the map does not serve it."""
        return sum(self.price_part(key_map, part.rows, pattern, spare) for part in self._parts)

    def _list_options(self, key_map: KeyMap) -> list[Option]:
        """List what a map takes and saves, with the fewest bits first."""
        asked = sorted(self._patterns)
        return [
            Option(
                self._count_bytes(key_map, spare), {pattern: self._price(key_map, pattern, spare) for pattern in asked}
            )
            for spare in reversed(price.SPARE_BITS)
        ]

    def _count_bytes(self, key_map: KeyMap, spare: int) -> float:
        """Count the bytes that a map takes where parts are looked into."""
        rows = [part.rows for part in self._parts if part.built and (part.maps is None or key_map in part.maps)]
        return float(sum(price.count_bytes(key_map, n, self.find_bits(key_map, n, spare)) for n in rows))

    def find_bits(self, key_map: KeyMap, rows: int, spare: int | None = None) -> tuple[int, ...]:
        """Find the bits of the fields for so many rows of a part."""
        return self._builder.find_bits(key_map, rows, self.admission.spare(key_map) if spare is None else spare)
