"""How often values of keys come again, estimated from some of a STeM's rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eddy.operators.keys import Key
from eddy.tuples.splitmix import mix

SAMPLE = 1_024
"""Rows that are looked at, spread over all: two in a thousand that are alike are seen with some certainty."""


class Repeats(NamedTuple):
    """The chance that two rows are alike; how many values were seen; and how many of them once, and twice."""

    alike: float
    seen: float
    once: float
    twice: float


class Sample:
    """Some rows, and how alike they are; counted anew when as many rows have come as there are.

    `age` says how often that was: what was estimated at another age may be other now.
    """

    def __init__(self, rows: Callable[[], int]) -> None:
        self.keys: list[Key] = []
        self._rows = rows
        self._found: dict[tuple[int, ...], Repeats] = {}
        self._left = 0
        self.age = 0

    def arrive(self, rows: int) -> None:
        """Note rows that came."""
        self._left -= rows
        if self._left <= 0:
            self._found, self._left = {}, max(self._rows(), SAMPLE)
            self.age += 1

    def alike(self, keys: tuple[int, ...]) -> float:
        """Estimate the chance that two rows have the same values of some keys."""
        return self._look(keys).alike

    def distinct(self, keys: tuple[int, ...], rows: int) -> float:
        """Estimate how many values some keys have together among so many rows."""
        _, seen, once, twice = self._look(keys)
        # As many as are seen twice for those seen once, so many are not seen at all for these (Chao, 1984).
        return float(min(seen + once * (once - 1) / (2 * (twice + 1)), rows))

    def _look(self, keys: tuple[int, ...]) -> Repeats:
        if keys not in self._found:
            self._found[keys] = self._count(keys)
        return self._found[keys]

    def _count(self, keys: tuple[int, ...]) -> Repeats:
        # Not the same rows for all keys, if some have gone meanwhile; but always some that there are.
        held = self._rows()
        rows = np.linspace(0, max(held - 1, 0), min(held, SAMPLE)).astype(np.int64)
        for key in keys:
            valid = self.keys[key].valid(rows)
            rows = rows if valid is None else rows[valid]
        if len(rows) < 2 or not keys:
            return Repeats(1.0, float(len(rows)), float(len(rows)), 0.0)
        _, counts = np.unique(mix([self.keys[key].codes(rows) for key in keys]), return_counts=True)
        # Of n rows, c of one value make c (c - 1) of the n (n - 1) pairs. That none is seen does not say there is none.
        pairs = max(float((counts * (counts - 1)).sum()), 0.5)
        seen, once, twice = len(counts), np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
        return Repeats(pairs / (len(rows) * (len(rows) - 1)), float(seen), float(once), float(twice))
