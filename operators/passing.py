"""Rows of a query over one stream, which are not kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from eddy.operators.columns import decode, encode, find_dtype, is_fixed, is_number, pick_numbers, take_fixed
from eddy.tuples.arrays import Mask, Numbers, RowIds
from eddy.tuples.arrow import no_rows, read_raw
from eddy.tuples.event_time import Ticks

NO_IDS: RowIds = np.empty(0, np.int64)


class Passed:
    """A column of the rows at hand, in the memory that they came in."""

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self._dtype = find_dtype(data_type) if is_fixed(data_type) else None
        self._is_number = is_number(data_type)
        self._nothing = decode(pa.nulls(0, data_type))
        self.let_go()

    def let_go(self) -> None:
        """Let go of the rows."""
        self.hold(self._nothing, NO_IDS)

    def hold(self, array: pa.Array, ids: RowIds) -> None:
        """Hold other rows than before, which have these ids."""
        self._array, self._ids = decode(array), ids
        self._numbers: Numbers | None = None
        self._mask: Mask | None = None

    @property
    def has_nulls(self) -> bool:
        """There is a null."""
        return bool(self._array.null_count)

    def take(self, ids: RowIds) -> pa.Array:
        """The values at some ids."""
        # Nothing is gathered for whoever asks about all rows: these ids are those that the rows were given. The slice
        # is the array without the name that it has in its batch, which a Series would take over.
        if ids is self._ids:
            return encode(self._array.slice(0), self.type)
        if self._dtype is None:
            return encode(self._array.take(pa.array(ids)), self.type)
        return take_fixed(self.type, self._values, self._valid, ids)

    def pick(self, ids: RowIds) -> Numbers | None:
        """The same as numbers."""
        if not self._is_number or self._array.null_count:
            return None
        return self._values if ids is self._ids else pick_numbers(self._values, ids)

    @property
    def _values(self) -> Numbers:
        if self._numbers is None:
            self._numbers = read_raw(self._array, self._dtype)
            self._numbers.setflags(write=False)
        return self._numbers

    @property
    def _valid(self) -> Mask | None:
        if self._mask is None and self._array.null_count:
            self._mask = self._array.is_valid().to_numpy(zero_copy_only=False)
        return self._mask


class Passing:
    """Holds rows for the micro-batch in which they arrive."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns = {field.name: Passed(field.type) for field in schema}

    def __len__(self) -> int:
        return 0

    @property
    def nbytes(self) -> int:
        """Zero, since nothing stays."""
        return 0

    @property
    def row_bytes(self) -> int:
        """Zero as well."""
        return 0

    def append(self, rows: pa.RecordBatch, ticks: Ticks, arrivals: RowIds) -> RowIds:
        """Hold rows, and give their ids."""
        ids = np.arange(rows.num_rows)
        for name, held in self._columns.items():
            held.hold(rows.column(name), ids)
        return ids

    def column(self, name: str) -> Passed:
        """A column of the rows at hand, now and in later micro-batches."""
        return self._columns[name]

    def settle(self, watermark: float | None) -> None:
        """Let go of everything."""
        for held in self._columns.values():
            held.let_go()

    def snapshot(self) -> tuple[dict[str, int], pa.RecordBatch]:
        """Nothing."""
        return {}, no_rows(self._schema)

    def restore(self, numbers: Mapping[str, int], rows: pa.RecordBatch) -> None:
        """Nothing to go on from."""
