"""Rows to numbers that are spread evenly, the same in every process.

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


def mixed(codes: Integers, before: Hashes | int) -> Hashes:
    """The hash of one more value of each row; `before` is that of the values so far, or a salt."""
    state = (codes.view(np.uint64) ^ before) + GOLDEN if isinstance(before, np.ndarray) else _salted(codes, before)
    return splitmix64(state)


def spread(hashes: Hashes, share: int) -> Integers:
    """A number below `share` for each hash, all of them alike in likelihood; from the upper half of the bits."""
    return ((hashes >> HALF) * np.uint64(share) >> HALF).view(np.int64)


def whole_rows(batch: pa.RecordBatch) -> Hashes:
    """A hash of each row.

    Of numbers and times alone where there are two or more such columns, since they are read much faster than texts.
    Columns of columns tell nothing. Rows that are alike go to one place.
    """
    flat = [column for column in batch.columns if can_classify(column.type) and not _is_uint64(column.type)]
    fixed = [column for column in flat if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type))]
    hashes: Hashes = np.zeros(batch.num_rows, np.uint64)
    for column in fixed if len(fixed) > 1 else flat:
        codes, valid = encode(column)
        hashes = mixed(codes if valid is None else np.where(valid, codes, -1), hashes)
    return hashes


def _salted(codes: Integers, salt: int) -> Hashes:
    """Each dimension has a salt of its own, so that they divide the rows independently of each other."""
    return codes.view(np.uint64) + np.uint64((salt + 1) * int(GOLDEN) % 2**64)


def _is_uint64(data_type: pa.DataType) -> bool:
    """The one integer whose values do not fit into a signed code."""
    return data_type.equals(pa.uint64())


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
