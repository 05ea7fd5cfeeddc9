"""Values as 64-bit codes, for whole columns at once.

Two values that Spark calls equal have the same code. For types that fit into 64 bits the code is exact, and it also
sorts as the values do (NaN last, -0.0 with 0.0). The code of a text or of a wide decimal is a hash.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from eddy.tuples.arrays import Integers, Valid
from eddy.tuples.arrow import read_raw

EXACT_DIGITS = 18
"""A decimal of so many digits fits into 64 bits."""

PRIME = np.uint64(0x100000001B3)
"""The multiplier of the text hash, from FNV: odd, and spread over many bits."""


def is_exact(data_type: pa.DataType) -> bool:
    """Tell whether values with equal codes are equal."""
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= EXACT_DIGITS)
    return not (pa.types.is_string(data_type) or pa.types.is_binary(data_type))


def encode(array: pa.Array) -> tuple[Integers, Valid]:
    """Give the codes of some values, and which of them have one."""
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    for applies, code in CODES:
        if applies(array.type):
            return code(array), valid
    return _number(array), valid


def _number(array: pa.Array) -> Integers:
    if pa.types.is_uint64(array.type):
        # All 64 bits are the number's: with the first one turned they sort as signed numbers do.
        return (read_raw(array.fill_null(0), np.dtype(np.uint64)) ^ np.uint64(1 << 63)).view(np.int64)
    numbers = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array
    numbers = numbers if pa.types.is_int64(numbers.type) else numbers.cast(pa.int64())
    return (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy(zero_copy_only=False)


def _float(array: pa.Array) -> Integers:
    """Make IEEE bits sort as Spark sorts the values.

    -0.0 is 0.0, and NaN comes last.
    """
    values = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
    # NaN has many bit patterns, and Spark calls them all equal.
    values = np.where(np.isnan(values), np.nan, values)
    # As integers, positive floats sort as they are. Negative ones sort the wrong way round: all bits but the sign turn.
    bits = values.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def _decimal(array: pa.Array) -> Integers:
    words = read_raw(array, np.dtype((np.int64, 2)))
    low, high = words[:, 0], words[:, 1]
    return low.copy() if is_exact(array.type) else low ^ (high * np.int64(PRIME))


def _text(array: pa.Array) -> Integers:
    """Work out a polynomial of the bytes for all values at once."""
    wide = array.cast(pa.large_binary())
    _, places, data = wide.buffers()
    if not len(wide) or data is None or places is None:
        return np.zeros(len(wide), np.int64)
    offsets = np.frombuffer(memoryview(places), np.int64, len(wide) + 1, wide.offset * 8)
    # code = length * P + sum of (byte + 1) * P^(place + 1). One pass over the bytes of all texts:
    #
    #     data      a  b  c  x           offsets [0 3 3 4]   (the second text is empty)
    #     within    0  1  2  0           powers  [P P^2 P^3 P]
    #     reduceat  sum of each text's products, for the texts that are not empty
    lengths = np.diff(offsets)
    codes = lengths.astype(np.uint64) * PRIME
    full = np.flatnonzero(lengths)
    if len(full):
        first, last = int(offsets[0]), int(offsets[-1])
        letters = np.frombuffer(memoryview(data), np.uint8, last - first, first).astype(np.uint64) + np.uint64(1)
        within = np.arange(last - first) - np.repeat(offsets[:-1] - first, lengths)
        powers = np.cumprod(np.full(int(lengths.max()), PRIME, np.uint64))
        codes[full] += np.add.reduceat(letters * powers.take(within), offsets[:-1].take(full) - first)
    return codes.view(np.int64)


CODES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], Integers]], ...] = (
    (pa.types.is_floating, _float),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_string, _text),
    (pa.types.is_binary, _text),
)
"""The function that makes codes of each type's values; integers and times are their own codes."""
