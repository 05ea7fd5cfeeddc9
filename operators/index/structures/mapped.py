"""Searches by equality: rows stand in order of their codes, and a table says where those of each code begin.

    code     2 0 3 0         of two bits each, the first of a hash
    order    1 3 0 2         rows 1 and 3 have code 0, and the older one comes first
    begins   0 2 2 3 4       those of code 0 are order[0:2], of code 1 order[2:2]

A code may have several fields. A search that lacks the keys of the last ones finds a longer run; one that lacks those
of another looks for each value that this has:

    fields  uuu pp kk        search by u and p: one run uuupp??        by u and k: uuu00kk, uuu01kk, uuu11kk
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from eddy.contracts import Runs
from eddy.kernels.arguments import CodeTable, HashBits
from eddy.kernels.choice import choose_kernels
from eddy.kernels.plain import order_codes
from eddy.operators.index.structures.contracts import PartRows
from eddy.operators.index.structures.key_map import KeyMap
from eddy.tuples.arrays import Hashes, Integers, Numbers
from eddy.tuples.request import Request
from eddy.tuples.splitmix import mix

FEW_BITS = 16
"""Bits of a field, up to which its values are counted rather than put in order."""

MOST_RUNS = 64
"""Runs that a search looks for in one part. Where a field that it lacks has more values, those behind are not used."""

DENSE = 8
"""Places in the table for a row, up to which all codes have one; else those have one that some row has."""


class MappedIndex:
    """Finds the rows whose keys equal those of a probe."""

    def __init__(self, key_map: KeyMap, part: PartRows) -> None:
        self._fields = [_Coded(field.keys, bits) for field, bits in zip(key_map.fields, part.bits, strict=True)]
        self.bits = part.bits
        total = sum(part.bits)
        rows = _list_rows(part)
        codes, at = np.zeros(part.rows, np.int64), 0
        for field in self._fields:
            own = field.encode(part.codes[at : at + len(field.keys)])
            at += len(field.keys)
            # Behind the last field nothing is looked for, so it does not matter which values it has.
            if at < len(part.codes):
                field.note_values(own)
            codes = own if field is self._fields[0] else codes << field.bits | own
        codes = codes.astype(np.uint32)
        wanted = codes if rows is None else codes.take(rows)
        # Only tables of all codes can be put together.
        order, self._table = _Table.make(
            wanted, total, part.rows, is_dense=_is_dense(total, max(part.rows, part.among))
        )
        self.order: Numbers = (order if rows is None else rows.take(order)).astype(np.min_scalar_type(part.rows))
        self._searches: dict[int, _Search] = {}

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self.order.nbytes + self._table.nbytes + sum(field.values.nbytes for field in self._fields)

    def runs(self, pattern: int) -> Runs:
        """Say how many runs each probe finds, and whether those are rows of one code."""
        search = self._plan(pattern)
        return Runs(len(search.codes), exact=not search.free and len(search.codes) == 1)

    def table(self, pattern: int) -> CodeTable | None:
        """Give what a kernel looks up runs by; None where a search finds several for a probe, or goes by more bits."""
        search = self._plan(pattern)
        # A kernel makes codes of what a probe searches by, so a field that this lacks must have no bit that is set.
        if self._table.codes is not None or len(search.codes) != 1 or search.codes[0] or not search.used:
            return None
        used = ((self._fields[number], shift) for number, shift in search.used)
        bits = tuple(HashBits(field.keys, 64 - field.bits, shift) for field, shift in used)
        return CodeTable(self._table.begins, self.order, bits, search.free)

    def search(self, request: Request, probes: slice | Integers) -> tuple[Integers, Integers]:
        """Find the rows with each probe's code; where it has several runs, a row of them for each."""
        search = self._plan(request.pattern)
        wanted = search.code(self._fields, request, probes)
        if len(search.codes) != 1:
            wanted = wanted[:, None] | search.codes
        elif search.codes[0]:
            wanted = wanted | search.codes
        first = self._table.find(wanted)
        return first, self._table.find_end(wanted, search.free) - first

    def trim(self, rows: int) -> bool:
        """Let go of the first rows."""
        kept = self.order >= rows
        before = np.zeros(len(kept) + 1, self._table.begins.dtype)
        np.cumsum(kept, out=before[1:])
        self.order = self.order[kept] - self.order.dtype.type(rows)
        self._table.begins = before.take(self._table.begins)
        return True

    def extend(self, index: MappedIndex, first: int) -> bool:
        """Take in another index with codes of the same bits.

        Rows of one code stand side by side, those of the other behind.
        """
        if index.bits != self.bits or self._table.codes is not None or index._table.codes is not None:
            return False
        # begins  [0 2 2 3] and [0 1 1 2]  ->  [0 3 3 5]: the own rows move up by what the other has before their code,
        # the other's by what the own has up to and with it.
        begins, others = self._table.begins.astype(np.int64), index._table.begins.astype(np.int64)
        # Rows that lack a key are not in the order, but the others' numbers count them.
        width = np.min_scalar_type(first + int(index.order.max(initial=0)) + 1)
        order = np.empty(len(self.order) + len(index.order), width)
        order[np.arange(len(self.order)) + np.repeat(others[:-1], np.diff(begins))] = self.order
        moved = index.order.astype(np.int64) + first
        order[np.arange(len(index.order)) + np.repeat(begins[1:], np.diff(others))] = moved.astype(width)
        self.order, self._table.begins = order, (begins + others).astype(width)
        for field, other in zip(self._fields, index._fields, strict=True):
            field.values = np.union1d(field.values, other.values)
        self._searches = {}
        return True

    def _plan(self, pattern: int) -> _Search:
        if pattern not in self._searches:
            self._searches[pattern] = _plan(self._fields, pattern)
        return self._searches[pattern]


class _Coded:
    """A field: its keys, and how their values become its bits; `values` are those that some row has, of its bits."""

    def __init__(self, keys: tuple[int, ...], bits: int) -> None:
        self.keys = keys
        self.bits = bits
        self.values: Integers = np.empty(0, np.int64)

    def encode(self, codes: Sequence[Numbers]) -> Integers:
        """Give the bits of some rows."""
        return self._shorten(mix(codes))

    def note_values(self, own: Integers) -> None:
        """Note which values there are; of more than a search looks for, only that they are more."""
        few = self.bits <= FEW_BITS
        values = np.flatnonzero(np.bincount(own, minlength=1)) if few else np.unique(own)
        self.values = values[: MOST_RUNS + 1]

    def code(self, request: Request, probes: slice | Integers) -> Integers:
        """Give the bits of some probes."""
        return self._shorten(request.hashes(self.keys)[probes])

    def _shorten(self, hashes: Hashes) -> Integers:
        return (hashes >> np.uint64(64 - self.bits)).view(np.int64)


class _Search:
    """How a search by some keys goes: by which fields, from which bit on, and with which bits of others.

    `free` is how many last bits may be anything.
    """

    def __init__(self, used: Sequence[tuple[int, int]], codes: Integers, free: int) -> None:
        self.used = used
        self.codes = codes
        self.free = free

    def code(self, fields: Sequence[_Coded], request: Request, probes: slice | Integers) -> Integers:
        """Give the bits of each probe's own keys."""
        parts = [fields[number].code(request, probes) << shift for number, shift in self.used]
        return reduce(np.bitwise_or, parts) if parts else np.zeros(len(request), np.int64)[probes]


def _plan(fields: Sequence[_Coded], pattern: int) -> _Search:
    used: list[tuple[int, int]] = []
    codes, waiting = np.zeros(1, np.int64), np.zeros(1, np.int64)
    free = left = sum(field.bits for field in fields)
    for number, field in enumerate(fields):
        left -= field.bits
        if all(pattern >> key & 1 for key in field.keys):
            if len(waiting) > MOST_RUNS:
                break
            # Values of fields that are lacking count only where a field follows by which the search goes.
            used.append((number, left))
            codes, free = waiting, left
        elif len(waiting) <= MOST_RUNS:
            waiting = (waiting[:, None] | (field.values << left)).ravel()
    return _Search(used, codes, free)


class _Table:
    """Where the rows of each code begin: of every code, or of those in `codes`."""

    def __init__(self, begins: Numbers, codes: Numbers | None) -> None:
        self.begins = begins
        self.codes = codes

    @classmethod
    def make(cls, codes: Numbers, bits: int, rows: int, *, is_dense: bool) -> tuple[Integers, _Table]:
        """Put codes in order, and make the table of them: of all, or where that is not `dense`, of those there are."""
        width = np.min_scalar_type(rows)
        if is_dense:
            order, begins = choose_kernels().kernels.sort_codes(codes, bits)
            return order, cls(begins.astype(width), None)
        order = order_codes(codes, bits)
        found, first = np.unique(codes.take(order), return_index=True)
        return order, cls(np.append(first, len(codes)).astype(width), found.astype(np.uint32))

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self.begins.nbytes + (0 if self.codes is None else self.codes.nbytes)

    def find(self, codes: Integers) -> Integers:
        """Find where the rows of some codes begin, or would."""
        at = codes if self.codes is None else np.searchsorted(self.codes, codes.astype(self.codes.dtype))
        return self.begins.take(at).astype(np.int64)

    def find_end(self, codes: Integers, free: int) -> Numbers:
        """Find where those end whose last bits may be anything."""
        if self.codes is not None:
            return self.find(codes + (1 << free))
        return self.begins[1 << free :].take(codes)


def _is_dense(bits: int, rows: int) -> bool:
    """Tell whether a table has a place for every code."""
    return 1 << bits <= max(DENSE * rows, 1 << 8)


def _list_rows(part: PartRows) -> Integers | None:
    """List the rows that have keys, the oldest first; None for all as they stand."""
    if part.times is None:
        return None if part.valid is None else np.flatnonzero(part.valid)
    rows = np.argsort(part.times, kind="stable")
    return rows if part.valid is None else rows[part.valid.take(rows)]
