"""What is asked: streams, tables, joins, filters, columns; checked when built.

A `Query` is a value. It knows no data yet, so what depends on types is checked when it meets a schema
(`eddy.binding`); everything else, from a name that is used twice to a syntax error in a filter, is found here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from eddy import sql
from eddy.duration import LARGEST, duration
from eddy.errors import QueryError, quoted, unknown
from eddy.function import Function, Mask


@dataclass(frozen=True)
class Range:
    """A window by event time: a duration, or a number.

    >>> Range("30 seconds").length
    30000000
    >>> Range(5).length
    5
    """

    span: str | int | float

    def __post_init__(self) -> None:
        _length(self.span, "window Range")

    @property
    def length(self) -> int | float:
        """The window in microseconds, or in the units of a numeric time column."""
        return _length(self.span, "window Range")

    def __str__(self) -> str:
        return f"Range({self.span!r})"


@dataclass(frozen=True)
class Rows:
    """A window of the newest rows of a stream."""

    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or isinstance(self.count, bool) or self.count < 1:
            raise QueryError(f"window Rows: expected a whole number of 1 or more, got {self.count!r}")

    def __str__(self) -> str:
        return f"Rows({self.count})"


@dataclass(frozen=True)
class Unbounded:
    """No window: every row of the stream stays."""

    def __str__(self) -> str:
        return "Unbounded()"


Predicate = Callable[[Mapping[sql.Column, pa.Array], int], Mask]
"""Columns and a number of rows to a mask: true where a row passes."""

Window = Range | Rows | Unbounded


@dataclass(frozen=True)
class Stream:
    """An unbounded input with an event time and a window.

    `delay` says how far out of order its rows may come, as Spark's `withWatermark` does. Without one the query
    has no watermark: then no row is ever late, and no row ever leaves the state.
    """

    name: str
    time: str = field(kw_only=True)
    window: Window = field(default_factory=Unbounded, kw_only=True)
    delay: str | int | float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        where = _place("stream", self.name)
        if not isinstance(self.time, str) or not self.time:
            raise QueryError(f"{where}: expected the name of its event-time column as time, got {self.time!r}")
        if not isinstance(self.window, Range | Rows | Unbounded):
            raise QueryError(f"{where}: expected a window Range(...), Rows(...) or Unbounded(), got {self.window!r}")
        if self.delay is not None:
            _length(self.delay, f"{where}: delay")

    @property
    def lag(self) -> int | float | None:
        """The delay in microseconds, or in the units of a numeric time column."""
        return None if self.delay is None else _length(self.delay, f'stream "{self.name}": delay')


@dataclass(frozen=True)
class Table:
    """A static input that streams look rows up in."""

    name: str

    def __post_init__(self) -> None:
        _place("table", self.name)


@dataclass(frozen=True)
class Filter:
    """A predicate: SQL text as `where`, or a Python function.

    >>> Filter("big", on="a", where="v > 10").on
    ('a',)
    """

    name: str
    on: str | Sequence[str] = field(kw_only=True)
    where: str | None = field(default=None, kw_only=True)
    function: Callable[..., Any] | None = field(default=None, kw_only=True)
    columns: Sequence[str] | None = field(default=None, kw_only=True)
    rowwise: bool = field(default=False, kw_only=True)
    predicate: sql.Expression | Function = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        where = _place("filter", self.name)
        _set(self, "on", _names(self.on, f"{where}: on"))
        if (self.where is None) == (self.function is None):
            got = "neither" if self.where is None else "both"
            raise QueryError(f"{where}: expected either where or function, got {got}")
        _set(self, "predicate", self._text(where) if self.function is None else self._function(where))
        for column in self.predicate.columns:
            if column.stream not in self.on:
                raise unknown("stream", str(column.stream), self.on, where=f'{where}: column "{column}"')

    def bind(self, types: Mapping[sql.Column, pa.DataType]) -> Predicate:
        """The filter over columns of these types, as a function to a mask."""
        where = f'filter "{self.name}"'
        for column in self.predicate.columns:
            if column not in types:
                known = [c.name for c in types if c.stream == column.stream]
                raise unknown("column", column.name, known, where=where)
        if isinstance(self.predicate, Function):
            return self.predicate.mask
        bound = self.predicate.bind(types)
        if not pa.types.is_boolean(bound.type):
            raise QueryError(f'{where}: expected a condition that is true or false, got {bound.type} of "{self.where}"')
        return lambda columns, rows: sql.truth(bound.evaluate(columns, rows))

    def _text(self, where: str) -> sql.Expression:
        if self.columns is not None or self.rowwise:
            raise QueryError(f"{where}: columns and rowwise go with function; where names its columns itself")
        if not isinstance(self.where, str):
            raise QueryError(f"{where}: expected SQL text as where, got {self.where!r}")
        return sql.parse(self.where, where=where).qualified(self._resolve)

    def _function(self, where: str) -> Function:
        assert self.function is not None
        columns = None if self.columns is None else _names(self.columns, f"{where}: columns")
        _set(self, "columns", columns)
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
    predicates: tuple[sql.Expression, ...] = field(init=False, repr=False, compare=False)
    outputs: tuple[tuple[sql.Column, str], ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for kind, member in (("streams", Stream), ("tables", Table), ("filters", Filter)):
            _set(self, kind, _members(getattr(self, kind), member, f"query: {kind}"))
        if not self.streams:
            raise QueryError("query: expected at least one stream, got none")
        _distinct("stream or table", self.inputs, "query")
        _distinct("filter", [f.name for f in self.filters], "query")
        for name, where in [(name, f'filter "{f.name}"') for f in self.filters for name in f.on]:
            self._check_input(name, where)
        _set(self, "joins", _names(self.joins, "query: joins") if self.joins else ())
        _set(self, "predicates", tuple(part for text in self.joins for part in self._join(text)))
        _set(self, "outputs", self._outputs())

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of all streams and tables, streams first."""
        return (*(stream.name for stream in self.streams), *(table.name for table in self.tables))

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
        _set(self, "select", _names(self.select, "query: select"))
        outputs = tuple(sql.parse_select(text, where=f'select "{text}"') for text in self.select)
        for column, _ in outputs:
            if column.stream is None:
                raise QueryError(f'select "{column.name}": names no stream; write "stream.{column.name}"')
            self._check_input(column.stream, f'select "{column}"')
        _distinct("output column", [name for _, name in outputs], "query: select")
        return outputs


def _set(value: object, name: str, content: object) -> None:
    """Fill a field of a frozen value while it is being built."""
    object.__setattr__(value, name, content)


def _place(kind: str, name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise QueryError(f"{kind}: expected a name of letters, digits and underscores, got {name!r}")
    return f'{kind} "{name}"'


def _length(span: object, where: str) -> int | float:
    if isinstance(span, str):
        return duration(span, where=where)
    if isinstance(span, int | float) and not isinstance(span, bool) and 0 <= span <= LARGEST and math.isfinite(span):
        return span
    raise QueryError(f'{where}: expected a duration such as "30 seconds", or a number of 0 or more, got {span!r}')


def _names(value: object, where: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Iterable):
        raise QueryError(f"{where}: expected a text or a list of texts, got {value!r}")
    found = tuple(names)
    wrong = [name for name in found if not isinstance(name, str) or not name]
    if wrong or not found:
        raise QueryError(f"{where}: expected one text or more, got {wrong[0] if wrong else value!r}")
    _distinct("entry", found, where)
    return found


def _members(value: object, member: type, where: str) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise QueryError(f"{where}: expected a list of {member.__name__}(...), got {value!r}")
    found = tuple(value)
    for one in found:
        if not isinstance(one, member):
            raise QueryError(f"{where}: expected {member.__name__}(...), got {one!r}")
    return found


def _distinct(kind: str, names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise QueryError(f'{where}: {kind} "{name}" stands twice; every {kind} needs a name of its own')
        seen.add(name)
