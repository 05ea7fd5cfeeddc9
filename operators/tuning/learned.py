"""What is known of an input beside counts, and whether it is time to choose its key maps by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.operators.index.structures.key_map import KeyMap

LEAST_CHANGE = 0.05
"""Share of the searches that must be by other patterns than before, for the maps to be chosen anew."""

GREAT_CHANGE = 0.2
"""The share from which on maps are chosen at once, however often that was in vain before."""

LEAST_GROWTH = 1.25
"""By which factor the rows must have become more or fewer, for the same."""

LOOKS = 2
"""How often maps are chosen for the same searches: the first time by what is guessed of the keys, and once more by what
was found."""

THINKING = 0.02
"""The share of the work that looks may take."""

LOOK = 20_000
"""What a look takes for each pattern that is tracked, in looks of a tuple into a part: two milliseconds for seven,
where a tuple's look takes fourteen nanoseconds."""

MOST_IDLE = 3
"""How often the time between two looks doubles, after looks that led to no switch."""

MOST_RIVALS = 4
"""Sets of maps that are held against those in force at the same time: searches go to and fro between two or three."""


@dataclass(slots=True)
class Rival:
    """Maps that might take the place of those in force.

    `ahead` is the work that they would have saved since they were first thought of, and below zero what they would have
    cost: whoever was dear when the searches turned has to make up for that first. What is long past counts less.
    """

    maps: tuple[KeyMap, ...]
    ahead: float = 0.0


@dataclass(slots=True)
class Learned:
    """What is known of an input beside counts.

    `maps` are those that were chosen, None as long as the catalog is left alone. `shares` and `stored` are the searches
    and rows by which they were, and `looks` how often. `rivals` are others that were cheaper at some time.

    Until `next_look` searches, after so many `idle` looks, nothing is looked at, and until `quiet` ones there is no
    switch. The next one that is taken back is followed by `wait` periods of them, which is also by how much more than
    others it must save, until `calm` micro-batches without one are enough. `work` is what was done since the last look.
    """

    maps: tuple[KeyMap, ...] | None = None
    batches: int = 0
    arrived: int = 0
    searches: int = 0
    number: int = 0
    shares: dict[int, float] = field(default_factory=dict)
    stored: int = 0
    looks: int = 0
    quiet: int = 0
    wait: int = 1
    calm: int = 0
    idle: int = 0
    next_look: int = 0
    work: int = 0
    corrected: dict[tuple[int, int], float] = field(default_factory=dict)
    rivals: list[Rival] = field(default_factory=list)

    def put(self, maps: tuple[KeyMap, ...]) -> None:
        """Note that other maps are in force; the rivals are as far ahead of them as they are ahead of each other."""
        before, ahead = self.maps, next((one.ahead for one in self.rivals if one.maps == maps), None)
        others = (
            [] if ahead is None else [Rival(one.maps, one.ahead - ahead) for one in self.rivals if one.maps != maps]
        )
        self.rivals = others if ahead is None or before is None else [*others, Rival(before, -ahead)]
        self.maps = maps
        self.number += 1

    def lose(self, maps: tuple[KeyMap, ...], work: float) -> None:
        """Note that maps have cost so much, whatever was expected of them."""
        self.rivals = [*(one for one in self.rivals if one.maps != maps), Rival(maps, -work)]

    def meet(self, maps: tuple[KeyMap, ...]) -> None:
        """Note maps that are cheaper than those in force; of too many, the one is forgotten that least is known of."""
        if any(set(one.maps) == set(maps) for one in self.rivals):
            return
        known = sorted(self.rivals, key=lambda one: -abs(one.ahead))
        self.rivals = [*known[: MOST_RIVALS - 1], Rival(maps)]

    def begin_look(self, searches: Mapping[int, float], rows: int, *, is_tried: bool) -> bool:
        """Begin a look if the searches or the rows are others than those by which maps were chosen; says whether."""
        whole = sum(searches.values())
        shares = {pattern: times / whole for pattern, times in searches.items()}
        known = self.shares
        change = sum(abs(shares.get(p, 0.0) - known.get(p, 0.0)) for p in {*shares, *known}) / 2
        if change >= GREAT_CHANGE:
            self.idle = self.next_look = 0
        if self.searches < self.next_look:
            return False
        grown = max(rows, self.stored) > LEAST_GROWTH * min(rows, self.stored)
        self.work = 0
        if change < LEAST_CHANGE:
            # A switch is looked at first: what comes of it says more than another guess.
            if is_tried or (self.looks >= LOOKS and not grown):
                return False
            self.looks, self.stored = self.looks + 1, rows
            return True
        self.shares, self.stored, self.looks = shares, rows, 1
        return True

    def pays_a_look(self, patterns: int) -> bool:
        """Tell whether so much was done since the last look that another one is little beside it."""
        return not self.looks or self.work * THINKING >= LOOK * patterns

    def look_later(self, period: int) -> None:
        """Wait for some periods of searches, after a look that led to nothing."""
        self.next_look = self.searches + period * ((1 << self.idle) - 1)
        self.idle = min(self.idle + 1, MOST_IDLE)
