"""Hashes of rows, and labels that Spark hashes to cells.

Nothing here depends on a seed of Python's or on a version of numpy: a row that is replayed goes where it went before.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eddy.classes.classifier import can_classify
from eddy.tuples.arrays import Hashes, Integers
from eddy.tuples.codes import encode
from eddy.tuples.splitmix import GOLDEN, splitmix64

HALF = np.uint64(32)

WORD_MASK = 2**32 - 1

SEED = 42
"""Spark's seed; this and the next are facts of Murmur3_x86_32 (A. Appleby, public domain) as Spark calls it."""

FIRST, SECOND, ADDED = 0xCC9E2D51, 0x1B873593, 0xE6546B64

FINAL_STEPS = ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1))
"""The steps of the end: a shift, then a multiplication."""

KEY_BYTES = 8


def mix_in(codes: Integers, before: Hashes | int) -> Hashes:
    """Mix one more value of each row into its hash.

    `before` is the hash of the values so far, or a salt.
    """
    state = (codes.view(np.uint64) ^ before) + GOLDEN if isinstance(before, np.ndarray) else _salt(codes, before)
    return splitmix64(state)


def spread(hashes: Hashes, share: int) -> Integers:
    """Spread hashes evenly over the numbers below `share`.

    Only the upper half of the bits counts.
    """
    return ((hashes >> HALF) * np.uint64(share) >> HALF).view(np.int64)


def hash_rows(batch: pa.RecordBatch) -> Hashes:
    """Hash each row.

    Two or more columns of numbers and times stand for the row, since they are read much faster than texts. Columns
    of columns tell nothing. Rows that are alike go to one place.
    """
    flat = [column for column in batch.columns if can_classify(column.type)]
    fixed = [column for column in flat if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type))]
    hashes: Hashes = np.zeros(batch.num_rows, np.uint64)
    for column in fixed if len(fixed) > 1 else flat:
        codes, valid = encode(column)
        # A null has any number for a code; rows that are alike must be hashed alike.
        hashes = mix_in(codes if valid is None else np.where(valid, codes, -1), hashes)
    return hashes


def label(cell: int) -> int:
    """Make a cell's key: Spark hashes it to the cell's number.

    >>> [murmur3(label(cell)) for cell in range(5)]
    [0, 1, 2, 3, 4]
    """
    before = _join_word(SEED, cell)
    # The low word is the cell itself; the high word is worked out backwards, so that the hash of both is the cell:
    #
    #     seed --join(low)--> before --join(high)--> state --final--> cell
    high = _undo_mix(_undo_join(_undo_final(cell)) ^ before)
    return _to_signed(high << 32 | cell, 64)


def cell_of(label: int) -> int:
    """Read the cell from its label.

    >>> cell_of(label(7))
    7
    """
    return label & WORD_MASK


def murmur3(number: int) -> int:
    """Hash a bigint as Spark's `hash` does.

    >>> murmur3(1)
    -1712319331
    """
    state = _join_word(_join_word(SEED, number & WORD_MASK), number >> 32 & WORD_MASK) ^ KEY_BYTES
    for shift, factor in FINAL_STEPS:
        state = (state ^ state >> shift) * factor & WORD_MASK
    return _to_signed(state, 32)


def _salt(codes: Integers, salt: int) -> Hashes:
    """Begin a dimension's hash with a salt of its own.

    Then dimensions divide the rows independently of each other.
    """
    return codes.view(np.uint64) + np.uint64((salt + 1) * int(GOLDEN) % 2**64)


def _join_word(state: int, word: int) -> int:
    mixed = _rotate(word * FIRST & WORD_MASK, 15) * SECOND & WORD_MASK
    return (_rotate(state ^ mixed, 13) * 5 + ADDED) & WORD_MASK


def _undo_final(state: int) -> int:
    """Undo the end of the hash."""
    for shift, factor in reversed(FINAL_STEPS):
        state = state * pow(factor, -1, 2**32) & WORD_MASK
        state ^= state >> shift ^ state >> 2 * shift
    return state ^ KEY_BYTES


def _undo_join(state: int) -> int:
    """Undo the last joining.

    Gives the old state xor the mixed word.
    """
    return _rotate((state - ADDED) * pow(5, -1, 2**32) & WORD_MASK, 32 - 13)


def _undo_mix(mixed: int) -> int:
    return _rotate(mixed * pow(SECOND, -1, 2**32) & WORD_MASK, 32 - 15) * pow(FIRST, -1, 2**32) & WORD_MASK


def _rotate(word: int, bits: int) -> int:
    """Rotate a word to the left."""
    return (word << bits | word >> (32 - bits)) & WORD_MASK


def _to_signed(number: int, bits: int) -> int:
    return number - 2**bits if number >> (bits - 1) else number
