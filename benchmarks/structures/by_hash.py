"""Structures by hashes of keys: chains, open addressing, offsets by bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.structures.in_order import Ints, Mask, Pairs, Rows, expand
from eddy.tuples.splitmix import GOLDEN

FEW = 16
"""Bits that one pass of a radix sort puts in order."""

Codes = np.ndarray[Any, np.dtype[np.uint32]]


def code(keys: Ints, bits: int) -> Codes:
    """The leading bits of a hash of each key."""
    mixed = keys.view(np.uint64) * GOLDEN
    mixed ^= mixed >> np.uint64(32)
    mixed *= GOLDEN
    return (mixed >> np.uint64(64 - bits)).astype(np.uint32)


def sort_codes(codes: Codes, bits: int) -> Rows:
    """Put codes in order, 16 bits a pass.

    >>> sort_codes(np.array([1 << 17, 5, 1 << 16, 5], np.uint32), 18).tolist()
    [1, 3, 2, 0]
    """
    order: Rows = np.argsort(codes.astype(np.uint16), kind="stable").astype(np.int32)
    if bits <= FEW:
        return order
    high = (codes >> np.uint32(FEW)).astype(np.uint16).take(order)
    return order.take(np.argsort(high, kind="stable"))


class Buckets:
    """A bucket for each leading bits, and a chain of rows in each, the newest first.

    Rows that went end their chain, so letting the oldest go costs nothing.
    """

    def __init__(self, keys: Ints) -> None:
        self._first = 0
        self._keys, self._next = keys[:0], np.empty(0, np.int32)
        self._bits = max(len(keys) - 1, 1).bit_length()
        self._heads: Rows = np.full(1 << self._bits, -1, np.int32)
        self.append(keys)

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys themselves."""
        return self._heads.nbytes + self._next.nbytes

    def search(self, wanted: Ints) -> Pairs:
        """Walk all chains together, a row each at a time."""
        going, row = np.arange(len(wanted)), self._heads.take(code(wanted, self._bits)).astype(np.int64)
        found: list[Pairs] = []
        while True:
            on = row >= self._first
            going, row = going[on], row[on]
            if not len(going):
                break
            equal = self._keys.take(row - self._first) == wanted.take(going)
            found.append((going[equal], row[equal]))
            row = self._next.take(row - self._first).astype(np.int64)
        return _in_order(found)

    def append(self, keys: Ints) -> None:
        """Put rows before those of their chains."""
        stop = self._first + len(self._keys)
        codes = code(keys, self._bits)
        order = sort_codes(codes, self._bits)
        ordered, rows = codes.take(order), order + np.int32(stop)
        new = np.ones(len(keys), np.bool_)
        new[1:] = ordered[1:] != ordered[:-1]
        ends = np.append(new[1:], np.ones(min(len(keys), 1), np.bool_))
        after = np.empty(len(keys), np.int32)
        after[order] = np.where(new, self._heads.take(ordered), np.concatenate((rows[:1], rows[:-1])))
        self._heads[ordered[ends]] = rows[ends]
        self._keys, self._next = np.concatenate((self._keys, keys)), np.concatenate((self._next, after))

    def trim(self, count: int) -> None:
        """Let the oldest rows go."""
        self._first += count
        self._keys, self._next = self._keys[count:], self._next[count:]


class Open:
    """A slot for each row, the next free one from where its hash says.

    Slots of rows that went stay taken until they are half of all; then the table is made anew.
    """

    def __init__(self, keys: Ints) -> None:
        self._first, self._keys = 0, keys
        self._fill()

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys themselves."""
        return self._slots.nbytes

    def search(self, wanted: Ints) -> Pairs:
        """Walk from slot to slot, all probes together, up to a free one."""
        going, slot = np.arange(len(wanted)), code(wanted, self._bits).astype(np.int64)
        found: list[Pairs] = []
        while len(going):
            row = self._slots.take(slot).astype(np.int64)
            on = row >= 0
            going, slot, row = going[on], slot[on], row[on]
            here = row - self._first
            equal = (here >= 0) & (self._keys.take(np.maximum(here, 0)) == wanted.take(going))
            found.append((going[equal], row[equal]))
            slot = (slot + 1) & self._last
        return _in_order(found)

    def append(self, keys: Ints) -> None:
        """Give rows their slots; the table grows when it is more than half full."""
        stop = self._first + len(self._keys)
        self._keys = np.concatenate((self._keys, keys))
        if 2 * (self._taken + len(keys)) > len(self._slots):
            self._fill()
        else:
            self._place(keys, np.arange(stop, stop + len(keys)))

    def trim(self, count: int) -> None:
        """Let the oldest rows go."""
        self._first, self._keys = self._first + count, self._keys[count:]
        if self._taken > 2 * len(self._keys):
            self._fill()

    def _fill(self) -> None:
        self._bits = max(2 * len(self._keys), 2).bit_length()
        self._slots: Rows = np.full(1 << self._bits, -1, np.int32)
        self._last, self._taken = (1 << self._bits) - 1, 0
        self._place(self._keys, np.arange(self._first, self._first + len(self._keys)))

    def _place(self, keys: Ints, rows: Ints) -> None:
        slot = code(keys, self._bits).astype(np.int64)
        self._taken += len(rows)
        while len(rows):
            # Of several that want one slot the last to write has it; the others go on, as do those who find it taken.
            free = self._slots.take(slot) < 0
            self._slots[slot[free]] = rows[free]
            waits = self._slots.take(slot) != rows
            rows, slot = rows[waits], (slot[waits] + 1) & self._last


class Offsets:
    """Rows in the order of their codes, and where each code begins: about as many codes as rows.

    What is found by its code is compared with the key.
    """

    def __init__(self, keys: Ints) -> None:
        self._first, self._keys = 0, keys
        self._bits = max(len(keys) - 1, 1).bit_length()
        codes = code(keys, self._bits)
        self._order = sort_codes(codes, self._bits)
        self._count(np.bincount(codes, minlength=1 << self._bits))

    def _count(self, counts: Ints) -> None:
        self._offsets = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=self._offsets[1:])

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys themselves."""
        return self._offsets.nbytes + self._order.nbytes

    def search(self, wanted: Ints) -> Pairs:
        """Look each code up, and compare the keys of its rows."""
        codes = code(wanted, self._bits)
        begins = self._offsets.take(codes).astype(np.int64)
        at, places = expand(begins, self._offsets[1:].take(codes) - begins)
        rows = self._order.take(places).astype(np.int64)
        same = self._keys.take(rows - self._first) == wanted.take(at)
        return at[same], rows[same]

    def append(self, keys: Ints) -> None:
        """Put rows behind those of their codes."""
        stop = self._first + len(self._keys)
        codes = code(keys, self._bits)
        order = sort_codes(codes, self._bits)
        places = self._offsets[1:].take(codes.take(order))
        counts = np.diff(self._offsets) + np.bincount(codes, minlength=1 << self._bits)
        self._order = np.insert(self._order, places, order + np.int32(stop))
        self._keys = np.concatenate((self._keys, keys))
        self._count(counts)

    def trim(self, count: int) -> None:
        """Take the oldest rows out of their codes."""
        gone = code(self._keys[:count], self._bits)
        counts = np.diff(self._offsets) - np.bincount(gone, minlength=1 << self._bits)
        self._first, self._keys = self._first + count, self._keys[count:]
        self._order = self._order[self._order >= self._first]
        self._count(counts)


class Occupied:
    """The codes that there are, of 16 or 32 bits, each with its rows; leading bits say where to look among them.

    So did all indexes of joins until they were made of key maps. Wide codes leave few rows that do not match.
    """

    def __init__(self, keys: Ints) -> None:
        self._first, self._keys = 0, keys
        self._bits = FEW if len(keys) <= 1 << FEW else 2 * FEW
        codes = code(keys, self._bits)
        order = sort_codes(codes, self._bits)
        self._lay_out(codes.take(order), order)

    def _lay_out(self, codes: Codes, order: Rows) -> None:
        new = np.ones(len(codes), np.bool_)
        new[1:] = codes[1:] != codes[:-1]
        first = np.flatnonzero(new)
        self._codes, self._order = codes.take(first), order
        self._begins = np.append(first, len(codes)).astype(np.int32)
        leading = max(len(self._codes) - 1, 1).bit_length()
        self._shift = np.uint32(self._bits - min(leading, self._bits))
        counts = np.bincount(self._codes >> self._shift, minlength=1 << min(leading, self._bits))
        self._table = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys themselves."""
        wide = len(self._codes) * self._bits // 8
        return wide + self._begins.nbytes + self._order.nbytes + self._table.nbytes

    def search(self, wanted: Ints) -> Pairs:
        """Find each code, and compare the keys of its rows."""
        place, found = self._find(code(wanted, self._bits))
        begins = self._begins.take(place).astype(np.int64)
        at, places = expand(begins, (self._begins.take(place + 1) - begins) * found)
        rows = self._order.take(places).astype(np.int64)
        same = self._keys.take(rows - self._first) == wanted.take(at)
        return at[same], rows[same]

    def _find(self, wanted: Codes) -> tuple[Ints, Mask]:
        leading = (wanted >> self._shift).astype(np.int64)
        place = np.minimum(self._table.take(leading).astype(np.int64), len(self._codes) - 1)
        last, found = self._table.take(leading + 1), self._codes.take(place) == wanted
        left = np.flatnonzero(~found & (place + 1 < last))
        while len(left):
            place[left] += 1
            hit = self._codes.take(place[left]) == wanted[left]
            found[left[hit]] = True
            left = left[~hit]
            left = left[place[left] + 1 < last[left]]
        return place, found

    def append(self, keys: Ints) -> None:
        """Put rows behind those of their codes."""
        stop = self._first + len(self._keys)
        codes = code(keys, self._bits)
        order = sort_codes(codes, self._bits)
        old, new = np.repeat(self._codes, np.diff(self._begins)), codes.take(order)
        places = np.searchsorted(old, new, side="right")
        self._keys = np.concatenate((self._keys, keys))
        self._lay_out(np.insert(old, places, new), np.insert(self._order, places, order + np.int32(stop)))

    def trim(self, count: int) -> None:
        """Take the oldest rows out."""
        self._first, self._keys = self._first + count, self._keys[count:]
        keep = self._order >= self._first
        self._lay_out(np.repeat(self._codes, np.diff(self._begins))[keep], self._order[keep])


def _in_order(found: list[Pairs]) -> Pairs:
    """Put what was found step by step beside each other."""
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(at, kind="stable")
    return at.take(order), rows.take(order)
