"""Windows of the newest rows of a stream: of all its rows, or of those of each value.

A row has a rank, and a tuple joins it if the rank is not below the tuple's bound: the id below which rows had come when
the tuple arrived, plus a shift.

    of all rows       rank: how many rows of the stream came before it        shift: from ids to ranks, less the count
    of each value     rank: the id of the row with which it leaves            shift: none
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.operators.stored.columns import Growing, Rowwise, Stored
from eddy.query import Rows, Window
from eddy.tuples.arrays import Integers, RowIds

HAS_LEFT, STAYS = -1, np.iinfo(np.int64).max
"""In place of the row with which another leaves: that was in an earlier micro-batch; no such row has come yet."""


class RowWindow(Protocol):
    """What is known of the rows of a window that counts them."""

    rises: bool
    """Whether no row has a rank below that of a row before it."""

    @property
    def ranks(self) -> Integers:
        """The rank of every row."""

    @property
    def serials(self) -> Integers:
        """The number with which every row came, where rows are numbered."""

    @property
    def rowwise(self) -> Sequence[Rowwise]:
        """What has an entry for every row."""

    def find_shift(self, arrived: int, stored: int) -> int:
        """Find what to add to the id below which rows had come, to get the least rank inside the window."""

    def append(self, fresh: int, stored: int, arrived: int, taken: RowIds | None = None) -> None:
        """Rank rows that have just been stored: those from `fresh` on; so many had arrived before.

        `taken` are the places among these of the rows that are the stream's, None for all: others count for nothing.
        """

    def find_outrun(self, fresh: int, stored: int, arrived: int) -> tuple[RowIds, RowIds]:
        """Find the rows that leave in this micro-batch, and for each the one with which it does."""

    def settle(self, stored: int) -> RowIds:
        """End the micro-batch: give the rows that have left one by one."""

    def is_past(self, last: int, arrived: int) -> bool:
        """Tell whether a row and all before it have left."""

    def write(self) -> dict[str, pa.Array]:
        """Write what is known of every row, as columns of a snapshot."""

    def restore(self, marks: Mapping[str, pa.Array]) -> None:
        """Go on with rows of a snapshot."""


RANK, SERIAL = "rank", "serial"
"""Columns of a snapshot."""

NO_SERIAL = -1
"""In place of the number with which a row came, where that was under another name."""


def make_row_window(
    window: Window, columns: dict[str, Stored], *, numbers: bool = False, several: bool = False
) -> RowWindow | None:
    """Make what a window that counts rows needs; None for others. With `numbers` it has the serial of each row.

    Where `several` queries share the rows some may be late for this one, so ranks are no places among all.
    """
    if not isinstance(window, Rows):
        return None
    if window.by or several:
        return NewestOfEach(window.count, [columns[name] for name in window.by], numbers=numbers)
    return NewestOfAll(window.count)


class NewestOfAll:
    """The newest rows of a stream."""

    rises = True

    def __init__(self, count: int) -> None:
        self._count = count
        self._ranks = Growing(np.int64)

    @property
    def ranks(self) -> Integers:
        """How many rows of the stream came before each."""
        return self._ranks.values

    serials = ranks

    @property
    def rowwise(self) -> Sequence[Rowwise]:
        """The ranks."""
        return [self._ranks]

    def find_shift(self, arrived: int, stored: int) -> int:
        """Find how far ranks are from ids, less the rows that stay."""
        # `arrived - stored` rows have gone, so an id as a rank is that much more. The last `count` rows stay:
        #
        #     arrived 100, stored 40, count 10      before id 35 = rank 95      ranks 85 to 94 are inside
        return arrived - stored - self._count

    def append(self, fresh: int, stored: int, arrived: int, taken: RowIds | None = None) -> None:
        """Number rows that have just been stored; all of them are the stream's."""
        self._ranks.append(np.arange(arrived, arrived + stored - fresh))

    def find_outrun(self, fresh: int, stored: int, arrived: int) -> tuple[RowIds, RowIds]:
        """Find the rows from whose number so many have come by now."""
        # Ranks rise, so those that this micro-batch has outrun are neighbours.
        first, stop = np.searchsorted(self.ranks, (arrived - (stored - fresh) - self._count, arrived - self._count))
        left = np.arange(first, stop)
        return left, self.ranks.take(left) + (self._count + stored - arrived)

    def settle(self, stored: int) -> RowIds:
        """Give no rows: the oldest leave together."""
        return np.empty(0, np.int64)

    def is_past(self, last: int, arrived: int) -> bool:
        """Tell whether so many have come since that it is no longer among the newest."""
        return int(self.ranks[last]) < arrived - self._count

    def write(self) -> dict[str, pa.Array]:
        """Write the ranks."""
        return {RANK: pa.array(self.ranks)}

    def restore(self, marks: Mapping[str, pa.Array]) -> None:
        """Go on with their ranks."""
        self._ranks.put(np.arange(len(marks[RANK])), marks[RANK].to_numpy())


class NewestOfEach:
    """The newest rows of each value of some columns; nulls are one value, as in a PARTITION BY.

    Without columns all rows are of one value. Of each row is known how many have come after it, those included that a
    filter has dropped since.
    """

    rises = False

    def __init__(self, count: int, columns: Sequence[Stored], *, numbers: bool = False) -> None:
        self._count, self._columns = count, columns
        # How many rows of its value came after each, as far as that matters.
        self._later = Growing(np.int64)
        self._until = Growing(np.int64)
        self._serials = Growing(np.int64) if numbers else None

    @property
    def ranks(self) -> Integers:
        """The id of the row with which each leaves."""
        return self._until.values

    @property
    def serials(self) -> Integers:
        """The number with which each row came."""
        assert self._serials is not None  # who asks has said that rows are to be numbered
        return self._serials.values

    @property
    def rowwise(self) -> Sequence[Rowwise]:
        """The numbers of each row."""
        return [self._later, self._until, *([] if self._serials is None else [self._serials])]

    def find_shift(self, arrived: int, stored: int) -> int:
        """Find nothing: ranks are ids."""
        return 0

    def append(self, fresh: int, stored: int, arrived: int, taken: RowIds | None = None) -> None:
        """Count rows that have just been stored, for themselves and for those before."""
        come = np.arange(fresh, stored)
        old, new = (self.ranks[:fresh] != HAS_LEFT).nonzero()[0], come if taken is None else come.take(taken)
        values = number_values(
            [column.take(np.concatenate((old, new))) for column in self._columns], len(old) + len(new)
        )
        # Rows that have just come, those of one value side by side in the order of their arrival:
        #
        #     values  3 3 3 7 7      first  0 0 0 3 3      sizes  3 3 3 2 2      place  0 1 2 0 1
        order = np.argsort(values[len(old) :], kind="stable")
        rows = new.take(order)
        found, starts, counts = np.unique(values[len(old) :].take(order), return_index=True, return_counts=True)
        first, sizes = np.repeat(starts, counts), np.repeat(counts, counts)
        behind = first + sizes - 1 - np.arange(len(rows))
        # A row that is not the stream's is as one that has left.
        later, until = np.full(len(come), self._count), np.full(len(come), HAS_LEFT)
        later[rows - fresh] = np.minimum(behind, self._count)
        until[rows - fresh] = np.where(
            behind >= self._count, rows.take(np.arange(len(rows)) + self._count, mode="clip"), STAYS
        )
        self._count_later(old, values[: len(old)], rows, (found, starts, counts))
        self._later.append(later)
        self._until.append(until)
        if self._serials is not None:
            self._serials.append(np.arange(arrived, arrived + stored - fresh))

    def _count_later(
        self, old: RowIds, values: Integers, rows: RowIds, come: tuple[Integers, Integers, Integers]
    ) -> None:
        """Count the rows of their values that have come after the old rows."""
        found, starts, counts = come
        if not len(found):
            return
        place = np.minimum(np.searchsorted(found, values), len(found) - 1)
        met = found.take(place) == values
        old, place = old[met], place[met]
        left = self._count - self._later.values.take(old)
        ends = counts.take(place) >= left
        self._later.put(old, self._count - np.maximum(left - counts.take(place), 0))
        self._until.put(old[ends], rows.take(starts.take(place[ends]) + left[ends] - 1))

    def find_outrun(self, fresh: int, stored: int, arrived: int) -> tuple[RowIds, RowIds]:
        """Find the rows that leave with one that is stored."""
        left = ((self.ranks >= 0) & (self.ranks < stored)).nonzero()[0]
        return left, self.ranks.take(left)

    def settle(self, stored: int) -> RowIds:
        """Give the rows that have left."""
        left, _ = self.find_outrun(0, stored, 0)
        self._until.put(left, np.full(len(left), HAS_LEFT))
        return left

    def is_past(self, last: int, arrived: int) -> bool:
        """Tell nothing: rows leave one by one."""
        return False

    def write(self) -> dict[str, pa.Array]:
        """Write the counts, and the numbers."""
        numbers = {} if self._serials is None else {SERIAL: pa.array(self.serials)}
        return {RANK: pa.array(self._later.values), **numbers}

    def restore(self, marks: Mapping[str, pa.Array]) -> None:
        """Go on with their counts; a row has left if so many have come after it, and another name may need it."""
        later = marks[RANK].to_numpy()
        ids = np.arange(len(later))
        self._later.put(ids, later)
        self._until.put(ids, np.where(later < self._count, STAYS, HAS_LEFT))
        if self._serials is not None:
            self._serials.put(ids, marks[SERIAL].to_numpy())


def number_values(columns: Sequence[pa.Array], rows: int) -> Integers:
    """Number rows so that two have the same number if they are alike in all columns.

    >>> number_values([pa.array([1, None, 1]), pa.array([0.0, 2.0, -0.0])], 3).tolist()
    [0, 1, 0]
    """
    numbers: Integers = np.zeros(rows, np.int64)
    for column in columns:
        known = pc.unique(values := _make_alike(column))
        own = pc.index_in(values, known).to_numpy(zero_copy_only=False)
        numbers = np.unique(numbers * len(known) + own, return_inverse=True)[1]
    return numbers


def _make_alike(column: pa.Array) -> pa.Array:
    """Make values that are equal one value: a negative nought is nought, and what is no number is alike."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), float("nan"), pc.add(column, 0.0)).cast(column.type)
    return column
