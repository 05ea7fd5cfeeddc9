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
        # A row's cells are `base` plus one of its offsets: along a dimension it has one place, or all of them. In a
        # grid of 2 x 3 cells, where a cell is place0 + 2 * place1:
        #
        #     a is divided by dimension 0, copied along 1      base 1, offsets [0 2 4]     ->  cells 1 3 5
        #     b is copied along dimension 0, divided by 1      base 4, offsets [0 1]       ->  cells 4 5
        #
        # They meet in cell 5, and in no other. `_copied` has more offsets for single rows, heavy ones above all. Rows
        # that are not in `_joins` have a null in a key and go to one cell, wherever that is.
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
        # All values of a dimension make one hash; rows that agree on them agree on the place.
        hashes: Hashes | int = salt
        free = np.ones(len(self._joins), np.bool_)
        for codes, valid, faulty in coded:
            hashes = mix_in(codes, hashes)
            self._joins &= True if valid is None else valid
            free &= True if faulty is None else ~faulty
        # Place 0 is the base of rows that go to every place: their offsets do the rest.
        places = np.where(free, spread(np.asarray(hashes), dimension.share), 0)
        if not free.all():
            self._copied.append((~free, np.arange(dimension.share) * stride))
        for heavy in dimension.heavy:
            found = free & np.isin(coded[heavy.position][0], np.array(heavy.codes, np.int64))
            # The first of several heavy values decides.
            free &= ~found
            if heavy.stream == self._stream:
                # The heavy stream's own rows are spread; rows that join them are copied to all places to meet them.
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
        # One part has its rows in order already, and one stable sort of small numbers is several times faster.
        order = np.lexsort((rows, targets)) if len(parts) > 1 else np.argsort(_narrow(targets), kind="stable")
        return rows[order], targets[order], copied[order]

    def _group_copies(self) -> list[tuple[Integers, Integers]]:
        """Group rows that are copied alike, with their distances."""
        # A bit for each mask of `_copied`; rows with the same bits have the same offsets, and are copied in one go.
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
    # rows [7 8], offsets [0 2]   ->   rows [7 7 8 8]   cells base + [0 2 0 2]   copied [F T F T]
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
