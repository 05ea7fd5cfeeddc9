"""The rows of one source, which are stored once, however many names a query has for it.

It follows section 2.3.1 of Babu's thesis: one store, and a view for each name, which is a STeM. What may differ from
name to name is the view's: which rows are alive and what filters have said of them, windows, keys and indexes. An id
is a place in the store, so it is the same row in all views:

    id          0  1  2  3 | 4  5      `fresh` is 4: 4 and 5 came in this micro-batch
    ticks       1  3  4  9 | 5  7      sorted within a micro-batch only
    alive in a  F  F  F  T | T  T      0 and 1 are past its window, a filter has failed 2
    alive in b  F  T  F  T | T  F      another filter has failed 2, and 5 has no value to be joined by

A row leaves when it is dead in all views: 0 at once, 2 with others. Rows are written once, at the end; old ones go at
the start. Neither moves the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from eddy.contracts import NO_OTHERS, Others
from eddy.operators.keys import CodedKeys
from eddy.operators.stored.answers import SharedAnswers
from eddy.operators.stored.columns import FixedWidth, Growing, Rowwise, Stored, make_column, retain_rowwise
from eddy.operators.stored.pages import Pages, has_column, make_page, read_pages
from eddy.operators.stored.row_windows import NO_SERIAL, SERIAL
from eddy.tuples import event_time
from eddy.tuples.arrays import Mask, RowIds
from eddy.tuples.arrow import one_batch
from eddy.tuples.event_time import Ticks
from eddy.tuples.packed import Packed, pack_rows
from eddy.tuples.runs import Kept
from eddy.tuples.tuples import Appearance

ALIVE = "alive"
"""The column of a snapshot's table of marks that each view has; there are others for verdicts and ranks."""


SavedRows = tuple[Mapping[str, int], Sequence[Packed]]
"""What a snapshot has of a store: numbers, and pages."""


class View(Protocol):
    """What is known of the rows under one name."""

    name: str
    dead: int

    @property
    def alive(self) -> Mask:
        """The rows that this name may still need."""

    @property
    def dead_share(self) -> int:
        """Dead rows are cleared away once they are more than one in so many."""

    def encode(self, rows: pa.RecordBatch, seen: Appearance) -> list[CodedKeys]:
        """Work out the keys of new rows; those that take no part have none."""

    def extend(self, ticks: Ticks, codes: Sequence[CodedKeys], seen: Appearance) -> None:
        """Take note of rows that have just been stored."""

    def find_kept(self, watermark: float | None) -> Kept:
        """Find the rows that stay, where no other name needs them."""

    def let_go(self, watermark: float | None) -> int:
        """Let rows be dead whose time has passed, and tell how many of the oldest are."""

    def retain(self, kept: Kept) -> None:
        """Keep only some rows; the store has done so already."""

    def rest(self) -> None:
        """End the micro-batch."""

    def list_marks(self) -> dict[str, pa.Array]:
        """List what may change of each row, as columns."""

    def read_marks(self, marks: Mapping[str, pa.Array], forgotten: frozenset[str]) -> None:
        """Go on from the columns of a snapshot, but for what some filters have said."""


class SharedRows:
    """The rows of one source: values, times, and the pages on which they are written down.

    `gone` rows have left from the start, so a row keeps its number, id + `gone`, as long as none between the others
    goes. Where other queries may come and go, `several` of them, each view has its name in a snapshot.
    """

    def __init__(
        self, schema: pa.Schema, *, time: str | None = None, tick_type: Any = np.int64, several: bool = False
    ) -> None:
        self.schema = schema
        self.columns: dict[str, Stored] = {field.name: make_column(field.type) for field in schema}
        self.views: list[View] = []
        self.fresh, self.gone, self.arrived = 0, 0, 0
        self._count, self._several = 0, several
        self._answers: dict[Hashable, SharedAnswers] = {}
        self._time, self._tick_type = time, tick_type
        self._ticks = self._find_ticks()
        self._pages = Pages()

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The bytes of the values and times."""
        return sum(held.nbytes for held in self._list_rowwise())

    def count_bytes(self, view: View) -> int:
        """Count the bytes of the rows at the first name that a query has for them; of several queries each has its own.

        These are the rows that the query needs, as if it were alone.
        """
        owner = find_owner(view.name)
        own = [other for other in self.views if find_owner(other.name) == owner]
        if own[0] is not view:
            return 0
        if len(own) == len(self.views):
            return self.nbytes
        needed = np.count_nonzero(np.logical_or.reduce([other.alive for other in own]))
        return self.nbytes * int(needed) // max(len(self), 1)

    @property
    def size(self) -> int:
        """The bytes of the values themselves, without room to grow."""
        return sum(column.size for column in self.columns.values())

    @property
    def timed(self) -> bool:
        """The rows have event times: a stream's do, a table's do not."""
        return self._time is not None

    @property
    def ticks(self) -> Ticks:
        """The event time of every row; none where rows have no times."""
        return self._ticks.values

    @property
    def needed(self) -> Mask:
        """The rows that some name may still need; a snapshot is restored with these."""
        return self._mask_needed(0)

    def find_answers(self, definition: Hashable) -> SharedAnswers:
        """Find what filters that are defined so have said of the rows; must be called before the first one."""
        return self._answers.setdefault(definition, SharedAnswers())

    def append(self, rows: pa.RecordBatch, ticks: Ticks, seen: Sequence[Appearance]) -> RowIds:
        """Store rows in the order of arrival, and give their ids."""
        # Keys are computed before anything is stored: if one raises, the arrays are still of one length.
        codes = [view.encode(rows, one) for view, one in zip(self.views, seen, strict=True)]
        self.fresh = len(self)
        for name, stored in self.columns.items():
            stored.append(rows.column(name))
        if self.timed and isinstance(self._ticks, Growing):
            self._ticks.append(ticks)
        self._count += rows.num_rows
        for answers in self._answers.values():
            answers.extend(rows.num_rows)
        for view, coded, one in zip(self.views, codes, seen, strict=True):
            view.extend(ticks, coded, one)
        self.arrived += rows.num_rows
        return np.arange(self.fresh, len(self))

    def settle(self, watermarks: Sequence[float | None] | None) -> None:
        """End the micro-batch: rows that no name needs are forgotten. Each has a watermark; None for no rows' sake."""
        kept = self._find_kept([None] * len(self.views) if watermarks is None else watermarks)
        if kept.gone or kept.has_holes:
            self._retain(kept)
        self.fresh = len(self)
        for view in self.views:
            view.rest()

    def _find_kept(self, watermarks: Sequence[float | None]) -> Kept:
        """Find the rows that stay."""
        if len(self.views) == 1:
            return self.views[0].find_kept(watermarks[0])
        past = min(view.let_go(one) for view, one in zip(self.views, watermarks, strict=True))
        # Holes wait as they do in a store with one name, until a share of the rows are.
        fewest, share = min(view.dead for view in self.views), min(view.dead_share for view in self.views)
        first = self.fresh if fewest else len(self)
        if fewest * share > len(self) and (len(self) - np.count_nonzero(self.needed)) * share > len(self):
            first = 0
        needed = self._mask_needed(first)
        if past <= first:
            return Kept(past, first, needed)
        return Kept.of(np.concatenate([np.zeros(first, np.bool_), needed]))

    def _mask_needed(self, first: int) -> Mask:
        """Mask the rows from one on that some name may still need."""
        needed = self.views[0].alive[first:]
        for view in self.views[1:]:
            needed = needed | view.alive[first:]
        return needed

    def _retain(self, kept: Kept) -> None:
        """Keep only some rows; the oldest go at no cost: arrays just begin later."""
        retain_rowwise(self._list_rowwise(), kept)
        self._count = kept.first - kept.gone + len(kept.ids)
        for view in self.views:
            view.retain(kept)
        self.gone += kept.gone
        self._pages.retain(kept)

    def snapshot(self) -> tuple[dict[str, int], list[Packed]]:
        """Give the pages of the rows, and after them a table of what may change of each row.

        A filter that had no answer is asked again.
        """
        gone, pages = self._pages.write(len(self), self.size, self._gather)
        marks = {self._begin(view) + name: m for view in self.views for name, m in view.list_marks().items()}
        numbers = {"arrived": self.arrived, "gone": gone, "alive": int(np.count_nonzero(self.needed))}
        return numbers, [*pages, pack_rows(pa.record_batch(marks))]

    def restore(self, numbers: Mapping[str, int], packed: Sequence[Packed], others: Sequence[Others] = ()) -> None:
        """Go on from a snapshot, in a store that is empty.

        Rows that are dead in all views are left out; `others` has something for each view. A state of format 1 has one
        table with all that is known of the rows, none of them dead.
        """
        tables = [one.read() for one in packed]
        marks, gone = tables[-1], numbers.get("gone")
        pages = tables if gone is None else tables[:-1]
        # Rows that lack a column are written anew, with nulls: nobody who sees them reads it.
        has_all = all(has_column(page, f.name) for page in pages for f in self.schema)
        if gone is not None and has_all:
            self._pages.adopt(gone, packed[:-1], [page.num_rows for page in pages])
        rows = read_pages(pages, self.schema, gone or 0)
        asked = others or [NO_OTHERS] * len(self.views)
        living = [
            _read_alive(marks, None if changed.is_new else self._begin(view) + ALIVE, rows.num_rows)
            for view, changed in zip(self.views, asked, strict=True)
        ]
        for number, changed in enumerate(asked):
            for one in changed.pushed:  # one may read columns that nothing else reads any more
                living[number] &= one.ask(read_pages(pages, one.reads, gone or 0))
        needed: Mask = np.logical_or.reduce(living)
        self._pages.retain(Kept.of(needed))
        if not needed.all():
            rows, marks = rows.filter(pa.array(needed)), marks.filter(pa.array(needed))
        taken = [None if alive[needed].all() else np.flatnonzero(alive[needed]) for alive in living]
        seen = [Appearance(np.arange(rows.num_rows), places) for places in taken]
        self.append(rows, self._read_ticks(rows), seen)
        for view, changed in zip(self.views, asked, strict=True):
            if not changed.is_new:
                view.read_marks(_strip_names(marks, self._begin(view)), changed.forgotten)
        self.arrived = numbers["arrived"]
        # The restored rows are old ones: nothing is fresh before the next micro-batch.
        self.settle(None)

    def adopt(self, states: Sequence[SavedRows], others: Sequence[Others] = ()) -> None:
        """Go on from snapshots of stores that each name had for itself: their rows stand one behind the other.

        A row that was in two of them is in the store twice, under one name each, until it leaves.
        """
        asked = others or [NO_OTHERS] * len(self.views)
        parts = [self._read_alone(*state, changed) for state, changed in zip(states, asked, strict=True)]
        edges = np.cumsum([0, *(rows.num_rows for rows, _ in parts)]).tolist()
        rows = one_batch("state", pa.Table.from_batches([rows for rows, _ in parts], schema=self.schema))
        seen = [Appearance(np.arange(edges[-1]), np.arange(*ends)) for ends in pairwise(edges)]
        self.append(rows, self._read_ticks(rows), seen)
        for view, (_, marks), changed, (begin, end) in zip(self.views, parts, asked, pairwise(edges), strict=True):
            around = (begin, edges[-1] - end)
            named = {name: _pad(marks.column(name), around, is_serial=name == SERIAL) for name in marks.schema.names}
            view.read_marks(named, changed.forgotten)
        # A name whose window counts rows has counted all.
        self.arrived = max(numbers["arrived"] for numbers, _ in states)
        self.settle(None)

    def _read_alone(
        self, numbers: Mapping[str, int], packed: Sequence[Packed], changed: Others
    ) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Read the living rows of a store that had one name, and their marks; columns that it had not are null."""
        *pages, marks = [one.read() for one in packed]
        rows = read_pages(pages, self.schema, numbers["gone"])
        alive = _read_alive(marks, ALIVE, rows.num_rows)
        for one in changed.pushed:
            alive &= one.ask(read_pages(pages, one.reads, numbers["gone"]))
        living = pa.array(alive)
        return rows.filter(living), marks.filter(living)

    def _begin(self, view: View) -> str:
        """Say what the names of a view's columns begin with; nothing where there is no other."""
        return f"{view.name}: " if self._several or len(self.views) > 1 else ""

    def _gather(self, ids: RowIds) -> pa.RecordBatch:
        """Gather the rows of a page."""
        return make_page([(name, stored.take(ids)) for name, stored in self.columns.items()])

    def _read_ticks(self, rows: pa.RecordBatch) -> Ticks:
        """Read the times of rows that were saved."""
        if self._time is None:
            return np.zeros(rows.num_rows, np.int64)
        return event_time.read_ticks(rows.column(self._time), self._tick_type)[0]

    def _list_rowwise(self) -> list[Rowwise]:
        own: list[Rowwise] = [self._ticks] if self.timed and isinstance(self._ticks, Growing) else []
        return [*self.columns.values(), *own, *(answers.verdicts for answers in self._answers.values())]

    def _find_ticks(self) -> FixedWidth | Growing:
        """Find the event times.

        They are in their column, if it holds them as they are compared.
        """
        if self._time is not None:
            stored, data_type = self.columns[self._time], self.schema.field(self._time).type
            # A time column that is compared as it is stored serves as the ticks too: eight bytes less for each row.
            if (
                isinstance(stored, FixedWidth)
                and event_time.are_ticks(data_type)
                and event_time.dtype(data_type) is self._tick_type
            ):
                return stored
        return Growing(self._tick_type)


def find_owner(name: str) -> str:
    """Find the query that has a name for some rows: a name is as in "alerts.orders" where there are several."""
    return name.rpartition(".")[0]


def _read_alive(marks: pa.RecordBatch, name: str | None, rows: int) -> Mask:
    """Read which rows are alive: all are where nothing is said of it, and none under a name that is new."""
    if name is None:
        return np.zeros(rows, np.bool_)
    alive = np.ones(rows, np.bool_)
    if name in marks.schema.names:
        alive = np.array(marks.column(name).to_numpy(zero_copy_only=False), np.bool_)
    if len(alive) != rows:
        raise ValueError(f"expected marks of {rows} rows, got {len(alive)}")
    return alive


def _pad(marks: pa.Array, around: tuple[int, int], *, is_serial: bool) -> pa.Array:
    """Add marks of rows that take no part before others and behind them; numbers that rise go on to.

    Those have no serial: they are none of the rows that combinations wait with.
    """
    values = np.asarray(marks.to_numpy(zero_copy_only=False))
    if is_serial:
        return pa.array(np.pad(values, around, constant_values=NO_SERIAL))
    return pa.array(np.pad(values, around, mode="edge" if len(values) else "constant"))


def _strip_names(marks: pa.RecordBatch, begin: str) -> dict[str, pa.Array]:
    """Give the columns whose names begin so, by the rest of their names."""
    return {name.removeprefix(begin): marks.column(name) for name in marks.schema.names if name.startswith(begin)}
