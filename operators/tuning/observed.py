"""What was counted of one input over some micro-batches, and what it says of prices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from eddy.operators.index.counts import IndexCounts, Served, Work
from eddy.operators.index.experience import FEWEST, MOST_TIMES
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.tuning.contracts import REST
from eddy.operators.tuning.cost import MapPrices, PredictionTable, predict, tabulate
from eddy.operators.tuning.workload import Workload
from eddy.tuples.request import list_keys

MOST_SERVED = 1 << 11
"""Pairs of a map and a pattern that are told apart; others, of a query with very many patterns, are not looked at."""

MOST_SORTS, FEWEST_SORTS = 32.0, 0.25
"""How often a row can be put in order for a map: the bounds of what is believed."""


class TunedPart(Protocol):
    """A part of the rows, as the catalog shows it."""

    @property
    def number(self) -> int:
        """Its number; it never comes back."""

    @property
    def rows(self) -> int:
        """Its rows."""

    @property
    def maps(self) -> tuple[KeyMap, ...]:
        """The maps that may serve it."""

    @property
    def built(self) -> tuple[KeyMap, ...]:
        """Those of them that stand."""

    @property
    def nbytes(self) -> int:
        """The bytes of these."""


class Sampled(Protocol):
    """What a catalog knows of the values of keys."""

    def alike(self, keys: Iterable[int]) -> float:
        """Give the chance that two rows have the same values of some keys."""

    def distinct(self, keys: Iterable[int], rows: int) -> float:
        """Give how many values some keys have among so many rows."""


class TunedCatalog(Sampled, Protocol):
    """What the tuner asks of a catalog, and tells it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The texts of the keys."""

    @property
    def maps(self) -> tuple[KeyMap, ...]:
        """The maps in force."""

    @property
    def room(self) -> float:
        """The bytes that indexes may take."""

    @property
    def stored(self) -> int:
        """The number of rows."""

    @property
    def has_chains(self) -> bool:
        """Searches go along chains, as long as no maps were chosen."""

    @property
    def parts(self) -> Sequence[TunedPart]:
        """The parts, from the oldest to the newest."""

    def use(self, maps: Sequence[KeyMap]) -> None:
        """Give parts that are yet to come these maps."""

    def migrate(self, part: int, maps: Sequence[KeyMap]) -> int:
        """Give a part these maps; says how many rows are put in order for that."""


class SampledKeys:
    """What a catalog says of the values of keys in one part, asked once for each set of them."""

    def __init__(self, sampled: Sampled, rows: float) -> None:
        self._sampled = sampled
        self._rows = max(int(rows), 1)
        self._alike: dict[int, float] = {}
        self._distinct: dict[int, float] = {}

    def alike(self, keys: int) -> float:
        """Give the chance that two rows have the same values."""
        if keys not in self._alike:
            self._alike[keys] = min(max(self._sampled.alike(list_keys(keys)), 0.0), 1.0) if keys else 1.0
        return self._alike[keys]

    def distinct(self, keys: int) -> float:
        """Give how many values there are."""
        if keys not in self._distinct:
            self._distinct[keys] = max(self._sampled.distinct(list_keys(keys), self._rows), 1.0) if keys else 1.0
        return self._distinct[keys]


@dataclass(slots=True)
class Observed:
    """Sums over micro-batches.

    Rows that came, that were stored after each, and that were put in order; searches, and what they took; and how many
    parts were looked into, by however many of them at once.
    """

    batches: int = 0
    arrived: int = 0
    stored: int = 0
    sorted_rows: int = 0
    calls: int = 0
    asked: dict[int, int] = field(default_factory=dict)
    served: dict[Served, Work] = field(default_factory=dict)

    @property
    def searches(self) -> int:
        """All searches by keys."""
        return sum(self.asked.values())

    def add(self, counts: IndexCounts, stored: int) -> None:
        """Add a micro-batch, after which so many rows are stored."""
        self.batches += 1
        self.arrived += counts.arrived
        self.stored += stored
        self.calls += counts.calls
        self.sorted_rows += sum(rows for key_map, rows in counts.sorted_rows.items() if key_map.fields)
        for pattern, probes in counts.patterns.items():
            if pattern != REST:
                self.asked[pattern] = self.asked.get(pattern, 0) + probes
        for served, done in counts.served.items():
            if served[1] == REST or (served not in self.served and len(self.served) >= MOST_SERVED):
                continue
            known = self.served.setdefault(served, Work())
            known.probes += done.probes
            known.lookups += done.lookups
            known.ranges += done.ranges
            known.candidates += done.candidates

    def price(self, prices: MapPrices, workload: Workload) -> float:
        """Price what was done.

        Of runs only those are counted in which there was something: how many were looked for is as predicted.
        """
        maps, patterns, look = self._predict(workload)
        work = self.sorted_rows * prices.sort
        for (one, pattern), done in self.served.items():
            work += done.candidates * prices.candidate + done.lookups * prices.lookup
            if one in maps:
                runs = float(look.ranges[maps[one], patterns[pattern]])
                work += done.lookups * prices.range * (runs - 1)
        return work

    def _predict(self, workload: Workload) -> tuple[dict[KeyMap | None, int], dict[int, int], PredictionTable]:
        """Predict what its searches find, without corrections; with the rows and columns of maps and patterns."""
        maps = list(dict.fromkeys(one for one, _ in self.served if one is not None and one.fields))
        patterns = list(dict.fromkeys(pattern for _, pattern in self.served))
        plain = replace(workload, corrected={})
        look = predict(tabulate(maps), np.array(patterns, np.int64), plain, by_values=True)
        return {m: at for at, m in enumerate(maps)}, {p: at for at, p in enumerate(patterns)}, look

    def describe(
        self,
        parts: Sequence[TunedPart],
        sampled: Sampled,
        corrected: Mapping[tuple[int, int], float],
        room: float = math.inf,
    ) -> Workload:
        """Give the searches, and the rows that there were on average, as prices need them."""
        rows = self.stored / max(self.batches, 1)
        held = [part for part in parts if part.rows]
        lookups = sum(done.lookups for done in self.served.values())
        reached = lookups / max(self.searches, 1) if lookups else float(len(held))
        reached = min(max(reached, 1.0), float(max(len(held), 1)))
        built = sum(part.rows * len(part.built) for part in held)
        maps = max((len(part.built) for part in held), default=0)
        sorts = self.sorted_rows / (self.arrived * maps) if self.arrived and maps else 4.0
        return Workload(
            arrived=float(self.arrived),
            searches={pattern: float(times) for pattern, times in self.asked.items()},
            stored=rows * reached / max(len(held), 1),
            keys=SampledKeys(sampled, max((part.rows for part in held), default=1)),
            parts=reached,
            sorts=min(max(sorts, FEWEST_SORTS), MOST_SORTS),
            corrected=corrected,
            room=room,
            calls=float(self.calls),
            row_bytes=sum(part.nbytes for part in held) / built if built else 8.0,
        )

    def correct(self, workload: Workload) -> dict[tuple[int, int], float]:
        """Give, by the keys that searches went by and their pattern, the candidates found of one that was predicted."""
        maps, patterns, look = self._predict(workload)
        sums: dict[tuple[int, int], tuple[float, float]] = {}
        for (one, pattern), done in self.served.items():
            if one not in maps:
                continue
            at = maps[one], patterns[pattern]
            used, rows = int(look.used[at]), done.lookups * workload.stored / workload.parts
            for known in ((used, pattern), (used, REST)):
                found, expected = sums.get(known, (0.0, 0.0))
                sums[known] = found + done.candidates, expected + float(look.share[at]) * rows
        return {
            known: min(max(found / expected, 1 / MOST_TIMES), MOST_TIMES)
            for known, (found, expected) in sums.items()
            if expected > 0 and max(found, expected) >= FEWEST
        }
