"""Filters in the short ways in which `eddy.where` takes them.

All are about the rows of one frame, so nobody has to name a stream, and most need no name of their own: a function
has one, and SQL texts and lambdas are numbered.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, TypeVar

from eddy import sql
from eddy.errors import QueryError, quote, shorten, unknown_name, write_repr
from eddy.predicates.faults import REJECT
from eddy.query.filter import Filter
from eddy.query.inputs import Stream, Table
from eddy.query.lookups import NO_LOOKUPS, Lookups, name_stream
from eddy.query.query import Query
from eddy.query.validation import check_name
from eddy.sql.values.name_case import fold_case

ROWS = "rows"
"""What the stream of a frame is called, unless a `Filter` among its predicates calls it otherwise."""

MARK = "eddy_predicate"
"""The attribute in which a decorated function carries how it is to be asked."""

EXPECTED = (
    'expected SQL text, a function, a function with its columns as (function, "column"), a udf or a pandas_udf, or a '
    "Filter(...)"
)

FORMS_OF_CODE = (
    ("is a generator", inspect.isgeneratorfunction),
    ("is an asynchronous generator", inspect.isasyncgenfunction),
)
"""Functions that give something else than an answer when they are called."""

PARTS = re.compile(r"`(?:[^`]|``)*`|[^.`]+")
"""The parts of a way such as user.`last seen`."""

UserFunction = TypeVar("UserFunction", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Mark:
    """How a decorated function is to be asked: the keys of a `Filter`."""

    name: str | None
    options: Mapping[str, Any]


def predicate(
    bare: None = None, /, *, name: str | None = None, **options: Any
) -> Callable[[UserFunction], UserFunction]:
    """Note beside a function how `eddy.where` is to ask it.

    Takes what a `Filter` does besides `on`, `where` and `function`: `columns`, `rowwise`, `setup`, `nulls`, `on_error`,
    `time_limit`, `concurrency`, `batch_size`, `cache`, `after`, `cost`. The function itself stays as it is.

    >>> @predicate(columns=["body"], on_error="drop", rowwise=True)
    ... def is_short(text):
    ...     return len(text) < 10
    >>> is_short("abc")
    True
    """
    if bare is not None:
        raise QueryError(
            f'predicate: expected keys, as in @eddy.predicate(on_error="drop"), got {write_repr(bare)}; a function '
            "without keys needs no decorator"
        )
    known = {field.name for field in fields(Filter) if field.init} - {"on", "where", "function"}
    for key in options:
        if key not in known:
            raise unknown_name("key", key, known, where="predicate")
    if name is not None:
        check_name("predicate", name)

    def note(function: UserFunction) -> UserFunction:
        try:
            setattr(function, MARK, Mark(name=name, options=options))
        except AttributeError:
            # Methods and builtins have no place for a note, and a text is no function at all.
            raise QueryError(
                f"predicate: expected a function that was made by def or lambda, got {write_repr(function)}; wrap it "
                'in one, or give eddy.Filter("name", on="rows", ...)'
            ) from None
        return function

    return note


def read_marked(function: Any) -> Mark:
    """Read how a function is to be asked; nothing is said of one that nobody has decorated."""
    noted = getattr(function, MARK, None)
    return noted if isinstance(noted, Mark) else Mark(name=None, options={})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked about the rows of one frame, before it is a query."""

    stream: str
    filters: Sequence[Filter]
    lookups: Lookups = NO_LOOKUPS

    @cached_property
    def joined(self) -> list[str]:
        """The tables whose rows results have."""
        return self.lookups.list_joined(name for f in self.filters for name in f.on)

    @cached_property
    def conditions(self) -> Mapping[str, Sequence[str]]:
        """The conditions with tables, with the name of the stream before the columns of the frame."""
        return self.lookups.qualify(self.stream)

    def find_needed(self, columns: Sequence[str], table: str | None = None) -> frozenset[str]:
        """Find the columns of the frame, or of a table, that are read, in any case of letters."""
        texts = [text for kind in self.conditions.values() for text in kind]
        read = [column for f in self.filters for column in f.predicate.columns]
        read += [column for text in texts for column in sql.parse(text, where="where").columns]
        wanted = fold_case(table or self.stream)
        names = {fold_case(column.name) for column in read if fold_case(str(column.stream)) == wanted}
        return frozenset(name for name in columns if fold_case(name) in names)


def read_predicates(
    given: Sequence[Any], columns: Sequence[str], *, case_sensitive: bool, lookups: Lookups = NO_LOOKUPS
) -> Asked:
    """Make filters of what a user gave, and name the stream that they are on."""
    named = [name for one in given if isinstance(one, Filter) for name in one.on if name not in lookups.tables]
    streams = dict.fromkeys(named)
    if len(streams) > 1:
        raise QueryError(f"where: expected filters on one stream, since there is one frame, got {quote(streams)}")
    stream = next(iter(streams), find_free(ROWS, [*lookups.tables]))
    fold = find_fold(case_sensitive=case_sensitive)
    spelled = {fold(name): name for name in columns}
    reader = _Reader(stream, columns, spelled, fold, lookups, {"sql": count(1), "function": count(1)})
    filters = [reader.read(one) for one in given]
    _check_names(filters)
    for f in filters:
        _check_columns(f, lookups.tables.get(f.on[0], columns), case_sensitive=case_sensitive)
    return Asked(stream=stream, filters=filters, lookups=lookups)


def find_fold(*, case_sensitive: bool) -> Callable[[str], Hashable]:
    """Find what makes names alike that stand for the same column."""
    return str if case_sensitive else fold_case


def list_ways(
    given: Sequence[Any], columns: Sequence[str], tables: Sequence[str] = (), *, case_sensitive: bool = False
) -> dict[str, list[str]]:
    """List what functions are to be handed that may be a field of a column, with the parts of the way to it.

    >>> list_ways([(len, "user.agent"), (len, "user"), (len, "`a.b`")], ["user"])
    {'user.agent': ['user', 'agent']}
    """
    fold = find_fold(case_sensitive=case_sensitive)
    named = {fold(text): text for one in given for text in _list_named(one)}
    own = {fold(column) for column in columns}
    ways = {
        text: [part.strip("`").replace("``", "`") for part in PARTS.findall(text)]
        for same, text in named.items()
        if same not in own
    }
    others = {fold_case(table) for table in tables}
    return {text: way for text, way in ways.items() if len(way) > 1 and fold_case(way[0]) not in others}


def _list_named(given: Any) -> list[str]:
    """List the columns that stand beside a function, or in its decorator."""
    if isinstance(given, Filter):
        return []
    function, columns = _split(given) if isinstance(given, tuple) else (given, None)
    named = read_marked(function).options.get("columns") if columns is None else columns
    return [one for one in ([named] if isinstance(named, str) else named or ()) if isinstance(one, str)]


def make_query(asked: Asked, columns: Sequence[str], name: str, select: Sequence[str] = (), **more: Any) -> Query:
    """Make the query of what is asked about one frame.

    Rows are picked by their places, so it selects nothing of the frame: only what it is to give of tables, or else one
    column that it reads in any case.
    """
    if not columns:
        raise QueryError(
            "where: expected a frame with a column whose name is a text that stands once, got none; rename the columns"
        )
    _check_looked_into(asked)
    found = next(iter(sorted(asked.find_needed(columns))), columns[0])
    conditions: dict[str, Any] = dict(asked.conditions)
    return Query(
        name=name,
        streams=[Stream(asked.stream)],
        tables=[Table(table) for table in asked.lookups.tables],
        filters=asked.filters,
        select=select or [_select(asked.stream, found)],
        **conditions,
        **more,
    )


def _check_looked_into(asked: Asked) -> None:
    """Refuse a table that nothing brings together with the frame."""
    texts = [text for found in asked.conditions.values() for text in found]
    read = [column for text in texts for column in sql.parse(text, where="where").columns]
    read += [column for one in asked.filters if len(one.on) > 1 for column in one.predicate.columns]
    known = {fold_case(name) for name in (asked.stream, *asked.lookups.tables)}
    if any(fold_case(str(column.stream)) not in known for column in read):
        return  # a name that is wrong says more
    named = asked.lookups.find_tables(read)
    if left := [table for table in asked.lookups.tables if table not in named]:
        raise QueryError(
            f"where: tables: nothing looks into {quote(left)}; name it in joins, semi or anti, as in "
            f'joins="user = {left[0]}.id", or leave it out'
        )


def strip_query(query: Query, outputs: Sequence[sql.Column], name: Callable[[sql.Column], str]) -> Query:
    """Give a query that selects nothing of its stream, for whoever picks rows by place.

    Columns of tables are called as `name` says. If none is selected, one of the stream is, that is read in any case.
    """
    (stream,) = query.streams
    found = dict.fromkeys(one for one in outputs if one.stream != stream.name)
    read = [one for f in query.filters for one in f.predicate.columns]
    selected = found or [next(one for one in (*read, *outputs) if one.stream == stream.name)]
    texts = (f"{one.stream}.{sql.backtick(one.name)} AS {sql.backtick(name(one))}" for one in selected)
    return replace(query, select=[*texts])


def _select(stream: str, column: str) -> str:
    return f"{stream}.{sql.backtick(column)} AS {stream}"


def has_rejects(filters: Sequence[Filter]) -> bool:
    """Tell whether some predicate puts rows aside."""
    return any(f.on_error == REJECT for f in filters)


def find_free(name: str, taken: Sequence[str]) -> str:
    """Find a name that no column has, in any case of letters.

    >>> find_free("why", ["Why", "what"]), find_free("who", ["what"])
    ('why_1', 'who')
    """
    known = {fold_case(one) for one in taken}
    numbered = (f"{name}_{number}" for number in count(1))
    return name if fold_case(name) not in known else next(one for one in numbered if fold_case(one) not in known)


def check_distinct(asked: Asked, columns: Sequence[str]) -> list[str]:
    """Give the columns that stand once; refuse to read one that stands twice."""
    twice = {name for name, count in Counter(columns).items() if count > 1}
    if wrong := twice & asked.find_needed(columns):
        raise QueryError(f"where: column {quote(sorted(wrong))} stands twice in the frame; rename one of them")
    return [name for name in columns if name not in twice]


class _Reader(NamedTuple):
    """Reads predicates over a frame with some columns, which may look into tables."""

    stream: str
    columns: Sequence[str]
    spelled: Mapping[Hashable, str]
    fold: Callable[[str], Hashable]
    lookups: Lookups
    numbers: Mapping[str, Iterator[int]]

    def read(self, given: Any) -> Filter:
        """Make a filter of one predicate."""
        if isinstance(given, Filter):
            return given
        if isinstance(given, str):
            return self._read_text(given, f"sql_{next(self.numbers['sql'])}")
        function, columns = _split(given)
        if not callable(function):
            raise QueryError(f"where: {EXPECTED}, got {write_repr(given)}")
        asked = read_marked(function)
        name = asked.name or _find_name(function) or f"function_{next(self.numbers['function'])}"
        _check_code(function, name)
        options = {**asked.options, **({} if columns is None else {"columns": columns})}
        on: Sequence[str] = [self.stream]
        if isinstance(named := options.get("columns"), str | list | tuple):
            on, options["columns"] = self._find_columns([named] if isinstance(named, str) else named)
        return Filter(name, on=on, function=function, **options)

    def _read_text(self, text: str, name: str) -> Filter:
        if not self.lookups.tables:
            return Filter(name, on=self.stream, where=text)
        where = f'filter "{name}"'
        read = sql.parse(text, where=where).columns
        tables = self.lookups.find_tables(read)
        if not tables or any(column.stream is None or column.stream == self.stream for column in read):
            text = name_stream(text, self.stream, where) if tables else text
            tables = [self.stream, *tables]
        return Filter(name, on=tables, where=text)

    def _find_columns(self, named: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any]]:
        """Find the inputs of columns, and spell these: a column of the frame may have a dot in its name."""
        tables = [self._find_table(one) for one in named]
        spelled = [one if (found := self._find_column(one)) is None else sql.backtick(found) for one in named]
        if any(tables):
            spelled = [one if table else f"{self.stream}.{one}" for one, table in zip(spelled, tables, strict=True)]
        return [*dict.fromkeys(table or self.stream for table in tables)], spelled

    def _find_column(self, named: Any) -> str | None:
        """Find the column of the frame that a text is the name of, or else one whose name differs in case."""
        return named if named in self.columns or not isinstance(named, str) else self.spelled.get(self.fold(named))

    def _find_table(self, column: object) -> str:
        """Find the table that a column is named with; "" for a column of the frame."""
        if not isinstance(column, str) or self._find_column(column) is not None:
            return ""
        return next(iter(self.lookups.find_tables([sql.Column(column.partition(".")[0].strip("`"), "")])), "")


def _check_code(function: Any, name: str) -> None:
    """Refuse a function that gives something else than an answer."""
    inner = inspect.unwrap(getattr(function, "func", function))
    for what, is_so in FORMS_OF_CODE:
        if is_so(inner):
            raise QueryError(
                f'where: function "{name}" {what}; expected one that returns a boolean for each row: return a Series '
                "or an array, or make it rowwise"
            )


def _split(given: Any) -> tuple[Any, list[str] | None]:
    """Take a function and the columns beside it apart."""
    if not isinstance(given, tuple):
        return given, None
    function, *columns = given or (None,)
    if not columns or not callable(function) or not all(isinstance(column, str) for column in columns):
        raise QueryError(
            f'where: expected a function with its columns as (function, "column"), got {write_repr(given)}'
        )
    return function, columns


def _find_name(function: Any) -> str:
    """Find a name that a function has, in letters that a report can have; "" for a lambda."""
    inner = getattr(function, "func", function)
    name = str(getattr(function, "__name__", None) or getattr(inner, "__name__", type(inner).__name__))
    found = re.sub(r"\W", "_", name)
    if name == "<lambda>" or not found.isidentifier():
        return ""
    return f"{found}_" if keyword.iskeyword(found) else found


def _check_names(filters: Sequence[Filter]) -> None:
    names = [f.name for f in filters]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            raise QueryError(
                f'where: two predicates are called "{name}"; give one of them another name, with '
                '@eddy.predicate(name="other") or as eddy.Filter("other", on="rows", function=...)'
            )


def _check_columns(asked: Filter, columns: Sequence[str], *, case_sensitive: bool) -> None:
    """Refuse a function whose parameters are no columns."""
    if asked.function is None or asked.columns is not None:
        return
    known = {name if case_sensitive else fold_case(name) for name in columns}
    for column in asked.predicate.columns:
        if (column.name if case_sensitive else fold_case(column.name)) not in known:
            error = unknown_name("column", column.name, columns, where=f'where: function "{asked.name}": parameter')
            raise QueryError(
                f"{shorten(str(error))}; a function is handed the columns that its parameters are called: name others "
                f'beside it, as ({asked.name}, "column")'
            )
