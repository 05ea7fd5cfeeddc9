"""A catalog without rows: it counts what searches would take, if keys were as it is told.

Tuning sees nothing of a catalog but what it counts; here the truth behind the counts is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from eddy.operators.index.counts import IndexCounts
from eddy.operators.index.structures.key_map import KeyMap, hash_map
from eddy.operators.tuning.cost import COSTS, predict, price, tabulate
from eddy.operators.tuning.workload import Spread, Workload


@dataclass
class ModelPart:
    """Rows of a part, by number alone."""

    number: int
    maps: tuple[KeyMap, ...]
    rows: int = 0
    built: tuple[KeyMap, ...] = ()

    @property
    def nbytes(self) -> int:
        return 8 * self.rows * len(self.built)


@dataclass
class ModelCatalog:
    """A window of rows in parts. `believed` is what it says of keys, `truth` what is found.

    `dearer` has maps that find so many times more than even that, as hidden dependencies would make them.
    """

    names: tuple[str, ...]
    believed: Mapping[int, float]
    truth: Mapping[int, float] = field(default_factory=dict)
    window: float = 10_000
    part_rows: int = 2_500
    room: float = math.inf
    dearer: Mapping[KeyMap, float] = field(default_factory=dict)
    maps: tuple[KeyMap, ...] = ()
    chosen: bool = False
    has_chains: bool = False
    parts: list[ModelPart] = field(default_factory=list)
    uses: list[tuple[KeyMap, ...]] = field(default_factory=list)
    migrated: list[int] = field(default_factory=list)
    made: int = 0

    @property
    def stored(self) -> int:
        return sum(part.rows for part in self.parts)

    def alike(self, keys: Iterable[int]) -> float:
        return Spread(chances=self.believed).alike(sum(1 << key for key in keys))

    def distinct(self, keys: Iterable[int], rows: int) -> float:
        return Spread(chances=self.believed, rows=rows).distinct(sum(1 << key for key in keys))

    def use(self, maps: Sequence[KeyMap]) -> None:
        self.maps, self.chosen = tuple(maps), True
        self.uses.append(self.maps)

    def migrate(self, part: int, maps: Sequence[KeyMap]) -> int:
        found = next(one for one in self.parts if one.number == part)
        found.maps, found.built = tuple(maps), ()
        self.migrated.append(found.rows)
        return found.rows * len(found.maps)

    def run(self, rows: int, searches: Mapping[int, int]) -> IndexCounts:
        """A micro-batch: rows come, and are searched."""
        counts = IndexCounts(arrived=rows)
        if not self.chosen:
            self.maps = tuple(dict.fromkeys([*self.maps, *(hash_map(pattern, 16) for pattern in searches)]))
        while rows:
            if not self.parts or self.parts[-1].rows >= self.part_rows:
                self.made += 1
                self.parts.append(ModelPart(self.made, self.maps))
            taken = min(rows, self.part_rows - self.parts[-1].rows)
            self.parts[-1].rows += taken
            rows -= taken
        while sum(part.rows for part in self.parts[1:]) >= self.window:
            del self.parts[0]
        for pattern, times in searches.items():
            counts.ask(pattern, times)
            for part in self.parts:
                self._search(part, pattern, times, counts)
        return counts

    def _search(self, part: ModelPart, pattern: int, times: int, counts: IndexCounts) -> None:
        if not self.chosen:
            part.maps = self.maps
        one, ranges, share = _find(
            part.maps, pattern, part.rows, tuple(self.believed.items()), tuple({**self.believed, **self.truth}.items())
        )
        done = counts.work((one, pattern))
        done.probes += times
        done.lookups += times
        if one is None:
            done.candidates += times * part.rows
            return
        done.ranges += int(times * ranges)
        done.candidates += int(times * part.rows * share * self.dearer.get(one, 1.0))
        # The open part is put in order anew in every micro-batch that searches it by a map, the others once.
        if one not in part.built or (part is self.parts[-1] and one not in counts.sorted_rows):
            counts.sort(one, part.rows)
            part.built = tuple(dict.fromkeys([*part.built, one]))


@cache
def _find(
    maps: tuple[KeyMap, ...],
    pattern: int,
    rows: int,
    believed: tuple[tuple[int, float], ...],
    truth: tuple[tuple[int, float], ...],
) -> tuple[KeyMap | None, float, float]:
    """The cheapest map by what is believed, and what it truly finds: ranges, and the share of the rows."""
    asked = Workload(arrived=0, searches={pattern: 1.0}, stored=rows, keys=Spread(chances=dict(believed)))
    at = int(price(tabulate(maps), asked, COSTS["work"]).searches[:, 0].argmin())
    if not at:
        return None, 0.0, 1.0
    true = replace(asked, keys=Spread(chances=dict(truth)))
    look = predict(tabulate([maps[at - 1]]), np.array([pattern]), true, by_values=True)
    return maps[at - 1], float(look.ranges[0, 0]), float(look.share[0, 0])
