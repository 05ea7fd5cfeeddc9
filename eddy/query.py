"""What is asked: streams, tables, joins, filters, columns; checked when built.

A `Query` is a value. It knows no data yet, so what depends on types is checked when it meets a schema
(`eddy.binding`); everything else, from a name that is used twice to a syntax error in a filter, is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from eddy import sql
from eddy.checks import distinct, fill, members, named, texts, ticks
from eddy.errors import QueryError, quoted, unknown
from eddy.function import Function, Mask
from eddy.lineage import probe_name, reachable
from eddy.setups import Setup, check_setup
from eddy.window import Range, Rows, Unbounded, Window

Predicate = Callable[[Mapping[sql.Column, pa.Array], int], Mask]
"""Columns and a number of rows to a mask: true where a row passes."""


@dataclass(frozen=True)
class Stream:
    """An unbounded input with an event time and a window.

    `delay` says how far out of order its rows may come, as Spark's `withWatermark` does. Without one the query
    has no watermark: then no row is ever late, and no row ever leaves the state. A row whose time is more than
    `max_ahead` ahead of where the stream stands comes from a clock that is wrong: it is set aside and counted, and
    does not make the rows of other clocks late.
    """

    name: str
    time: str = field(kw_only=True)
    window: Window = field(default_factory=Unbounded, kw_only=True)
    delay: str | int | float | None = field(default=None, kw_only=True)
    max_ahead: str | int | float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        where = named("stream", self.name)
        if not isinstance(self.time, str) or not self.time:
            raise QueryError(f"{where}: expected the name of its event-time column as time, got {self.time!r}")
        if not isinstance(self.window, Range | Rows | Unbounded):
            raise QueryError(f"{where}: expected a window Range(...), Rows(...) or Unbounded(), got {self.window!r}")
        for name, length in (("delay", self.delay), ("max_ahead", self.max_ahead)):
            if length is not None:
                ticks(length, f"{where}: {name}")

    @cached_property
    def delay_ticks(self) -> int | float | None:
        """The delay in microseconds, or in the units of a numeric time column."""
        return None if self.delay is None else ticks(self.delay, f'stream "{self.name}": delay')

    @cached_property
    def ahead_ticks(self) -> int | float | None:
        """How far a row's time may be ahead of the others', in the same units."""
        return None if self.max_ahead is None else ticks(self.max_ahead, f'stream "{self.name}": max_ahead')


@dataclass(frozen=True)
class Table:
    """A static input that streams look rows up in."""

    name: str

    def __post_init__(self) -> None:
        named("table", self.name)


@dataclass(frozen=True)
class Filter:
    """A predicate: SQL text as `where`, or a Python function.

    `where` is SQL as Spark reads it. A function reads the `columns` that are named, or those that its parameters are
    called; what it is handed follows from its annotations, or is plain values with `rowwise`: see `eddy.function`.
    `setup` is called once in every worker, before the function sees rows there: see `eddy.setups`.

    Filters run in any order, so a filter must be able to answer every row of its input. One that guards another, as
    `x <> 0` guards `y / x > 1`, belongs into the same text: `x <> 0 and y / x > 1`.

    >>> Filter("big", on="a", where="v > 10").on
    ('a',)
    """

    name: str
    on: str | Sequence[str] = field(kw_only=True)
    where: str | None = field(default=None, kw_only=True)
    function: Callable[..., Any] | None = field(default=None, kw_only=True)
    columns: Sequence[str] | None = field(default=None, kw_only=True)
    rowwise: bool = field(default=False, kw_only=True)
    setup: Setup | None = field(default=None, kw_only=True)
    predicate: sql.Expression | Function = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        where = named("filter", self.name)
        fill(self, "on", texts(self.on, f"{where}: on"))
        if (self.where is None) == (self.function is None):
            got = "neither" if self.where is None else "both"
            raise QueryError(f"{where}: expected either where or function, got {got}")
        fill(self, "predicate", self._text(where) if self.function is None else self._function(where))
        for column in self.predicate.columns:
            if column.stream not in self.on:
                error = unknown("stream", str(column.stream), self.on, where=f'{where}: column "{column}"')
                raise QueryError(f"{error}; fields of a struct cannot be read")

    def bind(self, types: Mapping[sql.Column, pa.DataType]) -> Predicate:
        """The filter over columns of these types, as a function to a mask."""
        if isinstance(self.predicate, Function):
            for column in self.predicate.columns:
                if column not in types:
                    known = [c.name for c in types if c.stream == column.stream]
                    raise unknown("column", column.name, known, where=f'filter "{self.name}"')
            return self.predicate.mask
        bound = self.predicate.condition({column: t for column, t in types.items() if column.stream in self.on})
        return lambda columns, rows: sql.truth(bound.evaluate(columns, rows))

    def _text(self, where: str) -> sql.Expression:
        if self.columns is not None or self.rowwise or self.setup is not None:
            raise QueryError(f"{where}: columns, rowwise and setup go with function; where names its columns itself")
        if not isinstance(self.where, str):
            raise QueryError(f"{where}: expected SQL text as where, got {self.where!r}")
        return sql.parse(self.where, where=where).qualified(self._resolve)

    def _function(self, where: str) -> Function:
        assert self.function is not None
        columns = None if self.columns is None else texts(self.columns, f"{where}: columns")
        fill(self, "columns", columns)
        if self.setup is not None:
            check_setup(self.setup, where)
        return Function.of(self.function, columns, rowwise=self.rowwise, where=where).qualified(self._resolve)

    def _resolve(self, column: sql.Column) -> sql.Column:
        if column.stream is not None:
            return column
        if len(self.on) > 1:
            raise QueryError(
                f'filter "{self.name}": column "{column.name}" names no stream; the filter is on {quoted(self.on)}, '
                f'so write "{self.on[0]}.{column.name}" or the like'
            )
        return sql.Column(self.on[0], column.name)


@dataclass(frozen=True, kw_only=True)
class Query:
    """Streams, tables, joins, filters and selected columns.

    A join is a condition between two or more inputs: an equality, a comparison, or any other SQL. `cross` allows
    inputs that no join connects, and then every combination of them is formed. `max_fanout` is a limit to the rows of
    one input that one tuple may join on its way; more of them are an error and not a full memory. Which tuples are
    formed on the way depends on the routing, so the limit is for what no route should meet.

    >>> query = Query(
    ...     streams=[Stream("a", time="ts")], filters=[Filter("big", on="a", where="v > 10")], select=["a.v"]
    ... )
    >>> query.inputs
    ('a',)
    """

    name: str = "query"
    streams: Sequence[Stream]
    tables: Sequence[Table] = ()
    joins: Sequence[str] = ()
    filters: Sequence[Filter] = ()
    select: Sequence[str] | None = None
    cross: bool = False
    max_fanout: int | None = None
    predicates: tuple[sql.Expression, ...] = field(init=False, repr=False, compare=False)
    outputs: tuple[tuple[sql.Column, str], ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named("query", self.name)
        for kind, member in (("streams", Stream), ("tables", Table), ("filters", Filter)):
            fill(self, kind, members(getattr(self, kind), member, f"query: {kind}"))
        if not self.streams:
            raise QueryError("query: expected at least one stream, got none")
        distinct("stream or table", self.inputs, "query")
        distinct("filter", [f.name for f in self.filters], "query")
        for name, where in [(name, f'filter "{f.name}"') for f in self.filters for name in f.on]:
            self._check_input(name, where)
        fill(self, "joins", texts(self.joins, "query: joins") if self.joins else ())
        fill(self, "predicates", tuple(part for text in self.joins for part in self._join(text)))
        fill(self, "outputs", self._outputs())
        self._check_shape()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of all streams and tables, streams first."""
        return (*(stream.name for stream in self.streams), *(table.name for table in self.tables))

    def _check_shape(self) -> None:
        """Can every tuple reach every input, and do the windows mean something."""
        if self.max_fanout is not None and (not _is_count(self.max_fanout)):
            raise QueryError(f"query: max_fanout: expected a whole number of 1 or more, got {self.max_fanout!r}")
        sets = [predicate.inputs for predicate in self.predicates]
        for stream in self.streams:
            apart = [name for name in self.inputs if name not in reachable(stream.name, sets)]
            if apart and not self.cross:
                raise QueryError(
                    f'query: no join leads from "{stream.name}" to {quoted(apart)}; '
                    "add a join, or say cross=True for every combination"
                )
        if len(self.streams) == 1 and isinstance(self.streams[0].window, Rows):
            raise QueryError(
                f'stream "{self.streams[0].name}": window {self.streams[0].window} has no meaning in a query over one '
                "stream: a row is always the newest when it arrives; use Unbounded()"
            )
        for name in self.inputs:
            if probe_name(name) in [f.name for f in self.filters]:
                raise QueryError(f'filter "{probe_name(name)}": the probe of "{name}" has this name; choose another')

    def _check_input(self, name: str, where: str) -> None:
        if name not in self.inputs:
            raise unknown("stream or table", name, self.inputs, where=where)

    def _join(self, text: str) -> tuple[sql.Expression, ...]:
        where = f'join "{text}"'
        parts = sql.parse(text, where=where).conjuncts()
        for part in parts:
            streams = dict.fromkeys(column.stream for column in part.columns)
            for column in part.columns:
                if column.stream is None:
                    raise QueryError(f'{where}: column "{column.name}" names no stream; write "stream.{column.name}"')
                self._check_input(column.stream, where)
            if len(streams) < 2:
                raise QueryError(
                    f'{where}: expected a condition between two or more streams or tables, got "{part.text}"; '
                    "a condition on one of them is a filter"
                )
        return parts

    def _outputs(self) -> tuple[tuple[sql.Column, str], ...] | None:
        if self.select is None:
            return None
        fill(self, "select", texts(self.select, "query: select"))
        outputs = tuple(sql.parse_select(text, where=f'select "{text}"') for text in self.select)
        for column, _ in outputs:
            if column.stream is None:
                raise QueryError(f'select "{column.name}": names no stream; write "stream.{column.name}"')
            self._check_input(column.stream, f'select "{column}"')
        distinct("output column", [name for _, name in outputs], "query: select")
        return outputs


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 1
