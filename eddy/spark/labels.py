"""Names of cells that Spark spreads evenly over its partitions.

Spark sends a group to the partition `murmur3(key) mod partitions`. The keys 0 to 7 on 8 partitions meet only 5 of them.
Murmur3 of a 64-bit number can be undone when half of the number is known, so the label of cell `n` is chosen to hash
to exactly `n`: whatever the number of partitions is, the cells stand on them in turn. The lower half of a label is the
cell.
"""

from __future__ import annotations

WORD = 2**32 - 1

SEED = 42
"""Spark's seed; this and the next are facts of Murmur3_x86_32 (A. Appleby, public domain) as Spark calls it."""

FIRST, SECOND, ADDED = 0xCC9E2D51, 0x1B873593, 0xE6546B64
LAST = ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1))
"""The steps of the end: a shift, then a multiplication."""

BYTES = 8


def label(cell: int) -> int:
    """The key of a cell: a 64-bit number that Spark hashes to the cell's own.

    >>> [murmur3(label(cell)) for cell in range(5)]
    [0, 1, 2, 3, 4]
    """
    before = _joined(SEED, cell)
    high = _unmixed(_unjoined(_unfinished(cell)) ^ before)
    return _signed(high << 32 | cell, 64)


def cell_of(label: int) -> int:
    """The cell that a label names.

    >>> cell_of(label(7))
    7
    """
    return label & WORD


def murmur3(number: int) -> int:
    """What Spark's `hash` gives for a bigint.

    >>> murmur3(1)
    -1712319331
    """
    state = _joined(_joined(SEED, number & WORD), number >> 32 & WORD) ^ BYTES
    for shift, factor in LAST:
        state = (state ^ state >> shift) * factor & WORD
    return _signed(state, 32)


def _joined(state: int, word: int) -> int:
    mixed = _turned(word * FIRST & WORD, 15) * SECOND & WORD
    return (_turned(state ^ mixed, 13) * 5 + ADDED) & WORD


def _unfinished(state: int) -> int:
    """Undo the end of the hash."""
    for shift, factor in reversed(LAST):
        state = state * pow(factor, -1, 2**32) & WORD
        state ^= state >> shift ^ state >> 2 * shift
    return state ^ BYTES


def _unjoined(state: int) -> int:
    """Undo the last joining, down to the old state xor the mixed word."""
    return _turned((state - ADDED) * pow(5, -1, 2**32) & WORD, 32 - 13)


def _unmixed(mixed: int) -> int:
    return _turned(mixed * pow(SECOND, -1, 2**32) & WORD, 32 - 15) * pow(FIRST, -1, 2**32) & WORD


def _turned(word: int, bits: int) -> int:
    """The word rotated to the left."""
    return (word << bits | word >> (32 - bits)) & WORD


def _signed(number: int, bits: int) -> int:
    return number - 2**bits if number >> (bits - 1) else number
