"""Join keys as 64-bit codes.

Rows are brought together by the codes of their keys (`tuples.codes`). Where a code is a hash, their values are compared
before they are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.errors import RowError
from eddy.operators.stored.columns import FixedWidth, Growing
from eddy.predicates.faults import FAILS, Faults
from eddy.predicates.row_errors import ask_by_halves
from eddy.sql import Bound, Column
from eddy.tuples.arrays import FaultCodes, Integers, Numbers, RowIds, Valid
from eddy.tuples.codes import encode, is_exact


class Key(Protocol):
    """One side of an equality: the codes of an input's rows."""

    @property
    def exact(self) -> bool:
        """Equal codes mean equal values."""

    @property
    def stored(self) -> tuple[Numbers, Valid]:
        """The codes of all rows, in as few bytes as they are stored in, and which rows have a key; None for all."""

    def codes(self, ids: RowIds) -> Integers:
        """The codes at some positions."""

    @property
    def faulty(self) -> bool:
        """The key of some row cannot be computed."""

    def valid(self, ids: RowIds) -> Valid:
        """Mask the rows that have a key; None for all."""

    def faults(self, ids: RowIds) -> FaultCodes:
        """Give the fault of each row, 0 for none.

        Only asked for if there are faulty rows.
        """


class CodedKeys(NamedTuple):
    """The codes of new rows, which have a key, and their faults.

    None stands for all rows, and for no faults.
    """

    codes: Integers
    valid: Valid
    faults: FaultCodes | None

    def spread(self, places: RowIds, rows: int) -> CodedKeys:
        """Give the same for some places of more rows; the others have no key."""
        codes, valid = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
        codes[places] = self.codes
        valid[places] = True if self.valid is None else self.valid
        if self.faults is None:
            return CodedKeys(codes, valid, None)
        faults = np.zeros(rows, np.uint8)
        faults[places] = self.faults
        return CodedKeys(codes, valid, faults)


@dataclass(frozen=True)
class ColumnKey:
    """Codes of an integer or time column: its values.

    Nothing is stored twice. Two keys `of` different inputs are never the same, though they may share the column.
    """

    column: FixedWidth
    exact: bool = True
    faulty: bool = False
    of: object = None

    @property
    def stored(self) -> tuple[Numbers, Valid]:
        """The codes of all rows, and which rows have a key."""
        return self.column.values, self.column.valid

    def codes(self, ids: RowIds) -> Integers:
        """Give the codes at some positions."""
        return self.column.values.take(ids).astype(np.int64, copy=False)

    def valid(self, ids: RowIds) -> Valid:
        """Mask the rows that have a key; None for all."""
        return None if self.column.valid is None else self.column.valid.take(ids)

    def faults(self, ids: RowIds) -> FaultCodes:
        """Give zeros: no row has a fault."""
        return np.zeros(len(ids), np.uint8)


class ComputedKey:
    """Codes of an expression, computed when a row is stored.

    The expression is over one input. A row for which it cannot be computed has no key, but a fault.
    """

    def __init__(self, bound: Bound, text: str, faults: Faults) -> None:
        self.exact = is_exact(bound.type)
        self._bound = bound
        self._text = text
        self._noted = faults
        self._faults: Growing | None = None
        self._codes = Growing(np.int64)
        self._valid = Growing(np.bool_)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the expression reads."""
        return self._bound.columns

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        faults = 0 if self._faults is None else self._faults.nbytes
        return self._codes.nbytes + self._valid.nbytes + faults

    @property
    def faulty(self) -> bool:
        """The key of some row cannot be computed."""
        return self._faults is not None

    def encode(self, columns: Mapping[Column, pa.Array], rows: int) -> CodedKeys:
        """Work out the codes of new rows."""
        try:
            # Whole columns first. Only if some row raises, the others are looked for by halves.
            return CodedKeys(*encode(self._bound.evaluate(columns, rows)), None)
        except RowError:
            return self._encode_apart(columns, rows)

    def append(self, coded: CodedKeys) -> None:
        """Store the codes of new rows."""
        count = len(coded.codes)
        if coded.faults is not None and self._faults is None:
            self._faults = Growing(np.uint8)
            self._faults.append(np.zeros(len(self._codes), np.uint8))
        if self._faults is not None:
            self._faults.append(np.zeros(count, np.uint8) if coded.faults is None else coded.faults)
        self._codes.append(coded.codes)
        self._valid.append(np.ones(count, np.bool_) if coded.valid is None else coded.valid)

    @property
    def stored(self) -> tuple[Numbers, Valid]:
        """The codes of all rows, and which rows have a key."""
        return self._codes.values, self._valid.values

    def codes(self, ids: RowIds) -> Integers:
        """The codes at some positions."""
        return self._codes.values.take(ids)

    def valid(self, ids: RowIds) -> Valid:
        """Mask the rows that have a key."""
        return self._valid.values.take(ids)

    def faults(self, ids: RowIds) -> FaultCodes:
        """The fault of each, 0 for none."""
        return np.zeros(len(ids), np.uint8) if self._faults is None else self._faults.values.take(ids)

    def drop(self, count: int) -> None:
        """Let go of the oldest."""
        self._codes.drop(count)
        self._valid.drop(count)
        if self._faults is not None:
            self._faults.drop(count)
            self._forget()

    def keep(self, first: int, ids: RowIds) -> None:
        """Let go of all behind the first so many, but some."""
        self._codes.keep(first, ids)
        self._valid.keep(first, ids)
        if self._faults is not None:
            self._faults.keep(first, ids)
            self._forget()

    def _forget(self) -> None:
        """Forget faults whose rows are gone."""
        # While any row is faulty every probe has to look at it; without one, indexes suffice again.
        if self._faults is not None and not self._faults.values.any():
            self._faults = None

    def _encode_apart(self, columns: Mapping[Column, pa.Array], rows: int) -> CodedKeys:
        """Find the rows without a code, and encode the others."""

        def ask(part: RowIds) -> tuple[Integers, Valid]:
            places = pa.array(part)
            taken = {column: array.take(places) for column, array in columns.items()}
            return encode(self._bound.evaluate(taken, len(part)))

        found = ask_by_halves(ask, rows)
        codes, valid, faults = np.zeros(rows, np.int64), np.zeros(rows, np.bool_), np.zeros(rows, np.uint8)
        for part, (coded, known) in found.parts:
            codes[part] = coded
            valid[part] = True if known is None else known
        faults[found.faulty] = self._noted.note(f"join key {self._text}", found.errors, FAILS)
        return CodedKeys(codes, valid, faults)


def is_plain(stored: pa.DataType, compared: pa.DataType) -> bool:
    """Tell whether the numbers of a stored column are its codes.

    It is compared as another type.
    """
    if pa.types.is_signed_integer(stored):
        # Widening an integer changes no value, so its code is the same in the wider type.
        return pa.types.is_signed_integer(compared)
    return stored == compared and (pa.types.is_date32(stored) or pa.types.is_timestamp(stored))


def compare_values(left: pa.Array, right: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Compare values whose codes agree by chance or by right."""
    return pc.equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
