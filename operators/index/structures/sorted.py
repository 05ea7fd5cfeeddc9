"""Searches by equality among the sorted hashes of keys, with a table of where to look among them.

It is the layout of before there were key maps: 16 bits, however many rows there are. It stays as what others are
measured against.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eddy.contracts import Runs
from eddy.kernels.arguments import CodeTable
from eddy.operators.index.structures.contracts import PartRows
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.index.structures.ordered import sort_rows
from eddy.tuples.arrays import Integers, Numbers
from eddy.tuples.request import Request
from eddy.tuples.splitmix import mix

ShortHashes = np.ndarray[Any, np.dtype[np.uint16]]

HASH_BITS = 16
"""Bits of a hash. Sixteen bits sort ten times as fast as 32 (radix), and among the few thousand rows of a segment
they bring together less than one row in ten that does not match; the probe compares the keys themselves anyway."""


class SortedIndex:
    """Finds the rows whose keys all equal those of a probe."""

    bits: tuple[int, ...] = (HASH_BITS,)

    def __init__(self, key_map: KeyMap, part: PartRows) -> None:
        (field,) = key_map.fields
        self._over = field.keys
        self._hashes, self._begins, self.order = sort_rows(_shorten(mix(part.codes)), part)
        self._table = _table(self._hashes)

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self._hashes.nbytes + self._begins.nbytes + self.order.nbytes + self._table.nbytes

    def runs(self, pattern: int) -> Runs:
        """One for each probe."""
        return Runs(1, exact=True)

    def table(self, pattern: int) -> CodeTable | None:
        """Has none."""
        return None

    def search(self, request: Request, probes: slice | Integers) -> tuple[Integers, Integers]:
        """Find the rows with each probe's hash."""
        wanted = _shorten(request.hashes(self._over)[probes])
        if not len(self._hashes):
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
        place, found = _look_up(self._hashes, self._table, wanted)
        first = self._begins.take(place).astype(np.int64)
        return first, (self._begins.take(place + 1) - first) * found

    def trim(self, rows: int) -> bool:
        """Is as large as a segment, and goes with it."""
        return False

    def extend(self, index: SortedIndex, first: int) -> bool:
        """Is as large as a segment."""
        return False


def _shorten(hashes: Numbers) -> ShortHashes:
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.uint16)


def _table(hashes: ShortHashes) -> np.ndarray[Any, Any]:
    """Note where the hashes with each leading bits begin.

    There are one or two entries for each of them: with more, the index of a table would not fit beside its rows.
    """
    bits = min(max(len(hashes) - 1, 1).bit_length(), HASH_BITS)
    leading = hashes >> np.uint16(HASH_BITS - bits)
    counts = np.bincount(leading, minlength=1 << bits)
    return np.concatenate(([0], np.cumsum(counts))).astype(np.min_scalar_type(len(hashes)))


def _look_up(
    keys: ShortHashes, table: np.ndarray[Any, Any], wanted: ShortHashes
) -> tuple[Integers, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Find the place of each wanted key, and whether it is there."""
    bits = len(table).bit_length() - 1
    leading = wanted >> np.uint16(HASH_BITS - bits)
    # The table leads to the first key with the same leading bits; from there it is a walk of a step or two:
    #
    #     keys    0001 0011 0110 1100      table by two bits  [0 2 3 3 4]
    #     wanted  0011 -> bits 00 -> place 0 -> next: 0011 found
    place = table.take(leading).astype(np.int64)
    np.minimum(place, len(keys) - 1, out=place)
    found = keys.take(place) == wanted
    # All probes take their next step together; those that found their key, or left their bits, stop.
    last = table.take(leading.astype(np.int64) + 1)
    left = np.flatnonzero(~found & (place + 1 < last))
    while len(left):
        place[left] += 1
        hit = keys.take(place[left]) == wanted[left]
        found[left[hit]] = True
        left = left[~hit]
        left = left[place[left] + 1 < last[left]]
    return place, found
