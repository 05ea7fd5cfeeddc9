"""Combinations that have been found and are told later: at their end, or at ticks while they are there.

They wait here with the columns of the answer, since their rows may leave the stores before they are told. Each has
three times, in ticks:

    begin   its newest time
    last    the least of its times plus their windows: then it is still there
    outrun  the least time of a row that took the place of one of its rows: then it is no more

What happens up to a time is known once the watermark has passed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from eddy.contracts import Store
from eddy.operators.stored.columns import Growing, Rowwise, make_column, retain_rowwise
from eddy.operators.stored.pages import Pages, make_page, read_pages
from eddy.operators.stored.row_windows import NO_SERIAL, RowWindow
from eddy.query import Range
from eddy.query.binding import Binding
from eddy.query.emit import Every
from eddy.tuples import event_time
from eddy.tuples.arrays import ROWS_PER_LOT, Integers, Numbers, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.packed import Packed, pack_rows
from eddy.tuples.runs import Kept

MOST_TOLD = 1 << 40
"""Results of one micro-batch, at ticks, beyond which nobody waits for them."""

MOST_STEPS = float(1 << 62)
"""Steps to which a float is cut before it becomes a whole number: no time that is known lies behind them."""

BEGIN, LAST, OUTRUN, SERIAL = "begin", "last", "outrun", "serial "
"""Columns of a snapshot's table of times; a stream's has its name after the word."""


class CountedStore(Protocol):
    """A store of rows that newer ones outrun. It numbers all that come: ids change when rows go, numbers do not."""

    def __len__(self) -> int:
        """How many rows are kept."""

    @property
    def fresh(self) -> int:
        """The first id of the rows that came in this micro-batch."""

    @property
    def arrived(self) -> int:
        """How many rows have come, from the start."""

    @property
    def ticks(self) -> Ticks:
        """The event time of every row."""

    @property
    def counted(self) -> RowWindow | None:
        """What its window knows of the rows."""


class HeldResults:
    """Holds combinations until they are told."""

    def __init__(self, binding: Binding, stores: Mapping[str, Store], counted: Mapping[str, CountedStore]) -> None:
        assert binding.own_time is not None  # nobody waits in other queries
        self._binding, self._own = binding, binding.own_time
        self._stores = stores
        self._clock = _Clock(binding.tick_type)
        self._columns = {field.name: make_column(field.type) for field in binding.selected}
        self._begin, self._last, self._outrun = (Growing(binding.tick_type) for _ in range(3))
        # Which row of a stream each has, by its number among all that came: rows move, and their numbers stay.
        self._counted = {name: _Outrunning(store) for name, store in counted.items()}
        self._serials = {name: Growing(np.int64) for name in counted}
        self._pages = Pages()
        # All ticks before it have been told.
        self._told: float | None = None

    def __len__(self) -> int:
        return len(self._begin)

    def count_bytes(self) -> int:
        """Count the bytes of all that waits."""
        return sum(one.nbytes for one in self._list_rowwise())

    def append(self, ids: Mapping[str, RowIds], rows: pa.RecordBatch) -> None:
        """Let combinations wait; `rows` have their columns of the answer."""
        times = {s.name: self._read_times(s.name, str(s.time), ids[s.name]) for s in self._binding.query.streams}
        begin = np.maximum.reduce([*times.values()])
        last = np.full(len(begin), self._clock.never)
        for stream in self._binding.query.streams:
            if isinstance(stream.window, Range):
                last = np.minimum(last, self._clock.add(times[stream.name], stream.window.ticks))
        for name, column in self._columns.items():
            column.append(rows.column(name))
        self._begin.append(begin)
        # A sum of floats may be rounded to a time before the newest one.
        self._last.append(np.maximum(begin, last))
        self._outrun.append(np.full(len(begin), self._clock.never))
        for name, serials in self._serials.items():
            serials.append(self._counted[name].read_serials(ids[name]))

    def _read_times(self, name: str, time: str, ids: RowIds) -> Ticks:
        return event_time.read_ticks(self._stores[name].column(time).take(ids), self._binding.tick_type)[0]

    def note_outrun(self) -> None:
        """Note which of them have a row that newer ones have outrun in this micro-batch, and when."""
        for name, serials in self._serials.items():
            left, times = self._counted[name].find()
            if not len(left):
                continue
            # Rows leave by their numbers, so a combination's row is looked for among those that did:
            #
            #     left  [3 5 9]   serials  [5 4 9]   place  [1 1 2]   met  [T F T]
            place = np.minimum(np.searchsorted(left, serials.values), len(left) - 1)
            met = (left.take(place) == serials.values).nonzero()[0]
            # A row that came late took the place before the combination began.
            at = np.maximum(times.take(place.take(met)), self._begin.values.take(met))
            self._outrun.put(met, np.minimum(at, self._outrun.values.take(met)))

    def release(self, watermark: float | None) -> Iterator[pa.RecordBatch]:
        """Tell of combinations what is known by now, and let go of those that are over."""
        if watermark is None or watermark <= self._clock.first:
            return
        ends = np.minimum(self._last.values, self._outrun.values)
        # A row of the watermark's very time may still come, and take a place.
        over = ends < watermark
        emit = self._binding.query.emit
        for ids, times in self._list_ticks(emit, watermark) if isinstance(emit, Every) else _list_ends(ends, over):
            yield self._gather(ids, times)
        self._told = watermark
        if over.any():
            self._retain(Kept.of(~over))

    def _list_ticks(self, emit: Every, watermark: float) -> Iterator[tuple[RowIds, Ticks]]:
        """List who was there at which tick, lot by lot."""
        clock, step = self._clock, self._clock.cut(emit.ticks)
        first = clock.divide_up(
            self._begin.values if self._told is None else np.maximum(self._begin.values, self._told), step
        )
        until = np.minimum(self._last.values, clock.before(np.minimum(self._outrun.values, watermark)))
        counts = np.maximum(clock.divide_down(until, step) - first + 1, 0)
        # Of each one tick after the other; `ends` say which lot ends with whom:
        #
        #     first [3 7]   counts [2 3]   ends [2 5]   ticks  3 4 | 7 8 9
        if float(counts.sum(dtype=np.float64)) > MOST_TOLD:
            raise emit.make_error(
                f"more than {MOST_TOLD:,} results are there at ticks up to the watermark; take a longer "
                "length between two ticks, or narrower windows"
            )
        ends = np.cumsum(counts)
        for start in range(0, int(ends[-1]) if len(ends) else 0, ROWS_PER_LOT):
            numbers = np.arange(start, min(start + ROWS_PER_LOT, int(ends[-1])))
            ids = np.searchsorted(ends, numbers, side="right")
            ticks = first.take(ids) + numbers - (ends - counts).take(ids)
            yield ids, ticks * step

    def _gather(self, ids: RowIds, times: Ticks) -> pa.RecordBatch:
        # A nought may have a sign, which depends on which of two equal times was taken; nothing more takes it away.
        own = pa.array(times + self._clock.nothing).cast(self._own.type)
        columns = [*(column.take(ids) for column in self._columns.values()), own]
        return pa.RecordBatch.from_arrays(columns, schema=self._binding.schema)

    def _retain(self, kept: Kept) -> None:
        retain_rowwise(self._list_rowwise(), kept)
        self._pages.retain(kept)

    def _list_rowwise(self) -> Sequence[Rowwise]:
        return [*self._columns.values(), self._begin, self._last, self._outrun, *self._serials.values()]

    def snapshot(self) -> tuple[dict[str, Any], list[Packed]]:
        """Give the pages of what waits, and after them a table of times."""
        size = sum(column.size for column in self._columns.values())
        gone, pages = self._pages.write(len(self), size, self._write_page)
        times = {BEGIN: self._begin, LAST: self._last, OUTRUN: self._outrun}
        times |= {f"{SERIAL}{name}": serials for name, serials in self._serials.items()}
        table = pa.record_batch({name: pa.array(column.values) for name, column in times.items()})
        return {"gone": gone, "told": self._told}, [*pages, pack_rows(table)]

    def restore(self, numbers: Mapping[str, Any], packed: Sequence[Packed]) -> None:
        """Go on from a snapshot; nothing waits yet."""
        *pages, times = [one.read() for one in packed]
        self._pages.adopt(numbers["gone"], packed[:-1], [page.num_rows for page in pages])
        rows = read_pages(pages, self._binding.selected, numbers["gone"])
        if times.num_rows != rows.num_rows:
            raise ValueError(f"expected times of {rows.num_rows} results that wait, got {times.num_rows}")
        for name, column in self._columns.items():
            column.append(rows.column(name))
        for name, held in ((BEGIN, self._begin), (LAST, self._last), (OUTRUN, self._outrun)):
            held.append(np.array(times.column(name), self._binding.tick_type))
        for name, serials in self._serials.items():
            serials.append(np.array(times.column(f"{SERIAL}{name}"), np.int64))
        self._told = numbers["told"]

    def _write_page(self, ids: RowIds) -> pa.RecordBatch:
        return make_page([(name, column.take(ids)) for name, column in self._columns.items()])


class _Outrunning:
    """The rows of one store that newer ones outrun."""

    def __init__(self, store: CountedStore) -> None:
        assert store.counted is not None  # other windows have no rows that newer ones outrun
        self._store, self._window = store, store.counted

    def read_serials(self, ids: RowIds) -> Integers:
        """Read the numbers of some rows."""
        return self._window.serials.take(ids)

    def find(self) -> tuple[Integers, Ticks]:
        """Find the rows that were outrun in this micro-batch: their numbers, rising, and the times of who did it."""
        store = self._store
        left, by = self._window.find_outrun(store.fresh, len(store), store.arrived)
        serials = self._window.serials.take(left)
        own = (serials != NO_SERIAL).nonzero()[0]
        return serials.take(own), store.ticks.take(by.take(own))


def _list_ends(ends: Ticks, over: Numbers) -> Iterator[tuple[RowIds, Ticks]]:
    """List who has ended, and when, lot by lot; the first to end comes first."""
    ids = over.nonzero()[0]
    ids = ids.take(np.argsort(ends.take(ids), kind="stable"))
    for start in range(0, len(ids), ROWS_PER_LOT):
        lot = ids[start : start + ROWS_PER_LOT]
        yield lot, ends.take(lot)


class _Clock:
    """Reckons with times: whole ones exactly, others as floats are rounded."""

    def __init__(self, tick_type: Any) -> None:
        self._is_whole = tick_type is np.int64
        self.nothing: Any = tick_type(0)
        limits = np.iinfo(np.int64)
        self.first: Any = limits.min if self._is_whole else -np.inf
        self.never: Any = limits.max if self._is_whole else np.inf

    def cut(self, length: float) -> Any:
        """Cut a length down to whole ticks, where times are."""
        return np.int64(length) if self._is_whole else np.float64(length)

    def add(self, times: Ticks, length: float) -> Ticks:
        """Add a length to times; what is later than any time is never."""
        step = self.cut(length)
        with np.errstate(over="ignore"):
            later: Ticks = times + step
        return np.where(times > self.never - step, self.never, later) if self._is_whole else later

    def before(self, times: Ticks) -> Ticks:
        """Give the last time before each."""
        earlier: Ticks = times - 1 if self._is_whole else np.nextafter(times, -np.inf)
        return earlier

    def divide_up(self, times: Ticks, step: Any) -> Integers:
        """Count the steps up to the first multiple that is not before each time."""
        found: Numbers
        if self._is_whole:
            found = times // step + (times % step != 0)
            return found
        found = np.ceil(times / step)
        found -= (found - 1) * step >= times
        return _make_whole(found + (found * step < times))

    def divide_down(self, times: Ticks, step: Any) -> Integers:
        """Count the steps up to the last multiple that is not after each time."""
        found: Numbers
        if self._is_whole:
            found = times // step
            return found
        found = np.floor(times / step)
        found += (found + 1) * step <= times
        return _make_whole(found - (found * step > times))


def _make_whole(steps: Numbers) -> Integers:
    return np.clip(steps, -MOST_STEPS, MOST_STEPS).astype(np.int64)
