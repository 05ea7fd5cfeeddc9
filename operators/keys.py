"""Join keys as 64-bit codes.

Rows are brought together by the codes of their keys (`eddy.codes`). Where a code is a hash, they are compared by their
values before they are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.codes import Valid, encode, is_exact
from eddy.ranges import Integers
from eddy.sql import Bound, Column
from eddy.tuples import RowIds
from operators.columns import Fixed, Growing


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

    def encode(self, columns: Mapping[Column, pa.Array], rows: int) -> tuple[Integers, Valid]:
        """Work out the codes of new rows; this can fail, and then nothing has been stored."""
        return encode(self._bound.evaluate(columns, rows))

    def append(self, codes: Integers, valid: Valid) -> None:
        """Store the codes of new rows."""
        self._codes.append(codes)
        self._valid.append(np.ones(len(codes), np.bool_) if valid is None else valid)

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


def is_plain(stored: pa.DataType, compared: pa.DataType) -> bool:
    """Are the numbers of a stored column its codes when it is compared as another type."""
    if pa.types.is_signed_integer(stored):
        return pa.types.is_signed_integer(compared)
    return stored == compared and (pa.types.is_date32(stored) or pa.types.is_timestamp(stored))


def equal(left: pa.Array, right: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Compare values whose codes agree by chance or by right."""
    return pc.equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
