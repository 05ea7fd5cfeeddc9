"""Rows to numbers that are spread evenly, the same in every process.

Nothing here depends on a seed of Python's or on a version of numpy: a row that is replayed goes where it went before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eddy.codes import GOLDEN, encode
from eddy.features import can_classify
from eddy.ranges import Integers

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shifts and odd factors of the splitmix64 finalizer (D. Stafford's mix 13): every bit changes half of the others."""

SHIFT = np.uint64(31)
HALF = np.uint64(32)


def mixed(codes: Integers, before: Hashes | int) -> Hashes:
    """The hash of one more value of each row; `before` is that of the values so far, or a salt."""
    state = (codes.view(np.uint64) ^ before) + GOLDEN if isinstance(before, np.ndarray) else _salted(codes, before)
    for shift, factor in FACTORS:
        state ^= state >> np.uint64(shift)
        state *= np.uint64(factor)
    state ^= state >> SHIFT
    return state


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
