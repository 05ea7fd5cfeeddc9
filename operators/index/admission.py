"""Which key maps are built where there is not room for all of them, and how many bits their codes have.

A map that is left out is not built in the next micro-batch either; what it is to serve is served by another, or by a
look through all rows.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eddy.operators.index.price import CANDIDATE, SORTED_ROW, SPARE_BITS
from eddy.operators.index.structures.key_map import KeyMap
from eddy.tuples.arrays import Floats

FADING = 0.9
"""What a search counts for after one micro-batch, of what it counted then."""

EASY = 0.8
"""The share of the room in which all maps have to fit with all their bits, for none to be looked at any more."""

PERIOD = 16
"""Micro-batches after which it is decided again, where there is not room for all, and of which the least room counts:
the bytes that rows take rise and fall by an eighth as arrays grow, some ten micro-batches apart, and an index that
comes and goes is put in order again each time."""

FILLED = 0.9
"""The share of the room that is given away: codes get more bits in steps, so what filled it all would need more in the
next micro-batch, and it would be decided again. That took a tenth of the time where rows are put in order: 11 decisions
in 20 micro-batches for 6 of an input of four, and 16 for 8 of five."""

DECISION = 12_000
"""What it takes to decide, for each map that may be, in look-ups: 0.17 milliseconds, with 7 maps and with 15, for
chains and orders that may stand for them, where a look-up takes 14 nanoseconds. So much, and what it takes to put the
rows in order for one more map, must have been missed in a micro-batch beyond what was accepted."""

FEWEST_UNREAD = 4
"""Micro-batches without a search after which it may be forgotten, however short the window is: a policy may ask in two
ways in turns."""

LEAST_ROOM = 1 << 16
"""Bytes that indexes may have in any case: what a few thousand rows need is not worth a look through all of them."""

FEW_ROWS = 1_024
"""Rows of which the bytes say nothing yet about the room that there will be."""

TIMES_SORTED = 2.0
"""How often a row is put in order for a map while the segment grows that it is in."""


Asked = tuple[int, int | None]
"""An access pattern, and the key by whose order a search without equalities goes."""


@dataclass(frozen=True, slots=True)
class Option:
    """A map with so many bits to spare: its bytes, and what each of the searches that it serves takes with it.

    Parts may have different maps, so what serves a search in some of them is not there in others: `prices` are by
    search and group of parts. `upkeep` is what a row takes that comes.
    """

    key_map: KeyMap
    spare: int
    nbytes: float
    prices: Mapping[tuple[Asked, int], float]
    upkeep: float = SORTED_ROW * TIMES_SORTED


Need = Callable[[KeyMap, int], float]
"""Gives the bytes of a map with so many bits to spare."""

GroupRows = Mapping[tuple[KeyMap, ...] | None, int]
"""The rows of the parts that have some maps; None stands for all maps, before any were chosen."""

Options = Callable[[KeyMap], Sequence[Option]]
"""Gives what a map takes and saves, and what may stand for it, the one of the fewest bytes first."""


@dataclass(slots=True)
class Demand:
    """How much is asked of a search: tuples, that fade.

    `unread` are the rows and micro-batches since it was asked last, with that one.
    """

    weight: float = 0.0
    unread_rows: int = 0
    unread_batches: int = 0

    def ask(self, probes: int) -> None:
        """Note a search."""
        self.weight += probes
        self.unread_rows = self.unread_batches = 0

    def fade(self, arrived: int, stored: int) -> bool:
        """End a micro-batch; says whether the search is forgotten now, since a window has gone by without it."""
        self.unread_rows += arrived
        self.unread_batches += 1
        is_past = self.unread_rows > stored and self.unread_batches > FEWEST_UNREAD
        is_forgotten = is_past and self.weight > 0
        self.weight = 0.0 if is_past else self.weight * FADING
        return is_forgotten


class Admission:
    """Knows what is asked for, and says which maps there is room for; `decisions` counts how often it was said anew."""

    def __init__(self) -> None:
        self.decisions = 0
        self._demands: dict[Asked, Demand] = {}
        self._arrived = 0.0
        self._came = 0
        # What searches took in this micro-batch for want of their own maps, and what of that was known and decided.
        self._missed: dict[KeyMap, float] = {}
        self._accepted = 0.0
        self._rooms: deque[float] = deque()
        self._spare: dict[KeyMap, int] | None = None
        self._decided: dict[KeyMap, None] = {}
        self._groups: set[tuple[KeyMap, ...] | None] = set()
        self._age = 0

    @property
    def asked(self) -> Collection[Asked]:
        """What is asked for."""
        return [asked for asked, demand in self._demands.items() if demand.weight > 0]

    def ask(self, asked: Asked, probes: int) -> None:
        """Note a search."""
        self._demands.setdefault(asked, Demand()).ask(probes)

    def arrive(self, rows: int) -> None:
        """Note rows that came."""
        self._arrived += rows
        self._came += rows

    def pays(self, asked: Asked, probes: int, saved: float, upkeep: float) -> bool:
        """Tell whether it pays to save so much for each tuple of a search, of which there are so many more now."""
        demand = self._demands.get(asked)
        return saved * (probes + (demand.weight if demand else 0.0)) > upkeep * self._arrived

    def miss(self, key_map: KeyMap, price: float) -> None:
        """Note what searches took for want of a map that was left out."""
        self._missed[key_map] = self._missed.get(key_map, 0.0) + price

    def bears(self, price: float, rows: int, maps: int = 1) -> bool:
        """Tell whether searches may take so much for want of so many maps, before it is decided anew."""
        return price <= self._accepted + DECISION * maps + SORTED_ROW * rows

    @property
    def is_limited(self) -> bool:
        """Whether there is not room for all maps."""
        return self._spare is not None

    def leaves_out(self, key_map: KeyMap) -> bool:
        """Tell whether a map is not to be built."""
        return self._spare is not None and key_map not in self._spare and key_map in self._decided

    def reconsider(self, key_map: KeyMap) -> None:
        """Let a map be built that was left out, until it is decided about again."""
        self._decided.pop(key_map, None)

    def spare(self, key_map: KeyMap) -> int:
        """Give the bits of a map's codes beyond those that number rows."""
        return SPARE_BITS[0] if self._spare is None else self._spare.get(key_map, SPARE_BITS[-1])

    def rest(
        self,
        maps: Sequence[KeyMap],
        need: Need,
        options: Options,
        room: int,
        groups: GroupRows,
        others: Sequence[KeyMap] = (),
    ) -> None:
        """End a micro-batch; `others` are maps that are not there, and may be once it is decided anew."""
        rows = sum(groups.values())
        is_forgotten = self._fade(rows)
        allowed = self._allow(room, rows)
        if sum(need(m, SPARE_BITS[0]) for m in maps) <= (allowed if self._spare is None else EASY * allowed):
            self.decisions += self._spare is not None
            self._spare, self._missed = None, {}
            return
        needed = sum(need(key_map, spare) for key_map, spare in (self._spare or {}).items())
        known = self._groups == groups.keys() and all(key_map in self._decided for key_map in maps)
        is_borne = self.bears(sum(self._missed.values()), rows, len({*maps, *others}))
        is_out_of_date = is_forgotten or self._age >= PERIOD or not is_borne
        if not known or self._spare is None or needed > allowed or is_out_of_date:
            found = [options(m) for m in dict.fromkeys((*maps, *others))]
            self._spare = self._choose(found, FILLED * allowed, list(groups.values()))
            self._decided = dict.fromkeys((*maps, *others, *(option.key_map for some in found for option in some)))
            self._groups, self._age = set(groups), 0
            self._accepted = sum(price for key_map, price in self._missed.items() if self.leaves_out(key_map))
            self.decisions += 1
        self._missed = {}

    def _fade(self, stored: int) -> bool:
        """Let what was asked for count less; says whether some of it is forgotten."""
        forgotten = [demand.fade(self._came, stored) for demand in self._demands.values()]
        self._arrived *= FADING
        self._came = 0
        self._age += 1
        return any(forgotten)

    def _allow(self, room: int, rows: int) -> float:
        """Give the bytes that maps may take."""
        if rows >= FEW_ROWS:
            self._rooms.append(max(room, LEAST_ROOM) / rows)
        while len(self._rooms) > PERIOD:
            self._rooms.popleft()
        allowed = float(max(room, LEAST_ROOM))
        return max(min(min(self._rooms) * rows, allowed), LEAST_ROOM) if self._rooms else allowed

    def _choose(self, found: Sequence[Sequence[Option]], room: float, groups: Sequence[int]) -> dict[KeyMap, int]:
        """Choose maps and bits that save most for their bytes, one step after the other; one option of each."""
        asked = [(one, group) for one in self._demands for group in range(len(groups))]
        if not found or not asked:
            return {}
        weights = np.array([self._demands[one].weight for one, _ in asked])
        most = max(map(len, found))
        # Those with fewer options have some more that there is no room for.
        found = [[*some, *[replace(some[-1], nbytes=math.inf)] * (most - len(some))] for some in found]
        prices = np.array([[[option.prices.get(one, math.inf) for one in asked] for option in some] for some in found])
        sizes = [[(0.0, 0.0), *((option.nbytes, option.upkeep) for option in some)] for some in found]
        nbytes, upkeep = np.moveaxis(np.array(sizes), 2, 0)
        scan = np.array([CANDIDATE * groups[group] for _, group in asked])
        every, level, taken = (
            np.arange(len(found)),
            np.zeros(len(found), np.int64),
            np.full(prices[:, 0].shape, math.inf),
        )
        # Each step adds a map, or gives one more bits, as pays best; level 0 is a map that is not there. What takes the
        # place of an option may not serve all that this did, as chains do not.
        while True:
            others = np.minimum(_find_least_of_others(taken), scan)
            least = np.minimum(taken.min(axis=0), scan)
            saved = ((least - np.minimum(others[:, None], prices)) * weights).sum(axis=2)
            saved -= (upkeep[:, 1:] - upkeep[every, level][:, None]) * self._arrived
            size = nbytes[:, 1:] - nbytes[every, level][:, None]
            possible = (np.arange(1, most + 1) > level[:, None]) & (size <= room) & (saved > 0)
            if not possible.any():
                chosen = [some[at - 1] for some, at in zip(found, level.tolist(), strict=True) if at]
                return {option.key_map: option.spare for option in chosen}
            ratio = np.where(possible, saved / np.maximum(size, 1.0), -np.inf)
            one, step = np.unravel_index(int(ratio.argmax()), ratio.shape)
            taken[one] = prices[one, step]
            room -= float(size[one, step])
            level[one] = step + 1


def _find_least_of_others(taken: Floats) -> Floats:
    """Find for each row the least of all others, column by column.

    >>> _find_least_of_others(np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 9.0]])).tolist()
    [[2.0, 4.0], [1.0, 5.0], [1.0, 4.0]]
    """
    columns, first = np.arange(taken.shape[1]), taken.argmin(axis=0)
    rest = taken.copy()
    rest[first, columns] = math.inf
    least: Floats = np.where(np.arange(len(taken))[:, None] == first, rest.min(axis=0), taken.min(axis=0))
    return least
