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

LOOK = 2_500
"""What a look takes for each pattern that is tracked, in looks of a tuple into a part: two milliseconds for seven."""

MOST_IDLE = 3
"""How often the time between two looks doubles, after looks that led to no switch."""

LONGER = 4
"""How many times as far back the searches go by which maps are chosen, after each return to maps that were in force
before. Twice as far led to half as many switches again."""

MOST_RETURNS = 3
"""How often it is so many times as far: 64 periods, beside which a turn of the searches is short."""

MOST_PAST = 8
"""Sets of maps of which it is remembered that they were in force."""

LEAST_SHARE = 1e-4
"""Share of the searches below which those of earlier periods are forgotten: they change no price."""


@dataclass(slots=True)
class Learned:
    """What is known of an input beside counts.

    `maps` are those that were chosen, None as long as the catalog is left alone. `shares` and `stored` are the searches
    and rows by which they were, `looks` how often, and `switches` how often others were chosen by the same.

    Until `next_look` searches, after so many `idle` looks, nothing is looked at, and until `quiet` ones there is no
    switch. The next one that is taken back is followed by `wait` periods of them, which is also by how much more than
    others it must save. `work` is what was done since the last look.

    `past` are sets of maps that were in force, the last at the end. Whoever comes back to one has chosen by too short a
    time: with every one of these `returns`, `mix`, the shares of the searches of some periods, goes further back.
    """

    maps: tuple[KeyMap, ...] | None = None
    batches: int = 0
    arrived: int = 0
    searches: int = 0
    number: int = 0
    shares: dict[int, float] = field(default_factory=dict)
    stored: int = 0
    looks: int = 0
    switches: int = 0
    quiet: int = 0
    wait: int = 1
    idle: int = 0
    next_look: int = 0
    work: int = 0
    corrected: dict[int, float] = field(default_factory=dict)
    past: list[tuple[KeyMap, ...]] = field(default_factory=list)
    returns: int = 0
    mix: dict[int, float] = field(default_factory=dict)

    def remember(self, searches: Mapping[int, float]) -> Mapping[int, float]:
        """Give the searches of a period as they are with those before, the further back the less."""
        whole = sum(searches.values())
        if not whole:
            return searches
        weight = LONGER**-self.returns if self.mix else 1.0
        shares = {p: (1 - weight) * share for p, share in self.mix.items()}
        for pattern, times in searches.items():
            shares[pattern] = shares.get(pattern, 0.0) + weight * times / whole
        self.mix = {p: share for p, share in shares.items() if share >= LEAST_SHARE}
        return searches if weight == 1.0 else {p: share * whole for p, share in self.mix.items()}

    def put(self, before: tuple[KeyMap, ...], after: tuple[KeyMap, ...], *, is_chosen: bool) -> None:
        """Note that other maps are in force; those that are `chosen` again, in whatever order, are a return."""
        if is_chosen and _sort_keys(after) in map(_sort_keys, self.past):
            self.returns = min(self.returns + 1, MOST_RETURNS)
        self.past = [*(one for one in self.past if one != before), before][-MOST_PAST:]
        self.maps = after
        self.number += 1

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
        self.shares, self.stored, self.looks, self.switches = shares, rows, 1, 0
        return True

    def pays_a_look(self, patterns: int) -> bool:
        """Tell whether so much was done since the last look that another one is little beside it."""
        return not self.looks or self.work * THINKING >= LOOK * patterns

    def look_later(self, period: int) -> None:
        """Wait for some periods of searches, after a look that led to nothing."""
        self.next_look = self.searches + period * ((1 << self.idle) - 1)
        self.idle = min(self.idle + 1, MOST_IDLE)


def _sort_keys(maps: tuple[KeyMap, ...]) -> set[frozenset[tuple[int, ...]]]:
    """Give what maps have of keys, without their order and bits."""
    return {frozenset(field.keys for field in one.fields) for one in maps}
