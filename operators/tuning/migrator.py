"""Gives old parts the maps in force, within a bound on the rows that are put in order again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.tuning.cost import price_maps
from eddy.operators.tuning.observed import Observed, SampledKeys, TunedCatalog, TunedPart
from eddy.operators.tuning.trial import MEASURED
from eddy.operators.tuning.workload import Workload

SORTED_AGAIN = 1.0
"""Rows that are put in order again for each row that comes, while old parts get new maps."""


class OldPart(NamedTuple):
    """A part without the maps in force: what searches would cost less until it leaves, and the work of sorting it."""

    saved: float
    work: float


MIGRATIONS: Mapping[str, Callable[[OldPart], bool]] = {
    # What the paper finds best: what is stored will soon be gone, and leaves with the maps before (section 8.1).
    "none": lambda _: False,
    # Whatever is stored, as soon as the bound on rows that are sorted again lets it (section 8.1).
    "all": lambda _: True,
    # Where searches save more than the work costs (section 8.2). The paper counts the tuples under way that still come
    # to a part. Between micro-batches none is; what comes is the probes that reach it, while it stays.
    "partial": lambda part: part.saved > part.work,
}
"""Which parts get the maps in force; how many at once is the bound's business."""

STILL = MIGRATIONS["partial"]
"""Rows that do not go, as those of a table, would never get the maps in force: they do where that pays."""


class Searched(NamedTuple):
    """What an input was asked, what was found of what was predicted, and the micro-batches that a row stays."""

    observed: Observed
    corrected: Mapping[tuple[int, int], float]
    life: float


class Migrator:
    """Decides about old parts, and knows what is left of the bound."""

    def __init__(self, catalog: TunedCatalog, migrate: str) -> None:
        self._catalog = catalog
        self._is_worth = MIGRATIONS[migrate]
        # Rows that may be put in order again now, and old parts that are not worth it.
        self._budget = 0.0
        self._left_alone: set[int] = set()

    def begin(self) -> None:
        """Begin anew: other maps are in force."""
        self._budget, self._left_alone = 0.0, set()

    def migrate(self, maps: tuple[KeyMap, ...], came: int, searched: Searched, *, is_still: bool) -> int:
        """Give old parts the maps in force, the newest first; says how many rows are put in order for that."""
        is_worth = STILL if is_still else self._is_worth
        parts, done = self._catalog.parts, 0
        waiting = [
            (at, part)
            for at, part in reversed(list(enumerate(parts)))
            if part.rows and not has_maps(part, maps) and part.number not in self._left_alone
        ]
        if not waiting:
            self._budget = 0.0
            return 0
        self._budget += SORTED_AGAIN * came
        for at, part in waiting:
            rows = part.rows * max(len(maps), 1)
            if rows > self._budget:
                break
            if not is_worth(self._weigh(at, maps, parts, searched)):
                self._left_alone.add(part.number)
                continue
            self._budget -= rows
            done += self._catalog.migrate(part.number, maps)
        return done

    def _weigh(self, at: int, maps: tuple[KeyMap, ...], parts: Sequence[TunedPart], searched: Searched) -> OldPart:
        """Say what a part has still to serve, and what new maps would save of that."""
        part, rows = parts[at], sum(one.rows for one in parts)
        newer = sum(one.rows for one in parts[at + 1 :])
        left = searched.life * (1 - newer / max(rows, 1))
        observed = searched.observed
        here = Workload(
            arrived=0.0,
            searches={p: times / max(observed.batches, 1) for p, times in observed.asked.items()},
            stored=float(part.rows),
            keys=SampledKeys(self._catalog, part.rows),
            corrected=searched.corrected,
        )
        had = tuple(one for one in part.maps if one.fields)
        work = MEASURED.sort * part.rows * len(maps)
        saved = (price_maps(had, here, MEASURED) - price_maps(maps, here, MEASURED)) * left
        return OldPart(saved, work)


def has_maps(part: TunedPart, maps: Sequence[KeyMap]) -> bool:
    """Tell whether a part has all of some maps."""
    return set(part.maps).issuperset(maps)
