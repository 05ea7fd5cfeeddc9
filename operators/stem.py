"""The stored rows of one input, and what is known of them.

Rows stand in the order in which they arrived, so a row's id is its position, and of two rows of a stream the one
with the smaller id came first. Ids hold for one micro-batch: in between, rows whose time has passed and rows that a
filter has failed are forgotten, and the rest move up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.contracts import NO_OTHERS, Others
from eddy.kernels.arguments import Ranked
from eddy.operators.index.catalog import Catalog
from eddy.operators.index.segments import Segments
from eddy.operators.keys import ColumnKey, ComputedKey, Key, is_plain
from eddy.operators.stored.columns import FixedWidth, Growing, Rowwise, Stored, make_column
from eddy.operators.stored.pages import Pages, make_page, read_pages
from eddy.operators.stored.row_windows import make_row_window
from eddy.operators.tuning.settings import IndexSettings
from eddy.predicates.faults import FAIL, PASS, PENDING, UNKNOWN, Faults
from eddy.predicates.judge import Judged
from eddy.query import Unbounded, Window
from eddy.sql import Bound, Expression
from eddy.tuples import event_time
from eddy.tuples.arrays import FaultCodes, Integers, Mask, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.packed import Packed, pack_rows
from eddy.tuples.runs import Kept, Segment
from eddy.tuples.values import Held

SPARE = 16
"""Bytes that a row may occupy beside one and a half times its values."""

FALLEN = np.zeros((), np.bool_)
"""What stands in `alive` for all rows that a filter has failed."""

DEAD_SHARE, OUTRUN_SHARE = 4, 6
"""Rows that failed after their own micro-batch are cleared away once they are a quarter of all; where newer rows of
their value outrun them, it is a sixth: then hardly a row dies in any other way."""

ALIVE, VERDICT = "alive", "verdict "
"""Columns of a snapshot's table of marks; a filter's has its name after the word."""

Follower = Callable[[int, Mask], None]
"""Hears that rows move up: `gone` as it is until now, and which rows stay; not called where only the oldest go."""


class Stem:
    """One input's stored rows: values, times, verdicts, keys.

    `gone` rows have left from the start, so a row keeps its number, id + `gone`, as long as none between the others
    goes. Where one does, `followers` hear of it. Without `keeps` rows are here for their own micro-batch only, so that
    conditions can read them, and verdicts have a place. `counted` is what a window of rows knows of them; if it
    `numbers` them, with which number each came.
    """

    def __init__(  # noqa: PLR0913  all that is known of an input, by keyword
        self,
        schema: pa.Schema,
        *,
        time: str | None = None,
        tick_type: Any = np.int64,
        window: Window | None = None,
        horizon: float | None = None,
        delay: float | None = None,
        filters: Sequence[str] = (),
        index: IndexSettings | None = None,
        index_room: Callable[[], int] = lambda: sys.maxsize,
        keeps: bool = True,
        numbers: bool = False,
    ) -> None:
        self.schema = schema
        self.window = window or Unbounded()
        index = index or IndexSettings()
        self.segments = Segments(self.window, delay, horizon=horizon, stays=time is None, merge=index.merge)
        self.catalog = Catalog(self.segments, index, lambda: self.ticks)
        self.fresh, self.gone, self.arrived, self.dead = 0, 0, 0, 0
        self.followers: list[Follower] = []
        self._columns: dict[str, Stored] = {field.name: make_column(field.type) for field in schema}
        self._index_room, self._keeps, self._time, self._tick_type = index_room, keeps, time, tick_type
        # Columns, times, verdicts, keys and `alive` are arrays of one length, and an id is a position in each of them:
        #
        #     id        0  1  2  3 | 4  5      `fresh` is 4: 4 and 5 came in this micro-batch
        #     ticks     1  3  4  9 | 5  7      sorted within a micro-batch only
        #     alive     T  F  T  T | T  F
        #     verdicts  P  F  P  ? | P  F      of one filter: passed, failed, not asked yet
        #
        # Rows are written once, at the end; old ones go at the start. Neither moves the others.
        self._ticks = self._find_ticks()
        self._alive = Growing(np.bool_)
        self.counted = make_row_window(self.window, self._columns, numbers=numbers)
        self._verdicts = {name: Growing(np.uint8) for name in filters}
        self._faulty: set[str] = set()
        self._keys: dict[tuple[str, str], ComputedKey] = {}
        self._arrivals: Integers = np.empty(0, np.int64)
        self._pages = Pages()

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def nbytes(self) -> int:
        """The bytes of the rows, and of what is known of them."""
        return self.row_bytes + self.catalog.nbytes

    @property
    def row_bytes(self) -> int:
        """The same without the indexes."""
        return sum(held.nbytes for held in self._list_rowwise())

    @property
    def timed(self) -> bool:
        """The rows have event times: a stream's do, a table's do not."""
        return self._time is not None

    @property
    def ticks(self) -> Ticks:
        """The event time of every row; none where rows have no times."""
        return self._ticks.values

    @property
    def alive(self) -> Mask:
        """The rows that no filter has failed."""
        return self._alive.values

    def column(self, name: str) -> Held:
        """A column of the stored rows, now and in later micro-batches."""
        return self._columns[name]

    def key(self, expression: Expression, bound: Bound, faults: Faults) -> Key:
        """Give the codes of an expression over this input.

        Must be called before the first row is stored.
        """
        column = expression.as_column()
        stored = self._columns[column.name] if column else None
        key: Key
        if isinstance(stored, FixedWidth) and is_plain(stored.type, bound.type):
            key = ColumnKey(stored)
        else:
            made = ComputedKey(bound, expression.text, faults)
            key = self._keys.setdefault((expression.text, str(bound.type)), made)
        self.catalog.add_key(key, expression.text, str(bound.type))
        return key

    def append(self, rows: pa.RecordBatch, ticks: Ticks, arrivals: Integers) -> RowIds:
        """Store rows in the order of arrival, and give their ids.

        `arrivals` are their numbers among all rows of the micro-batch.
        """
        count = rows.num_rows
        # Keys are computed before anything is stored: if one raises, the arrays are still of one length.
        codes = [key.encode({c: rows.column(c.name) for c in key.columns}, count) for key in self._keys.values()]
        self.fresh = len(self)
        for name, stored in self._columns.items():
            stored.append(rows.column(name))
        if self.timed and isinstance(self._ticks, Growing):
            self._ticks.append(ticks)
        self._alive.append(np.ones(count, np.bool_))
        for verdicts in self._verdicts.values():
            verdicts.append(np.full(count, UNKNOWN, np.uint8))
        if self.counted is not None:
            self.counted.append(self.fresh, self.fresh + count, self.arrived)
        for key, coded in zip(self._keys.values(), codes, strict=True):
            key.append(coded)
        self.segments.extend(ticks)
        self.arrived += count
        self.catalog.note_arrived(count)
        self._arrivals = arrivals
        return np.arange(self.fresh, len(self))

    def arrivals(self, ids: RowIds) -> Integers:
        """Give the numbers of rows that have just come.

        They count all arrivals of the micro-batch.
        """
        return self._arrivals.take(ids - self.fresh)

    def before(self, arrivals: Integers) -> RowIds | None:
        """Give for each arrival the id below which rows had come.

        None stands for all rows.
        """
        if len(self) == self.fresh and self.counted is None:
            return None
        # The arrivals of fresh rows rise, so how many came before another row is a search among them:
        #
        #     own arrivals  [0 3 5]    fresh 10    other row arrived as 4  ->  2 + 10: ids below 12 were there
        return np.searchsorted(self._arrivals, arrivals) + self.fresh

    @property
    def ranked(self) -> Ranked | None:
        """What a window that counts rows says of each; None for other windows."""
        if self.counted is None:
            return None
        return Ranked(self.counted.ranks, self.counted.find_shift(self.arrived, len(self)), rises=self.counted.rises)

    def verdicts(
        self, filter: str, ids: RowIds, ask: Callable[[RowIds], Judged], *, repeated: bool
    ) -> tuple[Judged, int]:
        """Give a filter's verdicts, and the number of rows asked.

        It is asked about rows that it has not judged before. `ask` gets each of these once. A row may stand among the
        ids several times only if they are `repeated`.
        """
        known = self._verdicts[filter].values.take(ids)
        settled = np.count_nonzero(known)  # `UNKNOWN` is zero
        if settled == len(ids):
            return self._judged_before(filter, known), 0
        if not settled and not repeated:
            judged = ask(ids)
            self._remember(filter, ids, judged)
            return judged, len(ids)
        unknown = ids.take((known == UNKNOWN).nonzero()[0])
        new = np.unique(unknown) if repeated else unknown
        judged = ask(new)
        self._remember(filter, new, judged)
        known = self._verdicts[filter].values.take(ids)
        return self._judged_before(filter, known)._replace(skipped=judged.skipped, reused=judged.reused), len(new)

    def _judged_before(self, filter: str, verdicts: FaultCodes) -> Judged:
        """Give known verdicts.

        They come with faults, if the filter had no answer for some row of the input.
        """
        if filter not in self._faulty:
            return Judged(verdicts == PASS, None)
        return Judged(verdicts != FAIL, np.where(verdicts < PENDING, np.uint8(0), verdicts))

    def _remember(self, filter: str, ids: RowIds, judged: Judged) -> None:
        """Remember verdicts of some rows, each of them once.

        Rows that fail are dead.
        """
        # To pass is one less than to fail: a subtraction takes a third of the time of a choice for each row.
        verdicts = FAIL - judged.passed.view(np.uint8)
        if judged.faults is not None:
            # Faults are numbered above all verdicts, so a row with one keeps it.
            verdicts = np.maximum(verdicts, judged.faults)
            self._faulty.add(filter)
        self._verdicts[filter].put(ids, verdicts)
        self._let_fall(ids.take((~judged.passed).nonzero()[0]))

    def _let_fall(self, ids: RowIds) -> None:
        """Let rows be dead, each of them once."""
        self.dead += int(np.count_nonzero(self.alive.take(ids)))
        self._alive.put(ids, FALLEN)

    def settle(self, watermark: float | None) -> None:
        """End the micro-batch: dead rows are forgotten, and segments that no on-time row can meet."""
        if self.counted is not None:
            self._let_fall(self.counted.settle(len(self)))
        kept = self._find_kept(watermark)
        if kept.gone or kept.has_holes:
            self._retain(kept)
        self.fresh = len(self)
        self._arrivals = np.empty(0, np.int64)
        self.catalog.rest(self._room(), self._index_room())

    def _find_kept(self, watermark: float | None) -> Kept:
        """Find the rows that stay."""
        if not self._keeps:
            return Kept(len(self), len(self))
        # Fresh rows are cleared at once, since they are at the end and cheap to move. Among the old ones a hole moves
        # all rows behind it, and makes their indexes anew; it waits until a share of the rows are holes.
        share = DEAD_SHARE if self.counted is None else OUTRUN_SHARE
        first = 0 if self.dead * share > len(self) else self.fresh if self.dead else len(self)
        # Whole segments only: nobody looks for single rows that are too old, and probes check the times themselves.
        past = [segment for segment in self.segments if self._is_past(segment, watermark)]
        gone = past[-1].stop if past else 0
        if gone < first and sum(segment.rows for segment in past) == gone:
            return Kept(gone, first, self.alive[first:].copy())
        keep = np.ones(len(self), np.bool_)
        keep[first:] = self.alive[first:]
        for segment in past:
            keep[segment.start : segment.stop] = False
        return Kept.of(keep)

    def _room(self) -> int:
        """Give the bytes that the indexes may occupy.

        They are what the rows leave of one and a half times their Arrow size and 16 bytes a row, and no more than what
        all rows leave of `max_state`.
        """
        values = sum(column.size for column in self._columns.values())
        left = len(self) * SPARE + values + values // 2 - self.row_bytes
        return max(min(left, self._index_room()), 0)

    def snapshot(self) -> tuple[dict[str, int], list[Packed]]:
        """Give the pages of the rows, and after them a table of what may change of each row.

        A filter that had no answer is asked again.
        """
        size = sum(stored.size for stored in self._columns.values())
        gone, pages = self._pages.write(len(self), size, self._gather)
        marks = {ALIVE: pa.array(self.alive)}
        marks |= {f"{VERDICT}{name}": pa.array(_known(held.values)) for name, held in self._verdicts.items()}
        if self.counted is not None:
            marks |= self.counted.write()
        numbers = {"arrived": self.arrived, "gone": gone, "alive": int(np.count_nonzero(self.alive))}
        return numbers, [*pages, pack_rows(pa.record_batch(marks))]

    def restore(self, numbers: Mapping[str, int], packed: Sequence[Packed], others: Others = NO_OTHERS) -> None:
        """Go on from a snapshot, in a STeM that is empty.

        Dead rows are left out. A state of format 1 has one table with all that is known of the rows, none of them dead.
        """
        tables = [one.read() for one in packed]
        marks, gone = tables[-1], numbers.get("gone")
        pages = tables if gone is None else tables[:-1]
        if gone is not None:
            self._pages.adopt(gone, packed[:-1], [page.num_rows for page in pages])
        rows = read_pages(pages, self.schema, gone or 0)
        alive = np.ones(rows.num_rows, np.bool_)
        if ALIVE in marks.schema.names:
            alive = np.array(marks.column(ALIVE).to_numpy(zero_copy_only=False), np.bool_)
        if len(alive) != rows.num_rows:
            raise ValueError(f"expected marks of {rows.num_rows} rows, got {len(alive)}")
        for one in others.pushed:  # one may read columns that nothing else reads any more
            alive &= one.ask(read_pages(pages, one.reads, gone or 0))
        self._pages.retain(Kept.of(alive))
        if not alive.all():
            rows, marks = rows.filter(pa.array(alive)), marks.filter(pa.array(alive))
        self._restore(rows, marks, others.forgotten)
        self.arrived = numbers["arrived"]
        # The restored rows are old ones: nothing is fresh before the next micro-batch.
        self.settle(None)

    def _restore(self, rows: pa.RecordBatch, marks: pa.RecordBatch, forgotten: frozenset[str]) -> None:
        """Store the rows of a snapshot, with what is known of them."""
        ticks: Ticks = np.zeros(rows.num_rows, np.int64)
        if self._time is not None:
            ticks, _ = event_time.read_ticks(rows.column(self._time), self._tick_type)
        self.append(rows, ticks, np.arange(rows.num_rows))
        for name in self._verdicts.keys() - forgotten:
            self._verdicts[name].put(np.arange(len(self)), marks.column(f"{VERDICT}{name}").to_numpy())
        if self.counted is not None:
            self.counted.restore(marks)

    def _gather(self, ids: RowIds) -> pa.RecordBatch:
        """Gather the rows of a page."""
        return make_page([(name, stored.take(ids)) for name, stored in self._columns.items()])

    def _is_past(self, segment: Segment, watermark: float | None) -> bool:
        if self.counted is not None and self.counted.is_past(segment.stop - 1, self.arrived):
            return True
        return watermark is not None and watermark - segment.newest > self.segments.life

    def _retain(self, kept: Kept) -> None:
        """Keep only some rows; the oldest go at no cost: arrays just begin later."""
        for held in self._list_rowwise():
            held.drop(kept.gone)
            if kept.has_holes:
                held.keep(kept.first - kept.gone, kept.ids)
        if kept.has_holes:
            for follow in self.followers:
                follow(self.gone, kept.mask())
        self.gone += kept.gone
        self.segments.retain(kept)
        self._pages.retain(kept)
        self.dead = len(self) - int(np.count_nonzero(self.alive)) if self.dead else 0
        self.catalog.retain(kept)

    def _list_rowwise(self) -> list[Rowwise]:
        own: list[Rowwise] = [self._ticks] if self.timed and isinstance(self._ticks, Growing) else []
        counted = () if self.counted is None else self.counted.rowwise
        return [*self._columns.values(), *own, *counted, *self._verdicts.values(), *self._keys.values(), self._alive]

    def _find_ticks(self) -> FixedWidth | Growing:
        """Find the event times.

        They are in their column, if it holds them as they are compared.
        """
        if self._time is not None:
            stored, data_type = self._columns[self._time], self.schema.field(self._time).type
            # A time column that is compared as it is stored serves as the ticks too: eight bytes less for each row.
            if (
                isinstance(stored, FixedWidth)
                and event_time.are_ticks(data_type)
                and event_time.dtype(data_type) is self._tick_type
            ):
                return stored
        return Growing(self._tick_type)


def _known(verdicts: FaultCodes) -> FaultCodes:
    return np.where(verdicts < PENDING, verdicts, np.uint8(UNKNOWN))
