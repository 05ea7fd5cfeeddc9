"""What an input was asked and given: all that the price of a key map depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class KeyFacts(Protocol):
    """What is known of the values of keys, given as a mask."""

    def alike(self, keys: int) -> float:
        """Give the chance that two rows have the same values."""

    def distinct(self, keys: int) -> float:
        """Give how many values there are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Keys that have nothing to do with each other, each by the chance that two of its values are the same."""

    chances: Mapping[int, float]
    rows: float = math.inf

    def alike(self, keys: int) -> float:
        """Give the chance that two rows have the same values.

        >>> Spread(chances={0: 0.1, 1: 0.5}).alike(0b11)
        0.05
        """
        return math.prod(chance for key, chance in self.chances.items() if keys >> key & 1)

    def distinct(self, keys: int) -> float:
        """Give how many values there are, if all are equally frequent."""
        return min(1 / self.alike(keys), self.rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """The rows and the searches of some time, and the rows that are searched.

    `searches` are tuples that searched, by pattern. Of the stored rows `stored` is how many one of them may look at, in
    `parts` parts. `sorts` is how often a row is put in order for a map, from when it comes until it goes. `corrected`
    has, by the mask of keys that a search went by and its pattern, REST for any, how many candidates were found of one
    that was predicted. `room` and
    `row_bytes` are the bytes for indexes, and those that a row takes in one of them. `calls` are the parts looked
    into, by however many tuples at once.
    """

    arrived: float
    searches: Mapping[int, float]
    stored: float
    keys: KeyFacts
    parts: float = 1.0
    sorts: float = 4.0
    corrected: Mapping[tuple[int, int], float] = field(default_factory=dict)
    room: float = math.inf
    row_bytes: float = 8.0
    calls: float = 0.0
