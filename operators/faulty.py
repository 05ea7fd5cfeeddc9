"""Joins of rows whose keys cannot be computed.

An equality of which one side cannot be computed has no answer, unless the other side is null: null joins nothing. So
such a row is a candidate of every tuple, and every row is one of such a tuple, as in a scan. It stays so until the row
leaves its window, or is dropped: what else is asked of the combination decides whether anybody minds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eddy.judge import Judged
from eddy.masks import Mask
from eddy.ranges import Ranges
from eddy.tuples import Codes, RowIds, Tuples
from operators.conditions import Pair
from operators.keys import Key


class Pairs(NamedTuple):
    """Tuples, by position, each with a row that may join, and the faults of the two together."""

    at: RowIds
    rows: RowIds
    faults: Codes | None

    def keep(self, mask: Mask) -> Pairs:
        """Some of the pairs."""
        if mask.all():
            return self
        kept = np.flatnonzero(mask)
        faults = None if self.faults is None else self.faults.take(kept)
        return Pairs(self.at.take(kept), self.rows.take(kept), faults)

    def faulty(self, judged: Judged) -> Pairs:
        """The same pairs, those that a condition let pass, with the faults that it found."""
        if judged.faults is None:
            return self
        found = judged.faults[judged.passed]
        return Pairs(self.at, self.rows, found if self.faults is None else np.maximum(self.faults, found))


def alike(own: Key, rows: RowIds, other: Key, ids: RowIds) -> Judged:
    """Which rows have the same code as others, or none because of a fault."""
    own_faults, other_faults = own.faults(rows), other.faults(ids)
    faults = np.maximum(own_faults, other_faults)
    present = (_valid(own, rows) | (own_faults > 0)) & (_valid(other, ids) | (other_faults > 0))
    passed = present & ((faults > 0) | (own.codes(rows) == other.codes(ids)))
    return Judged(passed, faults)


def widened(ranges: Ranges, searched: Sequence[Pair], target: str, tuples: Tuples, alive: Mask) -> Ranges:
    """The candidates that an index found, and those that faulty keys make candidates."""
    keys = [one.sides[target].key for one in searched]
    stored = np.logical_or.reduce([key.faults(np.arange(len(alive))) > 0 for key in keys]) & alive
    others = [one.other(target) for one in searched]
    coming = np.logical_or.reduce([side.key.faults(tuples.ids[side.input]) > 0 for side in others])
    strays = np.flatnonzero(stored)
    found, rows = len(ranges.rows), np.arange(len(alive))
    starts = np.broadcast_to(np.array([found, found + len(strays)]), (len(tuples), 2))
    counts = np.where(coming[:, None], [0, len(rows)], [len(strays), 0])
    return Ranges(
        np.hstack([ranges.starts, starts]),
        np.hstack([np.where(coming[:, None], 0, ranges.counts), counts]),
        np.concatenate([ranges.rows, strays, rows]),
    )


def _valid(key: Key, ids: RowIds) -> Mask:
    valid = key.valid(ids)
    return np.ones(len(ids), np.bool_) if valid is None else valid
