"""Tuples, each with a row that it may join, and what their keys say of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eddy.operators.keys import Key
from eddy.predicates.judge import Judged
from eddy.tuples.arrays import FaultCodes, Mask, RowIds


class Pairs(NamedTuple):
    """Tuples, by position, each with a row, and their faults."""

    at: RowIds
    rows: RowIds
    faults: FaultCodes | None

    def keep(self, mask: Mask) -> Pairs:
        """Some of the pairs."""
        if mask.all():
            return self
        kept = np.flatnonzero(mask)
        faults = None if self.faults is None else self.faults.take(kept)
        return Pairs(self.at.take(kept), self.rows.take(kept), faults)

    def by_row(self) -> Pairs:
        """The same pairs, those of each tuple by row and each once: whatever found them, they come out alike."""
        order = np.lexsort((self.rows, self.at))
        at, rows = self.at.take(order), self.rows.take(order)
        order = order[np.append(True, (at[1:] != at[:-1]) | (rows[1:] != rows[:-1]))[: len(order)]]
        faults = None if self.faults is None else self.faults.take(order)
        return Pairs(self.at.take(order), self.rows.take(order), faults)

    def with_faults(self, judged: Judged) -> Pairs:
        """Note the faults that a condition found among these pairs."""
        if judged.faults is None:
            return self
        found = judged.faults[judged.passed]
        return Pairs(self.at, self.rows, found if self.faults is None else np.maximum(self.faults, found))


def judge_codes(own: Key, rows: RowIds, other: Key, ids: RowIds) -> Judged:
    """Mask the rows with others' code, or with a fault."""
    own_faults, other_faults = own.faults(rows), other.faults(ids)
    faults = np.maximum(own_faults, other_faults)
    present = (_mask_valid(own, rows) | (own_faults > 0)) & (_mask_valid(other, ids) | (other_faults > 0))
    passed = present & ((faults > 0) | (own.codes(rows) == other.codes(ids)))
    return Judged(passed, faults)


def _mask_valid(key: Key, ids: RowIds) -> Mask:
    valid = key.valid(ids)
    return np.ones(len(ids), np.bool_) if valid is None else valid
