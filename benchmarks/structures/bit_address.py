"""Rows of several keys: one index for each access pattern, or one bit-address index for all of them.

A bit-address index gives each key some bits of a code (section 4.1 of the AMRI paper). A search that lacks a key looks
into the rows of all its values, unless no key behind it is given: then they are one range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.structures.by_hash import code, sort_codes
from benchmarks.structures.in_order import Ints, Pairs, Rows, expand
from eddy.tuples.splitmix import GOLDEN

Columns = np.ndarray[Any, np.dtype[np.int64]]
"""A row for each key."""

Pattern = tuple[int, ...]
"""The keys that a search gives, by number."""


class Combined:
    """One index for each pattern: offsets of hashes of its keys together."""

    def __init__(self, keys: Columns, patterns: Sequence[Pattern]) -> None:
        self._keys = keys
        self._bits = max(keys.shape[1] - 1, 1).bit_length()
        self._runs = {pattern: _run(code(_mix(keys, pattern), self._bits), self._bits) for pattern in patterns}

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys themselves."""
        return sum(offsets.nbytes + order.nbytes for offsets, order in self._runs.values())

    def search(self, pattern: Pattern, wanted: Columns) -> Pairs:
        """Find the rows with the keys that the pattern has."""
        offsets, order = self._runs[pattern]
        codes = code(_mix(wanted, pattern), self._bits)
        begins = offsets.take(codes).astype(np.int64)
        at, places = expand(begins, offsets[1:].take(codes) - begins)
        return _verify(self._keys, wanted, pattern, at, order.take(places).astype(np.int64))


class BitAddress:
    """One index for all patterns: so many bits, the same number for each key at most.

    Keys of no more values than their bits can tell apart are numbered, others are hashed.
    """

    def __init__(self, keys: Columns, bits: int) -> None:
        self._keys = keys
        each = bits // len(keys)
        self._values = [np.unique(column) for column in keys]
        self._bits = [min(each, max(len(values) - 1, 1).bit_length()) for values in self._values]
        self._shifts = np.cumsum([0, *self._bits[:0:-1]])[::-1]
        codes = np.zeros(keys.shape[1], np.uint32)
        for key in range(len(keys)):
            codes |= self._field(key, keys[key]) << np.uint32(self._shifts[key])
        self._offsets, self._order = _run(codes, sum(self._bits))

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys themselves."""
        return self._offsets.nbytes + self._order.nbytes

    def ranges(self, pattern: Pattern) -> int:
        """Count the ranges that a search by a pattern looks into."""
        return int(np.prod([1 << self._bits[key] for key in range(max(pattern)) if key not in pattern]))

    def search(self, pattern: Pattern, wanted: Columns) -> Pairs:
        """Find the rows with the keys that the pattern has."""
        codes = np.zeros((wanted.shape[1], 1), np.uint32)
        for key in range(max(pattern) + 1):
            shift = np.uint32(self._shifts[key])
            if key in pattern:
                codes |= (self._field(key, wanted[key]) << shift)[:, None]
            else:
                every = np.arange(1 << self._bits[key], dtype=np.uint32) << shift
                codes = (codes[:, :, None] | every).reshape(len(codes), -1)
        width = 1 << int(self._shifts[max(pattern)])
        begins = self._offsets.take(codes).astype(np.int64)
        counts = self._offsets.take(codes + np.uint32(width)) - begins
        at, places = expand(begins.ravel(), counts.ravel())
        return _verify(self._keys, wanted, pattern, at // codes.shape[1], self._order.take(places).astype(np.int64))

    def _field(self, key: int, column: Ints) -> np.ndarray[Any, np.dtype[np.uint32]]:
        values, bits = self._values[key], self._bits[key]
        if len(values) > 1 << bits:
            return code(column, bits)
        # A value that no row has finds the rows of another one, which are compared as all are.
        return np.minimum(np.searchsorted(values, column), len(values) - 1).astype(np.uint32)


def _mix(keys: Columns, pattern: Pattern) -> Ints:
    mixed = np.zeros(keys.shape[1], np.uint64)
    for key in pattern:
        mixed ^= keys[key].view(np.uint64)
        mixed *= GOLDEN
        mixed ^= mixed >> np.uint64(32)
    return mixed.view(np.int64)


def _run(codes: np.ndarray[Any, np.dtype[np.uint32]], bits: int) -> tuple[Rows, Rows]:
    """Where each code begins, and the rows in the order of their codes."""
    offsets = np.zeros((1 << bits) + 1, np.int32)
    np.cumsum(np.bincount(codes, minlength=1 << bits), out=offsets[1:])
    return offsets, sort_codes(codes, bits)


def _verify(keys: Columns, wanted: Columns, pattern: Pattern, at: Ints, rows: Ints) -> Pairs:
    for key in pattern:
        same = keys[key].take(rows) == wanted[key].take(at)
        at, rows = at[same], rows[same]
    return at, rows
