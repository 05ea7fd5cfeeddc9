"""Admits rows, and puts them into the order of their arrival.

A row arrives in the order of event time within its micro-batch, then in the order in which the query lists the
streams, then in the order of its source. A row is late when its time is below the watermark: the smallest, over all
streams, of the largest time seen in earlier micro-batches minus the stream's delay. While a stream has shown no row,
or has no delay, there is no watermark, and nothing is late. Of several queries each has the watermark of its own
streams, as if it were alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eddy.engine.cell_inputs import CellInputs, CellStream
from eddy.engine.row_times import Timed, read_times
from eddy.errors import QueryError, quote
from eddy.query import Rows
from eddy.query.inputs import FAILING
from eddy.query.together.queries import LONE
from eddy.tuples.arrays import Integers, Mask, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.tuples import Appearance

Tick = int | float

Watermarks = Mapping[str, Tick | None]
"""The watermark of each query of a cell; a query that is alone is called `LONE`."""

MOST_NUMBERS = 1 << 20
"""Numbers of rows that are kept from one micro-batch to the next, in 8 MB. To make them anew took a quarter of a
micro-batch of 100,000 rows and six cheap filters, nearly all of it for memory that the process did not have."""

NONE_DROPPED = {"untimed": 0, "late": 0, "ahead": 0, "keyless": 0, "malformed": 0}


class Admitted(NamedTuple):
    """The rows of one stream in a micro-batch.

    `seen` says how the rows of its source appear in it. `came` counts the rows that came, `dropped` those that take no
    part. `copies` are rows that another cell counts; they are neither in `came` nor in `dropped`.
    """

    seen: Appearance
    came: int
    copies: int
    dropped: Mapping[str, int]


class AdmittedRows(NamedTuple):
    """The rows of one source that take part in some of its streams, in order of arrival.

    `places` are those of the rows among all that came, or None if they are as they came.
    """

    rows: pa.RecordBatch
    ticks: Ticks
    places: RowIds | None
    streams: Mapping[str, Admitted]


class Sorted(NamedTuple):
    """The rows of one source that take part, by time, and where they stood.

    For each of its streams it says which of them those are, None for all, how many were dropped, and why.
    """

    rows: pa.RecordBatch
    ticks: Ticks
    taken: Mapping[str, RowIds | None]
    dropped: Mapping[str, Mapping[str, int]]
    places: RowIds | None = None


@dataclass(frozen=True)
class Mark:
    """The watermark of each query, or None while there is none.

    `copies` marks the rows of some streams that are copies: another cell counts them. `wanted` marks those rows of a
    source that are some stream's, where not all are. `newest` says how far streams have come with this micro-batch,
    where somebody knows more than its rows say; `following` are the watermarks of the next one then.
    """

    watermarks: Watermarks
    copies: Mapping[str, Mask] = field(default_factory=dict)
    wanted: Mapping[str, Mask] = field(default_factory=dict)
    newest: Mapping[str, Tick] = field(default_factory=dict)
    following: Watermarks | None = None

    @classmethod
    def alone(
        cls, watermark: Tick | None, copies: Mapping[str, Mask] | None = None, wanted: Mapping[str, Mask] | None = None
    ) -> Mark:
        """Make that of a query that is alone."""
        return cls({LONE: watermark}, copies or {}, wanted or {})

    @property
    def after(self) -> Watermarks:
        """The watermarks behind the micro-batch, as far as they are known."""
        return self.watermarks if self.following is None else self.following


class Gate:
    """Admits micro-batches, and remembers how far each stream is."""

    def __init__(self, inputs: CellInputs) -> None:
        self._inputs = inputs
        self.newest: dict[str, Tick] = {}
        self._numbers: Integers = np.empty(0, np.int64)

    def next_mark(self) -> Mark:
        """Work out the watermarks of the next micro-batch.

        They follow from the rows that came through here.
        """
        return Mark({query: self._find_watermark(delays) for query, delays in self._inputs.delays.items()})

    def _find_watermark(self, delays: Mapping[str, Tick] | None) -> Tick | None:
        """Find the watermark of streams, once all have shown a row."""
        if delays is None or not delays.keys() <= self.newest.keys():
            return None
        return min(self.newest[name] - delay for name, delay in delays.items())

    def admit(self, batch: Mapping[str, pa.RecordBatch], number: int, mark: Mark) -> dict[str, AdmittedRows]:
        """Sort out the rows of one micro-batch, source by source; old ones are late."""
        sources = self._inputs.sources
        for source in sources:
            if source not in batch:
                raise QueryError(f'data: micro-batch {number} has no rows of "{source}"; give it an empty batch')
            self._check(source, batch[source], number)
        for name, newest in mark.newest.items():
            self._note_newest(name, newest)
        passed = {source: self._pass(streams, batch[source], mark) for source, streams in sources.items()}
        for one in self._inputs.streams:
            if one.stream.bad_rows == FAILING:
                self._refuse(one, number, passed[one.stream.origin].dropped[one.name])
        arrivals = self._number_arrivals({source: found.ticks for source, found in passed.items()})
        return {
            source: AdmittedRows(
                rows=found.rows,
                ticks=found.ticks,
                places=found.places,
                streams={s.name: _admit_under(s.name, batch[source], found, arrivals[s.name], mark) for s in streams},
            )
            for (source, streams), found in zip(sources.items(), passed.values(), strict=True)
        }

    def _number_arrivals(self, ticks: Mapping[str, Ticks]) -> dict[str, Integers]:
        """Number the rows of each stream among all rows of its query."""
        # Rows of equal times keep the order of the streams, so each stream of a source numbers them for itself.
        arrivals: dict[str, Integers] = {}
        for origins, owners in self._inputs.orders.items():
            numbers = self._number_rows([ticks[source] for source in origins])
            for names in owners:
                arrivals.update(zip(names, numbers, strict=True))
        return arrivals

    def describe(self, query: str) -> str:
        """Say for people how far each stream of a query has come.

        The slowest stream holds back what the others may forget.
        """
        streams = self._inputs.queries[query]
        parts = [f'"{s.name}" {self.newest.get(s.name, "has shown no row yet")}' for s in streams]
        without = [s.name for s in streams if s.stream.delay is None]
        hint = f"; nothing is forgotten, since {quote(without)} has no delay" if without else ""
        return f"event times have come to, in ticks: {', '.join(parts)}{hint}"

    def snapshot(self) -> dict[str, dict[str, Tick]]:
        """Give how far each stream has come."""
        return {"newest": dict(self.newest)}

    def restore(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        """Go on from a snapshot; a query that comes back after it was left out begins anew."""
        known = {one.name for one in self._inputs.streams}
        self.newest = {name: tick for name, tick in state["newest"].items() if name in known}

    # A row is in the first of these masks that fits it, so the counts add up to the rows that are dropped:
    #
    #     came        [ 0  1  2  3  4  5  6  7 ]
    #     malformed     x  .  .  .  .  .  .  .      its source could not read it
    #     untimed       .  x  .  .  .  .  .  .      no event time
    #     ahead         .  .  x  .  .  .  .  .      a clock that runs ahead
    #     known         .  .  .  x  x  x  x  x      these times count: they move the stream's newest time
    #     late          .  .  .  x  .  .  .  .      known, but below the watermark
    #     keyless       .  .  .  .  x  .  .  .      on time, but null in a join key
    #     chosen        .  .  .  .  .  x  x  x      sorted by time, they take part
    def _pass(self, streams: Sequence[CellStream], rows: pa.RecordBatch, mark: Mark) -> Sorted:
        # What is said of the times of a source is said of all of its streams.
        timed = read_times(streams[0].stream, rows, self._inputs.tick_type)
        keyed = {name: _mask_valid(rows, self._inputs.keys[name]) for name, *_ in streams}
        wanted = {name: mark.wanted.get(name) for name, *_ in streams}
        watermarks = {query: mark.watermarks[query] for _, query, _ in streams}
        ticks, known = timed.ticks, timed.known
        # Most micro-batches have nothing to sort out; then no mask is made and no row is copied.
        has_all = all(mask is None for mask in (known, *keyed.values(), *wanted.values()))
        if has_all and self._is_plain(ticks, watermarks.values()):
            self._note_newest_of(streams, ticks)
            return Sorted(rows, ticks, dict.fromkeys(keyed), dict.fromkeys(keyed, NONE_DROPPED))
        everywhere = np.ones(len(ticks), np.bool_)
        present = everywhere if known is None else known
        taken, dropped = {}, {}
        for one in streams:
            name, query, stream = one
            # The watermark is of earlier micro-batches: rows of this one cannot make each other late.
            watermark = watermarks[query]
            late = present & (ticks < watermark) if watermark is not None else ~everywhere
            kept = present & ~late
            own = _or_all(wanted[name], everywhere)
            self._note_newest_of([one], ticks[present & own])
            keyless = kept & ~_or_all(keyed[name], everywhere)
            # Another cell counts the copies; here they only take part.
            counted = own & ~mark.copies[name] if name in mark.copies else own
            dropped[name] = _count_dropped(timed, late, keyless, counted)
            # A window of rows counts every row of the stream, also one that joins nothing.
            taken[name] = own & (kept if isinstance(stream.window, Rows) else kept & ~keyless)
        chosen = np.flatnonzero(np.logical_or.reduce(list(taken.values())))
        # Stable, so that rows of one time keep the order of their source: a replay then arrives in the same order.
        chosen = chosen[np.argsort(ticks[chosen], kind="stable")]
        places = {name: _find_places(mask[chosen]) for name, mask in taken.items()}
        return Sorted(rows.take(pa.array(chosen)), ticks[chosen], places, dropped, chosen)

    def _refuse(self, one: CellStream, number: int, dropped: Mapping[str, int]) -> None:
        """Raise an error for bad rows, if the stream asks for it."""
        stream, keys = one.stream, quote(self._inputs.keys[one.name])
        why = {
            "malformed": f'that "{stream.malformed}" says could not be read',
            "untimed": f'without a time in "{stream.time}"',
            "ahead": f'more than max_ahead, {stream.max_ahead}, after "{stream.arrived}"',
            "keyless": f"without a value in {keys}, which joins compare",
        }
        bad = [f"{dropped[kind]:,} {text}" for kind, text in why.items() if dropped[kind]]
        if bad:
            raise QueryError(
                f'stream "{one.name}": micro-batch {number} has bad rows: {", ".join(bad)}; mend them at their '
                'source, or let bad_rows = "drop" count them and go on'
            )

    def _note_newest_of(self, streams: Sequence[CellStream], ticks: Ticks) -> None:
        if len(ticks):
            newest = ticks.max().item()
            for stream in streams:
                self._note_newest(stream.name, newest)

    def _note_newest(self, name: str, newest: Tick) -> None:
        """Note how far a stream has come."""
        self.newest[name] = max(newest, self.newest.get(name, newest))

    def _is_plain(self, ticks: Ticks, watermarks: Collection[Tick | None]) -> bool:
        """Tell whether there is nothing to sort out.

        No row is late, and none is out of order among others that it could join.
        """
        if not len(ticks):
            return True
        if self._inputs.in_order and not bool((ticks[1:] >= ticks[:-1]).all()):
            return False
        latest = max((one for one in watermarks if one is not None), default=None)
        return latest is None or ticks.min().item() >= latest

    def _number_rows(self, ticks: Sequence[Ticks]) -> list[Integers]:
        """Number each row among all rows of the micro-batch.

        Rows of equal times keep the order of the streams.
        """
        if len(ticks) == 1:
            return [self._count_up(len(ticks[0]))]
        # `order` lists the rows by arrival; its inverse gives each row its number.
        #
        #     times   a: [3 5]  b: [3 4]        concatenated  [3 5 3 4]
        #     order   [0 2 3 1]                 places        [0 3 1 2]     a: [0 3]  b: [1 2]
        order = np.argsort(np.concatenate(ticks), kind="stable")
        places = np.empty(len(order), np.int64)
        places[order] = self._count_up(len(order))
        return np.split(places, np.cumsum([len(t) for t in ticks])[:-1])

    def _count_up(self, count: int) -> Integers:
        """Give the first numbers, which nobody may change; of usual micro-batches they are made once."""
        if count > MOST_NUMBERS:
            return np.arange(count)
        if len(self._numbers) < count:
            self._numbers = np.arange(count)
            self._numbers.setflags(write=False)
        return self._numbers[:count]

    def _check(self, name: str, rows: pa.RecordBatch, number: int) -> None:
        expected = self._inputs.schemas[name]
        if rows.schema.equals(expected):
            return
        if rows.schema.names != expected.names or rows.schema.types != expected.types:
            raise QueryError(_describe_difference(name, number, expected, rows.schema))


def _admit_under(name: str, came: pa.RecordBatch, found: Sorted, arrivals: Integers, mark: Mark) -> Admitted:
    """Say how the rows of a source appear in one of its streams."""
    copied = int(mark.copies[name].sum()) if name in mark.copies else 0
    own = int(mark.wanted[name].sum()) if name in mark.wanted else came.num_rows
    return Admitted(
        seen=Appearance(arrivals, found.taken[name]), came=own - copied, copies=copied, dropped=found.dropped[name]
    )


def _count_dropped(timed: Timed, late: Mask, keyless: Mask, counted: Mask) -> dict[str, int]:
    """Count the rows that are dropped, each where it is first."""
    sorted_out = {
        "untimed": timed.untimed,
        "late": late,
        "ahead": timed.ahead,
        "keyless": keyless,
        "malformed": timed.malformed,
    }
    return {kind: 0 if mask is None else int((mask & counted).sum()) for kind, mask in sorted_out.items()}


def _or_all(mask: Mask | None, everywhere: Mask) -> Mask:
    """Give a mask; None stands for all rows."""
    return everywhere if mask is None else mask


def _find_places(mask: Mask) -> RowIds | None:
    """Find the places of rows; None for all of them."""
    return None if mask.all() else np.flatnonzero(mask)


def _mask_valid(rows: pa.RecordBatch, columns: Sequence[str]) -> Mask | None:
    """Mask the rows with a value in all columns; None for all rows."""
    found = [rows.column(name) for name in columns]
    masks = [column.is_valid().to_numpy(zero_copy_only=False) for column in found if column.null_count]
    return np.logical_and.reduce(masks) if masks else None


def _describe_difference(name: str, batch: int, expected: pa.Schema, got: pa.Schema) -> str:
    places = [
        f'column "{column}": expected {_type_text(expected, column)}, got {_type_text(got, column)}'
        for column in dict.fromkeys((*expected.names, *got.names))
        if _type_text(expected, column) != _type_text(got, column)
    ]
    detail = "; ".join(places) or "the columns stand in another order"
    return f'data "{name}": micro-batch {batch} has another schema than the first one: {detail}'


def _type_text(schema: pa.Schema, column: str) -> str:
    """Write a column's type, or all types of columns of that name."""
    return " and ".join(str(f.type) for f in schema if f.name == column) or "no such column"
