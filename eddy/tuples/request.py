"""What tuples search the rows of a STeM for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from eddy.tuples.arrays import Hashes, Integers, KeyCodes
from eddy.tuples.event_time import Ticks
from eddy.tuples.splitmix import mix

MOST_PATTERNS = 1 << 12
"""Patterns of which the keys are known without counting bits: all there are among twelve keys."""


class TimeBounds(NamedTuple):
    """The earliest and the latest time for each tuple; None where there is no bound."""

    earliest: Ticks | None
    latest: Ticks | None

    def take(self, probes: slice | Integers) -> TimeBounds:
        """Give the bounds of some tuples."""
        return TimeBounds(
            None if self.earliest is None else self.earliest[probes],
            None if self.latest is None else self.latest[probes],
        )


class Request:
    """Rows whose keys have these codes or, where there are none, whose key `then` compares with others as asked.

    Keys go by their numbers in the STeM, and all those with codes make the access `pattern`, a mask.
    """

    def __init__(
        self,
        codes: Mapping[int, KeyCodes],
        then: int | None = None,
        orders: Sequence[tuple[str, KeyCodes]] = (),
    ) -> None:
        self.codes = codes
        self.pattern = sum(1 << key for key in codes)
        self.then = then
        self.orders = orders
        self._hashes: dict[tuple[int, ...], Hashes] = {}

    def __len__(self) -> int:
        found = next(iter(self.codes.values()), None)
        return len(self.orders[0][1] if found is None else found)

    def hashes(self, keys: tuple[int, ...]) -> Hashes:
        """Give one hash for the codes of several keys."""
        if keys not in self._hashes:
            self._hashes[keys] = mix([self.codes[key] for key in keys])
        return self._hashes[keys]


@lru_cache(MOST_PATTERNS)
def list_keys(pattern: int) -> tuple[int, ...]:
    """List the keys of a pattern by number.

    >>> list_keys(0b101)
    (0, 2)
    """
    return tuple(n for n in range(pattern.bit_length()) if pattern >> n & 1)
