"""Random joins, each in three forms: for the engine, for the naive answer, and for DuckDB.

A case is drawn as a graph of conditions over a few inputs with few distinct values, so that combinations are found,
and with every kind of window, delay and filter. The same draw gives the engine's query, the reference's question and
the text of the SQL that DuckDB is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, partial
from itertools import zip_longest
from math import prod
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eddy
from eddy.wiring import IndexChoice
from tests import indexes, reference
from tests.conditions import Condition, alone, edges, sums
from tests.filters import Filter, fallible, filters, waits
from tests.strategies import EPOCH

COLUMNS: Mapping[str, tuple[pa.DataType, Sequence[Any]]] = {
    "k": (pa.int32(), [0, 1, 2, 3]),
    "x": (pa.int64(), [0, 1, 2, 2**53, 2**53 + 1]),
    "f": (pa.float64(), [0.0, -0.0, 1.0, float("nan")]),
    "s": (pa.string(), ["", "a", "b", "ab"]),
}
"""An input's columns besides its time; few values each, so that rows join. Some are null."""

NAMES = ("ts", *COLUMNS)

SHARED = "rows"
"""What the source is called that several streams have."""

ARRIVED = "at"
"""When a row arrived, in streams that have a limit to how far ahead of that its time may be."""


@dataclass(frozen=True, eq=False)
class Clock:
    """A type of event time: its values, and the unit of lengths in a query."""

    type: pa.DataType
    values: Sequence[Any]
    unit: str | None = None


def or_null(values: Sequence[Any]) -> Sequence[Any]:
    """The values, and nulls: a fifth or so of all. The first is null, as the smallest example is."""
    return [None] * (len(values) // 4) + [*values]


MOMENTS = range(31)
INTEGER = Clock(pa.int64(), MOMENTS)
ZONED = [EPOCH + timedelta(seconds=s) for s in MOMENTS]
UNZONED = [moment.replace(tzinfo=None) for moment in ZONED]
CLOCKS = (
    (
        INTEGER,
        Clock(pa.int8(), or_null(MOMENTS)),
        Clock(pa.float64(), or_null([float("nan"), -0.0, 0.5, 1.0, 7.25, 12.0, 29.5, 30.0])),
    ),
    (
        Clock(pa.timestamp("us", "UTC"), or_null(ZONED), "microseconds"),
        Clock(pa.timestamp("ns", "Europe/Berlin"), ZONED, "microseconds"),
    ),
    (
        Clock(pa.timestamp("ms"), or_null(UNZONED), "microseconds"),
        Clock(pa.timestamp("us"), UNZONED, "microseconds"),
    ),
)
"""Clocks that can be compared with each other, kind by kind."""

UNZONED_CLOCKS = CLOCKS[2]

LATEST = 70
"""A time after all others by more than any window."""

SECOND = 1_000_000

COMBINATIONS = 20_000
"""How many combinations the naive answer may have to look at in one case."""

CROWD = 5_000
"""The same for a crowded case, where it comes near to that every time."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """A table that is asked for a match: a semi join if one is wanted, an anti join if not."""

    table: str
    wanted: bool
    rows: Sequence[dict[str, Any]]
    conditions: Sequence[Condition]

    @property
    def sql(self) -> str:
        """As DuckDB takes it."""
        texts = " and ".join(f"({one.sql})" for one in self.conditions)
        return f"{'' if self.wanted else 'not '}exists (select 1 from {self.table} where {texts})"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A query over some rows."""

    streams: Mapping[str, reference.Source]
    clocks: Mapping[str, Clock]
    tables: Sequence[str]
    rows: Mapping[str, Sequence[dict[str, Any]]]
    joins: Sequence[Condition]
    filters: Sequence[Filter]
    batch_rows: int
    after: Mapping[int, Sequence[int]] = field(default_factory=dict)
    index: IndexChoice = None
    asks: Sequence[Asking] = ()
    emit: str = "begin"
    every: float | None = None
    shared: Sequence[str] = ()
    source: str = SHARED
    """Streams that are said to be one source, and what it is called."""

    @property
    def inputs(self) -> list[str]:
        """All inputs, streams first."""
        return [*self.streams, *self.tables]

    def query(self) -> eddy.Query:
        """As the engine takes it."""
        return eddy.Query(
            streams=[
                eddy.Stream(
                    name,
                    time="ts",
                    window=_window(source, clock),
                    delay=_length(source.delay, clock),
                    max_ahead=_length(source.max_ahead, clock),
                    arrived=source.arrived,
                    source=self.source if name in self.shared else None,
                )
                for (name, source), clock in zip(self.streams.items(), self.clocks.values(), strict=True)
            ],
            tables=[eddy.Table(name) for name in (*self.tables, *(one.table for one in self.asks))],
            joins=list(dict.fromkeys(join.sql for join in self.joins)),
            semi=self._asked_of(wanted=True),
            anti=self._asked_of(wanted=False),
            filters=[self._asked(n, f) for n, f in enumerate(self.filters)],
            select=[f"{name}.{column} as {name}_{column}" for name in self.inputs for column in NAMES],
            cross=True,
            emit=self._emit(),
        )

    def _emit(self) -> str | eddy.Every:
        if self.every is None:
            return self.emit
        clock = next(iter(self.clocks.values()))
        return eddy.Every(self.every if clock.unit is None else f"{self.every} {clock.unit}")

    def _asked_of(self, *, wanted: bool) -> list[str]:
        return [" and ".join(f"({c.sql})" for c in one.conditions) for one in self.asks if one.wanted == wanted]

    def _asked(self, number: int, one: Filter) -> eddy.Filter:
        awaited = self.after.get(number, ())
        asked = one.asked(f"f{number}", NAMES, [self.filters[n] for n in awaited])
        return asked.pin([f"f{n}" for n in awaited] or None)

    def data(self) -> dict[str, pa.Table]:
        """Every input as a table."""
        rows = {**{name: self.rows[name] for name in self.inputs}, **{one.table: one.rows for one in self.asks}}
        found = {name: pa.Table.from_pylist(list(some), schema=self.schema(name)) for name, some in rows.items()}
        # Streams of one source have the very same rows.
        return found | dict.fromkeys(self.shared, found[self.shared[0]]) if self.shared else found

    def by_source(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """What streams have, as an engine takes it: by their sources."""
        return {self.source if name in self.shared else name: some for name, some in rows.items()}

    def schema(self, name: str) -> pa.Schema:
        """An input's columns; a table's time is an integer like any other."""
        clock = self.clocks.get(name, INTEGER).type
        known = name in self.streams and self.streams[name].arrived is not None
        times = [pa.field("ts", clock), *([pa.field(ARRIVED, clock)] if known else [])]
        return pa.schema([*times, *(pa.field(column, kind) for column, (kind, _) in COLUMNS.items())])

    def question(self) -> reference.Question:
        """As the naive answer takes it."""
        return reference.Question(
            streams=self.streams,
            tables={name: self.rows[name] for name in self.tables},
            conditions=[
                *(c.holds for c in self.joins),
                *(f.holds for f in self.filters),
                *(
                    reference.exists(one.table, one.rows, [c.holds for c in one.conditions], wanted=one.wanted)
                    for one in self.asks
                ),
            ],
            on_error={len(self.joins) + n: f.on_error for n, f in enumerate(self.filters)},
            select=[(name, column) for name in self.inputs for column in NAMES],
            emit=self.emit,
            every=self.every,
            whole=not any(pa.types.is_floating(clock.type) for clock in self.clocks.values()),
        )

    def batches(self) -> list[dict[str, list[dict[str, Any]]]]:
        """The micro-batches that the engine makes of the streams."""
        cut = {
            name: [self.rows[name][i : i + self.batch_rows] for i in range(0, len(self.rows[name]), self.batch_rows)]
            for name in self.streams
        }
        together = zip_longest(*cut.values(), fillvalue=[])
        return [{name: list(part) for name, part in zip(cut, parts, strict=True)} for parts in together]

    def sql(self) -> str:
        """As DuckDB takes it, for windows by time and rows that are never late."""
        newest = "greatest(" + ", ".join(f"{name}.ts" for name in self.streams) + ")"
        spans = [f"{newest} - {name}.ts <= {s.span}" for name, s in self.streams.items() if s.span is not None]
        limits = {name: s.max_ahead for name, s in self.streams.items() if s.max_ahead is not None}
        spans += [f"coalesce({name}.ts - {name}.{ARRIVED} <= {limit}, true)" for name, limit in limits.items()]
        asked = [*(c.sql for c in self.joins), *(f.sql for f in self.filters), *(one.sql for one in self.asks)]
        columns = ", ".join(f"{name}.{column}" for name in self.inputs for column in NAMES)
        return f"select {columns} from {', '.join(self.inputs)} where " + " and ".join(
            f"({text})" for text in (*asked, *spans, "true")
        )


def _length(ticks: float | None, clock: Clock) -> str | float | None:
    """As a query says it."""
    return ticks if ticks is None or clock.unit is None else f"{ticks} {clock.unit}"


def _window(source: reference.Source, clock: Clock) -> eddy.Range | eddy.Rows | eddy.Unbounded:
    length = _length(source.span, clock)
    if length is not None:
        return eddy.Range(length)
    return eddy.Rows(source.rows, by=source.by) if source.rows is not None else eddy.Unbounded()


@st.composite
def graphs(draw: st.DrawFn, names: Sequence[str], *, faults: bool, more: int) -> list[Condition]:
    """Conditions that connect the inputs: a tree, more edges, and now and then a condition over three."""
    found = []
    for n, name in enumerate(names[1:], 1):
        found.append(draw(edges(draw(st.sampled_from(names[:n])), name, faults=faults)))
    for _ in range(draw(st.integers(0, more))):
        a, b = draw(st.permutations(names))[:2]
        found.append(draw(edges(a, b, faults=faults)))
    if len(names) > 2 and draw(st.booleans()):
        found.append(sums(*draw(st.permutations(names))[:3]))
    return found if draw(st.integers(0, 9)) else found[1:]


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    late: bool = True,
    by_rows: bool = True,
    clocks: bool = True,
    faults: bool = False,
    crowded: bool = False,
    alone_by_rows: bool = False,
    shared: bool = False,
) -> Case:
    """A query of two to six inputs; now and then several streams have one source, or predicates have no answer.

    Where they are to be `shared` they always have, and are said to. Windows of rows have a meaning in a query over one
    stream where results are told later. Where it is crowded there are many rows, and few conditions beside those that
    connect the inputs: then most of the answers have rows.
    """
    faults = faults and (crowded or draw(st.booleans()))
    names = list("abcdef"[: draw(st.sampled_from([2, 2, 3, 3, 4, 5, 6]))])
    streams = names[: draw(st.integers(2 if shared else 1, len(names)))]
    kind = draw(st.sampled_from(CLOCKS)) if clocks else (INTEGER,)
    times = {name: draw(st.sampled_from(kind)) for name in streams}
    least = 4 if len(names) < 4 else 2
    most = int((CROWD if crowded else COMBINATIONS) ** (1 / len(names)))
    ahead = st.sampled_from([None, 0, 4, 7.5, 15]) if draw(st.integers(0, 7)) == 0 else st.none()
    limits = {name: draw(ahead) for name in streams}
    rows = {}
    for name in names:
        size = st.just(most * 2 // 3) if crowded else st.sampled_from([0, least])
        row = records(times.get(name, INTEGER), arrived=limits.get(name) is not None)
        rows[name] = draw(st.lists(row, min_size=draw(size), max_size=most))
    alike = draw(likenesses(streams)) if shared or draw(st.integers(0, 4)) == 0 else []
    for other in alike[1:]:
        rows[other], times[other], limits[other] = rows[alike[0]], times[alike[0]], limits[alike[0]]
    by_rows = by_rows and (len(streams) > 1 or alone_by_rows)
    asked = st.lists(filters(names, faults=faults), max_size=2 if crowded else 3)
    if faults and crowded:
        asked = fallible(names)
    found = draw(asked)
    conditions = draw(graphs(names, faults=faults, more=0 if crowded else len(names)))
    asked_of = {name: draw(sources(times[name], limits[name], late=late, by_rows=by_rows)) for name in streams}
    return Case(
        streams=asked_of | {other: replace(asked_of[other], delay=asked_of[alike[0]].delay) for other in alike},
        clocks=times,
        tables=names[len(streams) :],
        rows=rows,
        joins=conditions,
        filters=found,
        batch_rows=draw(st.sampled_from([1, 2, 3, 7, 1000])),
        after=draw(waits(len(found))),
        index=draw(st.none() | indexes.choices(tuple(names))) if conditions else None,
        shared=alike if shared or draw(st.booleans()) else (),
    )


@st.composite
def likenesses(draw: st.DrawFn, streams: Sequence[str]) -> list[str]:
    """Two or three streams that are the same rows; none where there is one."""
    some = draw(st.permutations(streams))[: draw(st.integers(2, 3))]
    return [name for name in streams if name in some] if len(streams) > 1 else []


@st.composite
def asking(draw: st.DrawFn, case: Case, *, faults: bool = False) -> Case:
    """The same case with tables that are asked for a match, by a condition or several."""
    asks = []
    for table in "yz"[: draw(st.integers(1, 2))]:
        conditions = [draw(edges(draw(st.sampled_from(case.inputs)), table, faults=faults))]
        if draw(st.booleans()):
            conditions.append(draw(edges(draw(st.sampled_from(case.inputs)), table, faults=faults)))
        if draw(st.booleans()):
            conditions.append(alone(table))
        # Few rows: with many nearly every combination has a match.
        rows = draw(st.lists(records(INTEGER, arrived=False), max_size=6))
        asks.append(Asking(table=table, wanted=draw(st.booleans()), rows=rows, conditions=conditions))
    return replace(case, asks=asks)


@st.composite
def told_later(draw: st.DrawFn, case: Case) -> Case:
    """The same case, with combinations that are told at their end, or at ticks: all streams have a delay.

    Mostly a last row of each stream, later than all others, lets the watermark pass what was there before.
    """
    if draw(st.integers(0, 3)):
        last = {name: latest(case.clocks[name], source) for name, source in case.streams.items()}
        case = replace(case, rows={**case.rows, **{name: [*case.rows[name], row] for name, row in last.items()}})
    lengths = st.sampled_from([0, 3, 8])
    # Streams of one source have one delay.
    delays = dict.fromkeys(case.shared, draw(lengths))
    streams = {
        name: replace(source, delay=delays.get(name, draw(lengths)) * _unit(case.clocks[name]))
        for name, source in case.streams.items()
    }
    return draw(emitting(replace(case, streams=streams)))


@st.composite
def emitting(draw: st.DrawFn, case: Case) -> Case:
    """The same case, told at its end or at ticks."""
    bounded = any(source.span is not None or source.rows is not None for source in case.streams.values())
    if bounded and draw(st.booleans()):
        return replace(case, emit="end")
    clock = next(iter(case.clocks.values()))
    return replace(case, emit="tick", every=draw(st.sampled_from([1, 3, 7, 40])) * _unit(clock))


def latest(clock: Clock, source: reference.Source) -> dict[str, Any]:
    """A row that joins by no equality, some time after all others."""
    zone = None if clock in UNZONED_CLOCKS else EPOCH.tzinfo
    number = float(LATEST) if pa.types.is_floating(clock.type) else LATEST
    time = number if clock.unit is None else (EPOCH + timedelta(seconds=LATEST)).replace(tzinfo=zone)
    row: dict[str, Any] = dict.fromkeys(NAMES) | {"ts": time}
    return row if source.arrived is None else row | {source.arrived: time}


def _unit(clock: Clock) -> int:
    return 1 if clock.unit is None else SECOND


@cache
def records(clock: Clock, *, arrived: bool) -> st.SearchStrategy[dict[str, Any]]:
    """A row, as one number that stands for all its values: each value by itself takes longer to draw than all else."""
    values = {"ts": clock.values, **{name: or_null(some) for name, (_, some) in COLUMNS.items()}}
    rows = st.integers(0, prod(map(len, values.values())) - 1).map(partial(_row, values))
    return st.builds(_arriving, rows, st.sampled_from(or_null(clock.values))) if arrived else rows


def _row(values: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """The values that the digits of a number stand for; 0 is the first of each."""
    row = {}
    for name, some in values.items():
        number, place = divmod(number, len(some))
        row[name] = some[place]
    return row


def _arriving(row: dict[str, Any], at: Any) -> dict[str, Any]:
    return {**row, ARRIVED: at}


@st.composite
def sources(draw: st.DrawFn, clock: Clock, limit: float | None, *, late: bool, by_rows: bool) -> reference.Source:
    """A stream with any window; lengths are whole or halves, so that floats hold them and their sums."""
    kind = draw(st.sampled_from(["span", "span", "rows", "all"] if by_rows else ["span", "span", "all"]))
    delay = draw(st.sampled_from([None, 0, 3, 2.5, 30])) if late else draw(st.sampled_from([None, 30]))
    span = draw(st.integers(0, 20) | st.sampled_from([0.5, 7.5])) if kind == "span" else None
    return reference.Source(
        time="ts",
        span=ticks(span, clock),
        rows=draw(st.integers(1, 5)) if kind == "rows" else None,
        by=draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)) if kind == "rows" else (),
        delay=ticks(delay, clock),
        max_ahead=ticks(limit, clock),
        arrived=None if limit is None else ARRIVED,
    )


def ticks(length: float | None, clock: Clock) -> float | None:
    """As the reference counts it."""
    return length if length is None or clock.unit is None else int(length * SECOND)
