"""Searches by equality: rows stand in order of their codes, and a table says where those of each code begin.

code     2 0 3 0         of two bits each, the first of a hash
order    1 3 0 2         rows 1 and 3 have code 0, and the older one comes first
begins   0 2 2 3 4       those of code 0 are order[0:2], of code 1 order[2:2]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eddy.contracts import PartRows
from eddy.operators.index.key_map import KeyMap
from eddy.tuples.arrays import Hashes, Integers, Numbers
from eddy.tuples.request import Request
from eddy.tuples.splitmix import mix

SHORT = 16
"""Bits of a number that radix sort takes in one pass, ten times as fast as a sort that compares."""


class MappedIndex:
    """Finds the rows whose keys all equal those of a probe."""

    def __init__(self, key_map: KeyMap, part: PartRows) -> None:
        (field,) = key_map.fields
        self._keys = field.keys
        rows = _list_rows(part)
        self.bits = part.bits
        found = mix(part.codes) >> np.uint64(64 - self.bits)
        found = found.astype(np.uint16 if self.bits <= SHORT else np.uint32)
        if rows is not None:
            found = found.take(rows)
        order = sort_codes(found, self.bits)
        self.order: Numbers = (order if rows is None else rows.take(order)).astype(np.min_scalar_type(part.rows))
        self._begins = _begin(found, self.bits, part.rows)

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self.order.nbytes + self._begins.nbytes

    def search(self, request: Request, probes: slice | Integers) -> tuple[Integers, Integers]:
        """Find the rows with each probe's hash."""
        wanted = self._code(request.hashes(self._keys)[probes])
        first = self._begins.take(wanted).astype(np.int64)
        return first, self._begins[1:].take(wanted) - first

    def trim(self, rows: int) -> bool:
        """Let go of the first rows."""
        kept = self.order >= rows
        before = np.zeros(len(kept) + 1, self._begins.dtype)
        np.cumsum(kept, out=before[1:])
        self.order = self.order[kept] - self.order.dtype.type(rows)
        self._begins = before.take(self._begins)
        return True

    def extend(self, index: MappedIndex, first: int) -> bool:
        """Take in another index with as many bits.

        Rows of one code stand side by side, those of the other behind.
        """
        total = first + len(index.order)
        if index.bits != self.bits:
            return False
        # begins  [0 2 2 3] and [0 1 1 2]  ->  [0 3 3 5]: the own rows move up by what the other has before their code,
        # the other's by what the own has up to and with it.
        begins, others = self._begins.astype(np.int64), index._begins.astype(np.int64)
        width = np.min_scalar_type(total)
        order = np.empty(len(self.order) + len(index.order), width)
        order[np.arange(len(self.order)) + np.repeat(others[:-1], np.diff(begins))] = self.order
        moved = index.order.astype(np.int64) + first
        order[np.arange(len(index.order)) + np.repeat(begins[1:], np.diff(others))] = moved.astype(width)
        self.order, self._begins = order, (begins + others).astype(width)
        return True

    def _code(self, hashes: Hashes) -> Integers:
        return (hashes >> np.uint64(64 - self.bits)).view(np.int64)


def sort_codes(codes: Numbers, bits: int) -> Integers:
    """Put codes in order; those that are alike stay as they stand."""
    if bits <= SHORT:
        return np.argsort(codes, kind="stable")
    # By the last bits first, and then by the first ones: of those that are alike in these, the order stays.
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    return order.take(np.argsort((codes >> SHORT).astype(np.uint16).take(order), kind="stable"))


def _list_rows(part: PartRows) -> Integers | None:
    """List the rows that have keys, the oldest first; None for all as they stand."""
    if part.times is None:
        return None if part.valid is None else np.flatnonzero(part.valid)
    rows = np.argsort(part.times, kind="stable")
    return rows if part.valid is None else rows[part.valid.take(rows)]


def _begin(codes: Numbers, bits: int, rows: int) -> np.ndarray[Any, Any]:
    begins = np.zeros((1 << bits) + 1, np.min_scalar_type(rows))
    np.cumsum(np.bincount(codes, minlength=1 << bits), out=begins[1:])
    return begins
