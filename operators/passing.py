"""Rows of a query over one stream, which are not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from eddy.contracts import Others
from eddy.operators.stored.columns import decode, encode, find_dtype, is_fixed, is_number, pick_numbers, take_fixed
from eddy.tuples.arrays import Mask, Numbers, RowIds
from eddy.tuples.arrow import no_rows, read_raw
from eddy.tuples.event_time import Ticks
from eddy.tuples.packed import Packed
from eddy.tuples.tuples import Appearance

NO_IDS: RowIds = np.empty(0, np.int64)


class Passed:
    """A column of the rows at hand, in the memory that they came in."""

    def __init__(self, field: pa.Field, passing: Passing) -> None:
        self.type = field.type
        self._name, self._passing = field.name, passing
        self._dtype = find_dtype(field.type) if is_fixed(field.type) else None
        self._is_number = is_number(field.type)
        self._is_coded = pa.types.is_dictionary(field.type)
        self.let_go()

    def let_go(self) -> None:
        """Let go of the rows."""
        self._array: pa.Array | None = None
        self._numbers: Numbers | None = None
        self._mask: Mask | None = None

    @property
    def has_nulls(self) -> bool:
        """There is a null."""
        return self._hold().null_count > 0

    def take(self, ids: RowIds) -> pa.Array:
        """The values at some ids."""
        array, values, run = self._hold(), self._numbers, self._passing.find_run(ids)
        if run is None and self._dtype is not None:
            return take_fixed(self.type, read_raw(array, self._dtype) if values is None else values, self._mask, ids)
        # A slice also has no name, as all of the array has in its batch: a Series would take that over.
        taken = array.take(pa.array(ids)) if run is None else array.slice(run.start, run.stop - run.start)
        return encode(taken, self.type) if self._is_coded else taken

    def pick(self, ids: RowIds) -> Numbers | None:
        """The same as numbers."""
        if self._array is None:
            self._hold()
        if self._numbers is None:
            return None
        run = self._passing.find_run(ids)
        return pick_numbers(self._numbers, ids) if run is None else self._numbers[run]

    def _hold(self) -> pa.Array:
        """Give all values; they are looked for in each micro-batch in which somebody asks for them."""
        if self._array is None:
            array = self._passing.read(self, self._name)
            self._array = decode(array) if self._is_coded else array
            if self._array.null_count:
                self._mask = self._array.is_valid().to_numpy(zero_copy_only=False)
            elif self._is_number:
                self._numbers = self._array.to_numpy()
        return self._array


class Passing:
    """Holds rows for the micro-batch in which they arrive."""

    def __init__(self, schema: pa.Schema) -> None:
        self._columns = {field.name: Passed(field, self) for field in schema}
        self._in_use: list[Passed] = []
        self._places: dict[str, int] = {}
        self._rows = self._none = no_rows(schema)
        self._ids = NO_IDS

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

    def append(self, rows: pa.RecordBatch, ticks: Ticks, seen: Sequence[Appearance]) -> RowIds:
        """Hold rows, and give their ids."""
        self.settle(None)
        # They are the only rows of the micro-batch, so they are numbered as they stand.
        ((arrivals, _),) = seen
        self._rows, self._ids = rows, arrivals
        return arrivals

    def column(self, name: str) -> Passed:
        """A column of the rows at hand, now and in later micro-batches."""
        return self._columns[name]

    def find_run(self, ids: RowIds) -> slice | None:
        """Find the rows with some ids, where they are neighbours; None where nobody can tell at a glance.

        Nothing has to be gathered of neighbours. All rows of a micro-batch are, and those of a round: their ids are a
        piece of the array that was given out.
        """
        if ids is self._ids:
            return slice(0, len(ids))
        owner = self._ids if self._ids.base is None else self._ids.base
        if ids.base is not owner or not len(ids) or ids.strides != self._ids.strides:
            return None
        first = int(ids[0])
        return slice(first, first + len(ids))

    def read(self, column: Passed, name: str) -> pa.Array:
        """Give the values of a column until the rows are gone."""
        self._in_use.append(column)
        place = self._places.get(name)
        if place is None:
            # All micro-batches have one schema, and a column is found by its place in half the time.
            place = self._places[name] = self._rows.schema.get_field_index(name)
        return self._rows.column(place)

    def settle(self, watermarks: Sequence[float | None] | None) -> None:
        """Let go of everything."""
        for column in self._in_use:
            column.let_go()
        self._in_use.clear()
        self._rows, self._ids = self._none, NO_IDS

    def snapshot(self) -> tuple[dict[str, int], list[Packed]]:
        """Nothing."""
        return {}, []

    def adopt(
        self, states: Sequence[tuple[Mapping[str, int], Sequence[Packed]]], others: Sequence[Others] = ()
    ) -> None:
        """Nothing to go on from."""

    def restore(self, numbers: Mapping[str, int], packed: Sequence[Packed], others: Sequence[Others] = ()) -> None:
        """Nothing to go on from."""
