"""Values of a column at some rows, in whichever form is asked for.

Who reads a column says in which form, and only that one is made: numbers go from the rows to a function of arrays
without an Arrow array in between.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from eddy.tuples.arrays import Numbers, RowIds


class Held(Protocol):
    """A column that somebody holds, by row ids."""

    type: pa.DataType

    @property
    def has_nulls(self) -> bool:
        """Whether a value may be null."""

    def take(self, ids: RowIds) -> pa.Array:
        """The values at some ids."""

    def pick(self, ids: RowIds) -> Numbers | None:
        """The same as numbers that nobody may change; None where numpy has no such numbers, or one may be null."""


class Values:
    """The values of a held column at some ids, which are gathered when they are asked for."""

    __slots__ = ("_array", "_ids", "held")

    def __init__(self, held: Held, ids: RowIds) -> None:
        self.held, self._ids = held, ids
        self._array: pa.Array | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def arrow(self) -> pa.Array:
        """Give them as an Arrow array."""
        if self._array is None:
            self._array = self.held.take(self._ids)
        return self._array

    def numbers(self) -> Numbers | None:
        """Give them as numbers without nulls, where they are; nobody may change these."""
        return self.held.pick(self._ids)

    def at(self, rows: RowIds) -> Values:
        """Give those at some positions."""
        return Values(self.held, self._ids.take(rows))
