"""Random sets of queries over the same streams, for the engine and for the naive answer of each.

A set has streams and tables with their rows. Each member has some of them, with windows, conditions, filters and times
of its own, so that a member is a `Case` by itself. What is said of a stream's time is said of it in all members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eddy
from eddy.wiring import IndexChoice
from tests import indexes, joins, reference
from tests.conditions import Condition
from tests.filters import Filter, fallible, filters, waits
from tests.joins import CLOCKS, INTEGER, Case

MOST_ROWS, FEW_ROWS = 12, 5
"""Rows of a stream and of a table: three streams make 1,728 combinations, and there are several members with an answer
for each time that they were there."""

ASKED = ("y", "z")
"""Tables that are asked for a match."""

SECOND_NAME = "2"
"""How the second name of a stream ends."""

LENGTHS = (0, 3, 8)
"""Delays where results are told later."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Common:
    """A function that members may have as a filter, made once; it reads one stream."""

    stream: str
    asked: Filter

    @cached_property
    def made(self) -> eddy.Filter:
        """As the engine takes it, under a name that members replace."""
        return self.asked.asked("common", joins.NAMES)

    def under(self, name: str, on_error: str) -> Filter:
        """The same of a stream's second name, and with what a member does about rows without an answer."""
        holds = self.asked.holds
        condition = Condition(self.asked.sql, lambda combination: holds({self.stream: combination[name]}))
        return replace(self.asked, on=(name,), condition=condition, on_error=on_error)


@dataclass(frozen=True, kw_only=True)
class Member(Case):
    """A query of a set; some of its filters are `common` ones, by their number among its own."""

    name: str
    common: Mapping[int, Common] = field(default_factory=dict)

    def query(self) -> eddy.Query:
        """As the engine takes it."""
        return replace(super().query(), name=self.name)

    def _asked(self, number: int, one: Filter) -> eddy.Filter:
        if number not in self.common:
            return super()._asked(number, one)
        made = self.common[number].made
        columns = [f"{one.on[0]}.{str(column).partition('.')[2]}" for column in made.columns or ()]
        told = replace(made, name=f"f{number}", on=one.on, columns=columns, on_error=one.on_error)
        return told.pin([f"f{n}" for n in self.after.get(number, ())] or None)


@dataclass(frozen=True, kw_only=True)
class Set:
    """Queries over the same streams; `rows` are those of streams and of tables."""

    members: Sequence[Member]
    rows: Mapping[str, Sequence[dict[str, Any]]]
    streams: Sequence[str]
    schemas: Mapping[str, pa.Schema]
    batch_rows: int
    index: IndexChoice = None

    @cached_property
    def queries(self) -> Mapping[str, eddy.Query]:
        """All queries, made once: a function that two of them have is one function."""
        return {member.name: member.query() for member in self.members}

    @cached_property
    def by_name(self) -> Mapping[str, Member]:
        """The members by their names."""
        return {member.name: member for member in self.members}

    def together(self, names: Sequence[str]) -> eddy.Queries:
        """Some of the queries, as people ask for them."""
        return eddy.Queries([self.queries[name] for name in names])

    @cached_property
    def tables(self) -> Mapping[str, pa.RecordBatch]:
        """The lookup tables, as an engine takes them."""
        names = [name for name in self.rows if name not in self.streams]
        return {name: pa.RecordBatch.from_pylist(list(self.rows[name]), self.schemas[name]) for name in names}

    @cached_property
    def batches(self) -> Sequence[Mapping[str, Sequence[dict[str, Any]]]]:
        """The micro-batches of all streams."""
        size = self.batch_rows
        cut = {
            name: [self.rows[name][i : i + size] for i in range(0, len(self.rows[name]), size)] for name in self.streams
        }
        return [dict(zip(cut, parts, strict=True)) for parts in zip_longest(*cut.values(), fillvalue=())]

    def read(self, number: int) -> dict[str, pa.RecordBatch]:
        """A micro-batch, as an engine takes it."""
        batch = self.batches[number]
        return {name: pa.RecordBatch.from_pylist(list(rows), self.schemas[name]) for name, rows in batch.items()}

    def answer(self, name: str, start: int, stop: int) -> Counter[tuple[Any, ...]]:
        """The naive answer of a member to some of the micro-batches."""
        member = self.by_name[name]
        sources = {stream: member.source if stream in member.shared else stream for stream in member.streams}
        told = [{stream: batch[source] for stream, source in sources.items()} for batch in self.batches[start:stop]]
        return reference.answer(member.question(), told)


@dataclass(frozen=True, kw_only=True)
class World:
    """What members are drawn over: what all of them say of streams, the tables, and functions for several."""

    sources: Mapping[str, reference.Source]
    clocks: Mapping[str, joins.Clock]
    limits: Mapping[str, float | None]
    tables: Sequence[str]
    common: Sequence[Common]
    faults: bool
    later: bool
    in_cells: bool

    def schema(self, name: str) -> pa.Schema:
        """The columns of a stream or table."""
        clock = self.clocks.get(name, INTEGER).type
        known = self.limits.get(name) is not None
        times = [pa.field("ts", clock), *([pa.field(joins.ARRIVED, clock)] if known else [])]
        return pa.schema([*times, *(pa.field(column, kind) for column, (kind, _) in joins.COLUMNS.items())])


@st.composite
def worlds(draw: st.DrawFn, *, faults: bool, later: bool, in_cells: bool = False) -> World:
    """One to four streams, and two tables at most."""
    streams = list("abcd"[: draw(st.sampled_from([1, 2, 2, 3, 3, 4]))])
    clocks = dict.fromkeys(streams, INTEGER) if in_cells else draw(_clocks(streams))
    ahead = st.sampled_from([None, 0, 4, 15]) if draw(st.integers(0, 7)) == 0 else st.none()
    limits = {name: draw(ahead) for name in streams}
    delays = st.sampled_from(LENGTHS if later else [None, 0, 3, 3 if in_cells else 2.5, 30, 30])
    return World(
        sources={name: draw(_source(clocks[name], limits[name], draw(delays))) for name in streams},
        clocks=clocks,
        limits=limits,
        tables=list("uv"[: draw(st.sampled_from([0, 0, 1, 2]))]),
        common=[draw(_common(name, faults=faults)) for name in draw(st.lists(st.sampled_from(streams), max_size=3))],
        faults=faults,
        later=later,
        in_cells=in_cells,
    )


@st.composite
def _rows(draw: st.DrawFn, world: World) -> dict[str, Sequence[dict[str, Any]]]:
    """The rows of all streams and tables; where results are told later, mostly a last one of each stream."""
    rows: dict[str, Sequence[dict[str, Any]]] = {}
    for name in [*world.sources, *world.tables, *ASKED]:
        row = joins.records(world.clocks.get(name, INTEGER), arrived=world.limits.get(name) is not None)
        most = MOST_ROWS if name in world.sources else FEW_ROWS
        least = draw(st.sampled_from([0, most // 2, *[most] * 3])) if name not in ASKED else 0
        rows[name] = draw(st.lists(row, min_size=least, max_size=most))
    if world.later and draw(st.integers(0, 3)):
        last = {name: joins.latest(world.clocks[name], source) for name, source in world.sources.items()}
        rows |= {name: [*rows[name], row] for name, row in last.items()}
    return rows


@st.composite
def sets(draw: st.DrawFn, *, faults: bool = False, later: bool = False, in_cells: bool = False) -> Set:
    """Two to six queries; where some are told `later`, all streams have a delay.

    With `faults` there are filters without an answer for some rows, whose queries may fail. Those of many cells,
    `in_cells`, have no windows of rows, and whole numbers for times, which Spark counts as milliseconds.
    """
    world = draw(worlds(faults=faults, later=later, in_cells=in_cells))
    rows = draw(_rows(world))
    found: list[Member] = []
    for number in range(draw(st.integers(2, 6))):
        reached = sorted({name.removesuffix(SECOND_NAME) for one in found for name in one.streams})
        member = draw(_members(f"q{number}", world, reached))
        own = {**rows, **dict.fromkeys(member.shared, rows.get(member.source, ()))}
        found.append(replace(member, rows=own, asks=[replace(a, rows=rows[a.table]) for a in member.asks]))
    read = {member.source if name in member.shared else name for member in found for name in member.streams}
    read |= {name for member in found for name in (*member.tables, *(one.table for one in member.asks))}
    return Set(
        members=found,
        rows={name: some for name, some in rows.items() if name in read},
        streams=[name for name in world.sources if name in read],
        schemas={name: world.schema(name) for name in rows},
        batch_rows=draw(st.sampled_from([1, 2, 3, 7, 1000])),
        index=draw(st.none() | indexes.choices((*world.sources, *world.tables))),
    )


@st.composite
def _clocks(draw: st.DrawFn, streams: Sequence[str]) -> dict[str, joins.Clock]:
    """Clocks that all members can compare: whole numbers and floats are other types."""
    kind = draw(st.sampled_from([CLOCKS[0][:2], CLOCKS[0][2:], *CLOCKS[1:]]))
    return {name: draw(st.sampled_from(kind)) for name in streams}


@st.composite
def _source(draw: st.DrawFn, clock: joins.Clock, limit: float | None, delay: float | None) -> reference.Source:
    """What is said of a stream in all members."""
    one = draw(joins.sources(clock, limit, late=False, by_rows=False))
    return replace(one, span=None, delay=joins.ticks(delay, clock))


@st.composite
def _common(draw: st.DrawFn, stream: str, *, faults: bool) -> Common:
    """A function over one stream."""
    made = filters([stream], faults=faults).filter(lambda one: one.form is not None)
    return Common(stream=stream, asked=draw(made))


@st.composite
def _members(draw: st.DrawFn, name: str, world: World, reached: Sequence[str]) -> Member:
    """A query over some of the streams and tables; it has a stream that others `reached`, if any has."""
    streams, shared = draw(_streams(world, reached))
    origins = {one: one.removesuffix(SECOND_NAME) for one in streams}
    # Three streams of a dozen rows each are what the naive answer can do; a table more would be too many.
    looked = [one for one in world.tables if len(streams) < 3 and draw(st.booleans())]
    names = [*streams, *looked]
    is_told_later = world.later and draw(st.integers(0, 2)) > 0
    by_rows = not world.in_cells and (is_told_later or len(streams) > 1)
    asked = draw(_filters(names, origins, world))
    clocks = {one: world.clocks[origin] for one, origin in origins.items()}
    windowed = {one: _windowed(world.sources[origins[one]], clocks[one], by_rows=by_rows) for one in streams}
    more = int(draw(st.integers(0, 3)) == 0)
    case = Member(
        name=name,
        streams={one: draw(source) for one, source in windowed.items()},
        clocks=clocks,
        tables=looked,
        rows={},
        joins=draw(joins.graphs(names, faults=world.faults, more=more)) if len(names) > 1 else [],
        filters=[one for one, _ in asked],
        common={number: made for number, (_, made) in enumerate(asked) if made is not None},
        after=draw(waits(len(asked))),
        batch_rows=1,
        shared=shared,
        source=shared[0] if shared else joins.SHARED,
    )
    if draw(st.integers(0, 5)) == 0:
        case = replace(case, asks=draw(joins.asking(case)).asks)
    if not is_told_later:
        return case
    told = draw(joins.emitting(case))
    return replace(case, emit=told.emit, every=told.every)


@st.composite
def _streams(draw: st.DrawFn, world: World, reached: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of streams, and those that are one source."""
    streams = draw(st.lists(st.sampled_from([*world.sources]), min_size=1, max_size=3, unique=True))
    if reached and not set(streams) & set(reached):
        streams[-1] = draw(st.sampled_from(reached))
    if len(streams) == 3 or draw(st.integers(0, 3)):
        return streams, []
    shared = [streams[0], streams[0] + SECOND_NAME]
    return draw(st.permutations([*streams, shared[1]])), shared


@st.composite
def _filters(
    draw: st.DrawFn, names: Sequence[str], origins: Mapping[str, str], world: World
) -> list[tuple[Filter, Common | None]]:
    """Filters of a member, some of which others may have too."""
    own = draw(st.lists(filters(names, faults=world.faults), max_size=2))
    if world.faults and draw(st.booleans()):
        own = draw(fallible(names))
    found: list[tuple[Filter, Common | None]] = [(one, None) for one in own]
    for one in world.common:
        under = [stream for stream, origin in origins.items() if origin == one.stream]
        if under and draw(st.integers(0, 3)) > 0:
            on_error = draw(st.sampled_from([*[one.asked.on_error] * 3, "fail"]))
            found.append((one.under(draw(st.sampled_from(under)), on_error), one))
    return found


@st.composite
def _windowed(draw: st.DrawFn, source: reference.Source, clock: joins.Clock, *, by_rows: bool) -> reference.Source:
    """The same stream with another window."""
    other = draw(joins.sources(clock, None, late=False, by_rows=by_rows))
    return replace(source, span=other.span, rows=other.rows, by=other.by)
