"""Columns that grow at one end and are let go of at the other.

Numbers and times live in one numpy array with some room to grow, so that an Arrow array, a join key and an event time
are three views of the same bytes. Everything else stays in the Arrow arrays that it came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from eddy.errors import QueryError
from eddy.tuples.arrays import Numbers, RowIds
from eddy.tuples.arrow import read_raw
from eddy.tuples.runs import Kept
from eddy.tuples.values import Held

GROWTH = 0.125
"""Share by which an array is made longer than it has to be: an eighth keeps a row well under 1.5 times its Arrow
size, and a row is still moved only about eight times on average."""

MOST_CHUNKS = 32
"""Arrow arrays in a column before they are made one: taking from many costs a look-up in each."""

TIME_TYPES = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""The integers that hold times of each width."""


class Rowwise(Protocol):
    """A store with an entry for every row."""

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""

    def drop(self, count: int) -> None:
        """Forget the oldest rows."""

    def keep(self, first: int, ids: RowIds) -> None:
        """Forget all rows behind the first so many, but some."""


def retain_rowwise(found: Sequence[Rowwise], kept: Kept) -> None:
    """Keep only some rows in stores that have an entry for each; the oldest go at no cost: arrays just begin later."""
    for one in found:
        one.drop(kept.gone)
        if kept.has_holes:
            one.keep(kept.first - kept.gone, kept.ids)


class Stored(Rowwise, Held, Protocol):
    """Values of one type, by position."""

    @property
    def size(self) -> int:
        """The bytes of the values themselves, without room to grow."""

    def append(self, array: pa.Array) -> None:
        """Add values at the end."""


class Growing:
    """A numpy array: it grows at the end, shrinks at the start."""

    def __init__(self, dtype: Any) -> None:
        self._buffer: Numbers = np.empty(0, dtype)
        self._start = 0
        self._stop = 0
        self._is_adopted = False

    def __len__(self) -> int:
        return self._stop - self._start

    @property
    def values(self) -> Numbers:
        """The values, without a copy; good until the next change."""
        return self._buffer[self._start : self._stop]

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies, with the room to grow."""
        return self._buffer.nbytes

    def append(self, values: Numbers) -> None:
        """Add values at the end.

        The first ones are adopted as they are.
        """
        if not len(self):
            # This is Arrow's own memory, which may not be written to; the next append copies it.
            adopted = np.require(values, self._buffer.dtype, ["C", "A"])
            self._buffer, self._start, self._stop = adopted, 0, len(values)
            self._is_adopted = True
            return
        needed = self._stop + len(values)
        # The dropped rows at the start are not copied along, so an array that only slides does not grow:
        #
        #     buffer  [ gone gone | live live live | room ]     start 2, stop 5
        # What was adopted is somebody else's, even where it could be written to.
        if needed > len(self._buffer) or self._is_adopted:
            self._move(len(self) + len(values))
        self._buffer[self._stop : self._stop + len(values)] = values
        self._stop += len(values)

    def drop(self, count: int) -> None:
        """Let go of the oldest.

        What they leave free is room for indexes, which few rows must not wait for until the next array is made.
        """
        self._start += count
        if len(self._buffer) > (1 + 2 * GROWTH) * len(self):
            self._move(len(self))

    def _move(self, live: int) -> None:
        """Move the values to an array that is a little longer than for so many."""
        buffer = np.empty(live + int(live * GROWTH), self._buffer.dtype)
        buffer[: len(self)] = self.values
        self._buffer, self._start, self._stop = buffer, 0, len(self)
        self._is_adopted = False

    def put(self, ids: RowIds, values: Numbers) -> None:
        """Change the values at some positions."""
        self.values[ids] = values

    def keep(self, first: int, ids: RowIds) -> None:
        """Let go of all behind the first so many, but some."""
        kept = self.values.take(ids)
        self._stop = self._start + first
        # What is empty takes what it is given as its own.
        if first or len(kept):
            self.append(kept)
        self.drop(0)


class FixedWidth:
    """Values of a fixed width."""

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self._is_number = is_number(data_type)
        self._values = Growing(find_dtype(data_type))
        self._valid: Growing | None = None

    @property
    def values(self) -> Numbers:
        """The numbers; any number may stand where a value is null."""
        return self._values.values

    @property
    def valid(self) -> Numbers | None:
        """The rows with a value; None for all of them."""
        return None if self._valid is None else self._valid.values

    @property
    def has_nulls(self) -> bool:
        """A null has come."""
        return self._valid is not None

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies, with the room to grow."""
        return self._values.nbytes + (0 if self._valid is None else self._valid.nbytes)

    @property
    def size(self) -> int:
        """The bytes of the values themselves."""
        return self.values.nbytes

    def append(self, array: pa.Array) -> None:
        """Add values at the end."""
        if array.null_count and self._valid is None:
            # The first null: all rows before it had a value.
            self._valid = Growing(np.bool_)
            self._valid.append(np.ones(len(self._values), np.bool_))
        if self._valid is not None:
            self._valid.append(array.is_valid().to_numpy(zero_copy_only=False))
        self._values.append(read_raw(array, self._values.values.dtype))

    def take(self, ids: RowIds) -> pa.Array:
        """The values at some positions."""
        return take_fixed(self.type, self.values, self.valid, ids)

    def pick(self, ids: RowIds) -> Numbers | None:
        """The same as numbers."""
        return pick_numbers(self.values, ids) if self._is_number and self._valid is None else None

    def drop(self, count: int) -> None:
        """Let go of the oldest."""
        self._values.drop(count)
        if self._valid is not None:
            self._valid.drop(count)

    def keep(self, first: int, ids: RowIds) -> None:
        """Let go of all behind the first so many, but some."""
        self._values.keep(first, ids)
        if self._valid is not None:
            self._valid.keep(first, ids)


class Chunked:
    """Values of any type, in Arrow arrays.

    A dictionary is kept as its values, and made anew for what is taken: dictionaries that are put together only grow.
    """

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self._whole = pa.chunked_array([], data_type.value_type if pa.types.is_dictionary(data_type) else data_type)

    @property
    def has_nulls(self) -> bool:
        """There is a null."""
        return bool(self._whole.null_count)

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self._whole.nbytes

    @property
    def size(self) -> int:
        """The bytes of the values themselves."""
        return self._whole.nbytes

    def append(self, array: pa.Array) -> None:
        """Add values at the end."""
        self._append(decode(array))

    def _append(self, array: pa.Array) -> None:
        self._whole = pa.chunked_array([*self._whole.chunks, array], self._whole.type)
        if self._whole.num_chunks > MOST_CHUNKS:
            self._whole = pa.chunked_array([self._whole.combine_chunks()], self._whole.type)

    def take(self, ids: RowIds) -> pa.Array:
        """The values at some positions."""
        return encode(self._take(ids), self.type)

    def pick(self, ids: RowIds) -> None:
        """Numbers of none of these types are numpy's."""

    def drop(self, count: int) -> None:
        """Let go of the oldest."""
        self._whole = self._whole.slice(count)

    def keep(self, first: int, ids: RowIds) -> None:
        """Let go of all behind the first so many, but some."""
        taken, self._whole = self._take(ids), self._whole.slice(0, first)
        self._append(taken)

    def _take(self, ids: RowIds) -> pa.Array:
        taken = self._whole.take(pa.array(ids))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def make_column(data_type: pa.DataType) -> FixedWidth | Chunked:
    """Make the column for a type."""
    return FixedWidth(data_type) if is_fixed(data_type) else Chunked(data_type)


def is_fixed(data_type: pa.DataType) -> bool:
    """Tell whether numpy can hold the values of a type."""
    return (
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or (pa.types.is_temporal(data_type) and (data_type != pa.month_day_nano_interval()))
    )


def is_number(data_type: pa.DataType) -> bool:
    """Tell whether Arrow's values of a type are numpy's numbers."""
    return pa.types.is_integer(data_type) or pa.types.is_floating(data_type)


def find_dtype(data_type: pa.DataType) -> Any:
    """Find the type of the numbers that stand for values of a fixed width."""
    if pa.types.is_temporal(data_type):
        return TIME_TYPES[data_type.bit_width // 8]
    return data_type.to_pandas_dtype()


def take_fixed(data_type: pa.DataType, values: Numbers, valid: Numbers | None, ids: RowIds) -> pa.Array:
    """Take values of a fixed width at some positions."""
    # Arrow has a bit for each row, least significant first; one byte each is what numpy can pick from.
    validity = None if valid is None else pa.py_buffer(np.packbits(valid.take(ids), bitorder="little"))
    return pa.Array.from_buffers(data_type, len(ids), [validity, pa.py_buffer(values.take(ids))])


def pick_numbers(values: Numbers, ids: RowIds) -> Numbers:
    """Take numbers at some positions, which nobody may change: they might be the rows' own."""
    picked = values.take(ids)
    picked.setflags(write=False)
    return picked


def decode(array: pa.Array) -> pa.Array:
    """Give the values that the codes of a dictionary stand for; others as they are."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def encode(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Give values as a column of a type: with a dictionary of their own, if it has one."""
    if not pa.types.is_dictionary(data_type):
        return values
    try:
        return values.dictionary_encode().cast(data_type)
    except pa.ArrowInvalid as error:
        raise QueryError(
            f"a column of type {data_type} has more values than its index can number: {error}; cast it to them"
        ) from error
