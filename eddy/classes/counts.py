"""Fading counts of an attribute's heaviest values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.tuples.arrays import Floats, Integers

FADING = 0.9
"""What earlier lessons count at each new one: ten lessons' worth of rows are remembered, in which a value that every
thousandth row has comes some five times."""

LEAST_WEIGHT = 0.5
"""Rows below which a value is forgotten: one that came once is, after seven lessons without it."""


class HeavyCounts:
    """The heaviest values, and how many rows they had.

    It is a sketch of bounded size, in which older rows count less.

    When there is no more room the lightest go. A value that is heavy comes back before long, and stays.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.codes: Integers = np.empty(0, np.int64)
        self.weights: Floats = np.empty(0)
        self.rows = 0.0

    def add(self, codes: Integers) -> None:
        """Count the values of one lesson; the heaviest stand first then."""
        values, counts = np.unique(codes, return_counts=True)
        self.rows = self.rows * FADING + len(codes)
        both = np.concatenate([self.codes, values])
        known, place = np.unique(both, return_inverse=True)
        weights = np.bincount(place, np.concatenate([self.weights * FADING, counts]), len(known)).astype(np.float64)
        order = np.argsort(-weights, kind="stable")[: self.room]
        order = order[weights[order] >= LEAST_WEIGHT]
        self.codes, self.weights = known[order], weights[order]

    def count_worthy(self, buckets: int) -> int:
        """Count the values that are worth a bucket of their own.

        The others are hashed into the buckets that are left.

        That is a value with at least half as many rows as one of the other buckets will have.
        """
        own = np.arange(1, min(len(self.weights), buckets - 1) + 1)
        rest = np.maximum(self.rows - np.cumsum(self.weights[: len(own)]), 0.0) / (buckets - own)
        worthy = np.flatnonzero(self.weights[: len(own)] >= rest / 2)
        return int(worthy[-1]) + 1 if len(worthy) else 0

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [self.rows, self.codes.tolist(), self.weights.tolist()]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self.rows, self.codes = state[0], np.array(state[1], np.int64)
        self.weights = np.array(state[2], np.float64)
