"""Places the rows of one batch in their cells.

A cell is a sum: along every dimension of the grid a row has one place, or is copied to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.spark.layout.dimension import Dimension
from eddy.spark.layout.hashing import hash_rows, mix_in, spread
from eddy.tuples.arrays import Hashes, Integers, Mask, Valid

PlacedKeys = tuple[Integers, Valid, Mask | None]
"""The codes of rows, which of them have any, and which cannot be computed; None for all, and for none."""


class Placement:
    """The rows' places along the dimensions so far, added up.

    Every dimension takes one call of `copy`, `scatter` or `divide`.
    """

    def __init__(self, stream: str, batch: pa.RecordBatch) -> None:
        self._stream = stream
        self._batch = batch
        self._base: Integers = np.zeros(batch.num_rows, np.int64)
        self._offsets: Integers = np.zeros(1, np.int64)
        self._joins = np.ones(batch.num_rows, np.bool_)
        self._copied: list[tuple[Mask, Integers]] = []

    def copy(self, stride: int, share: int) -> None:
        """Send every row to all places along a dimension."""
        self._offsets = _add_each(self._offsets, np.arange(share) * stride)

    def scatter(self, share: int, stride: int, salt: int) -> None:
        """Send each row to the place of its hash."""
        self._base += self._scatter_rows(share, salt) * stride

    def divide(self, dimension: Dimension, coded: Sequence[PlacedKeys], stride: int, salt: int) -> None:
        """Send each row to the place of its values.

        Heavy values go as their dimension says. A row whose value cannot be computed goes to all places: whatever it
        meets there, it has no answer for.
        """
        hashes: Hashes | int = salt
        free = np.ones(len(self._joins), np.bool_)
        for codes, valid, faulty in coded:
            hashes = mix_in(codes, hashes)
            self._joins &= True if valid is None else valid
            free &= True if faulty is None else ~faulty
        places = np.where(free, spread(np.asarray(hashes), dimension.share), 0)
        if not free.all():
            self._copied.append((~free, np.arange(dimension.share) * stride))
        for heavy in dimension.heavy:
            found = free & np.isin(coded[heavy.position][0], np.array(heavy.codes, np.int64))
            free &= ~found
            if heavy.stream == self._stream:
                places = np.where(found, self._scatter_rows(dimension.share, salt), places)
            else:
                places = np.where(found, 0, places)
                self._copied.append((found, np.arange(dimension.share) * stride))
        self._base += places * stride

    def finish(self, cells: int) -> tuple[Integers, Integers, Mask]:
        """Give the rows, their cells, and which of them are copies.

        A row stands as often as it goes anywhere, and is a copy all but the first time. They stand by cell, then by
        row.
        """
        parts = [_copy_rows(rows, self._base[rows], offsets) for rows, offsets in self._group_copies()]
        if not self._joins.all():
            lost = np.flatnonzero(~self._joins)
            parts.append((lost, spread(self._whole[lost], cells), np.zeros(len(lost), np.bool_)))
        rows, targets, copied = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((rows, targets)) if len(parts) > 1 else np.argsort(_narrow(targets), kind="stable")
        return rows[order], targets[order], copied[order]

    def _group_copies(self) -> list[tuple[Integers, Integers]]:
        """Group rows that are copied alike, with their distances."""
        pattern = np.zeros(len(self._joins), np.int64)
        for bit, (found, _) in enumerate(self._copied):
            pattern |= found.astype(np.int64) << bit
        kinds = []
        for one in np.unique(pattern).tolist():
            offsets = self._offsets
            for bit, (_, more) in enumerate(self._copied):
                offsets = _add_each(offsets, more) if one >> bit & 1 else offsets
            kinds.append((np.flatnonzero(self._joins & (pattern == one)), offsets))
        return kinds

    def _scatter_rows(self, share: int, salt: int) -> Integers:
        return spread(mix_in(self._whole.view(np.int64), salt), share)

    @cached_property
    def _whole(self) -> Hashes:
        return hash_rows(self._batch)


def _copy_rows(rows: Integers, base: Integers, offsets: Integers) -> tuple[Integers, Integers, Mask]:
    """Copy rows to the same distances from their base.

    The first stands for the row itself.
    """
    copied = np.tile(np.arange(len(offsets)) > 0, len(rows))
    return rows.repeat(len(offsets)), _add_each(base, offsets), copied


def _add_each(left: Integers, right: Integers) -> Integers:
    """Add each of one to each of the other."""
    return np.add.outer(left, right).ravel()


def _narrow(cells: Integers) -> np.ndarray[Any, Any]:
    """Write the same numbers in as few bytes as will do.

    Numbers of 16 bits are sorted in one pass.
    """
    return cells.astype(np.uint16) if cells.max(initial=0) < 2**16 else cells
