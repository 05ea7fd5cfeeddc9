"""Join keys as 64-bit codes.

Two values that Spark calls equal have the same code. For types that fit into 64 bits the code is exact, and it also
sorts as the values do (NaN last, -0.0 with 0.0). The code of a text or of a wide decimal is a hash, and rows that it
brings together are compared by their values before they are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.ranges import Integers
from eddy.sql import Bound, Column
from eddy.tuples import RowIds
from operators.columns import Fixed, Growing, raw

Valid = np.ndarray[Any, np.dtype[np.bool_]] | None

EXACT_DIGITS = 18
"""A decimal of so many digits fits into 64 bits."""

PRIME = np.uint64(0x100000001B3)
"""The multiplier of the text hash, from FNV: odd, and spread over many bits."""


class Key(Protocol):
    """One side of an equality: the codes of an input's rows."""

    @property
    def exact(self) -> bool:
        """Does equality of codes mean equality of values."""

    def codes(self, ids: RowIds) -> Integers:
        """The codes at some positions."""

    def valid(self, ids: RowIds) -> Valid:
        """Which of them have a key; None for all."""


@dataclass(frozen=True)
class ColumnKey:
    """The codes of an integer or time column are its values; nothing is stored twice."""

    column: Fixed
    exact: bool = True

    def codes(self, ids: RowIds) -> Integers:
        """The codes at some positions."""
        return self.column.values.take(ids).astype(np.int64, copy=False)

    def valid(self, ids: RowIds) -> Valid:
        """Which of them have a key; None for all."""
        return None if self.column.valid is None else self.column.valid.take(ids)


class ComputedKey:
    """Codes of any expression over one input, worked out when a row is stored."""

    def __init__(self, bound: Bound) -> None:
        self.exact = is_exact(bound.type)
        self._bound = bound
        self._codes = Growing(np.int64)
        self._valid = Growing(np.bool_)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the expression reads."""
        return self._bound.columns

    @property
    def nbytes(self) -> int:
        """What it occupies."""
        return self._codes.nbytes + self._valid.nbytes

    def append(self, columns: Mapping[Column, pa.Array], rows: int) -> None:
        """Work out the codes of new rows."""
        codes, valid = encode(self._bound.evaluate(columns, rows))
        self._codes.append(codes)
        self._valid.append(np.ones(rows, np.bool_) if valid is None else valid)

    def codes(self, ids: RowIds) -> Integers:
        """The codes at some positions."""
        return self._codes.values.take(ids)

    def valid(self, ids: RowIds) -> Valid:
        """Which of them have a key."""
        return self._valid.values.take(ids)

    def drop(self, count: int) -> None:
        """Let go of the oldest."""
        self._codes.drop(count)
        self._valid.drop(count)

    def keep(self, ids: RowIds) -> None:
        """Let go of all but some."""
        self._codes.keep(ids)
        self._valid.keep(ids)


def is_exact(data_type: pa.DataType) -> bool:
    """Does equality of codes mean equality of values."""
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= EXACT_DIGITS)
    return not (pa.types.is_string(data_type) or pa.types.is_binary(data_type))


def is_plain(stored: pa.DataType, compared: pa.DataType) -> bool:
    """Are the numbers of a stored column its codes when it is compared as another type."""
    if pa.types.is_signed_integer(stored):
        return pa.types.is_signed_integer(compared)
    return stored == compared and (pa.types.is_date32(stored) or pa.types.is_timestamp(stored))


def encode(array: pa.Array) -> tuple[Integers, Valid]:
    """The codes of some values, and which of them have one."""
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    for applies, code in CODES:
        if applies(array.type):
            return code(array), valid
    return _number(array), valid


def _number(array: pa.Array) -> Integers:
    numbers = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array
    return numbers.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)


def _float(array: pa.Array) -> Integers:
    """IEEE bits, made to sort as Spark sorts: -0.0 is 0.0, and NaN comes last."""
    values = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
    values = np.where(np.isnan(values), np.nan, values)
    bits = values.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def _decimal(array: pa.Array) -> Integers:
    words = raw(array, np.dtype((np.int64, 2)))
    low, high = words[:, 0], words[:, 1]
    return low.copy() if is_exact(array.type) else low ^ (high * np.int64(PRIME))


def _text(array: pa.Array) -> Integers:
    """A polynomial of the bytes, worked out for all values at once."""
    wide = array.cast(pa.large_binary())
    _, places, data = wide.buffers()
    if not len(wide) or data is None or places is None:
        return np.zeros(len(wide), np.int64)
    offsets = np.frombuffer(memoryview(places), np.int64, len(wide) + 1, wide.offset * 8)
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
"""How values of a type become codes; integers and times are their own."""


def equal(left: pa.Array, right: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Compare values whose codes agree by chance or by right."""
    return pc.equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
