"""Filters in the short ways in which `eddy.where` takes them.

All are about the rows of one frame, so nobody has to name a stream, and most need no name of their own: a function
has one, and SQL texts and lambdas are numbered.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Any, TypeVar

from eddy import sql
from eddy.errors import QueryError, quote, shorten, unknown_name, write_repr
from eddy.predicates.faults import REJECT
from eddy.query.filter import Filter
from eddy.query.inputs import Stream
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

UserFunction = TypeVar("UserFunction", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Predicate:
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
            setattr(function, MARK, Predicate(name=name, options=options))
        except AttributeError:
            # Methods and builtins have no place for a note, and a text is no function at all.
            raise QueryError(
                f"predicate: expected a function that was made by def or lambda, got {write_repr(function)}; wrap it "
                'in one, or give eddy.Filter("name", on="rows", ...)'
            ) from None
        return function

    return note


def read_predicates(given: Sequence[Any], columns: Sequence[str], *, case_sensitive: bool) -> tuple[str, list[Filter]]:
    """Make filters of what a user gave, and name the stream that they are on."""
    streams = dict.fromkeys(name for one in given if isinstance(one, Filter) for name in one.on)
    if len(streams) > 1:
        raise QueryError(f"where: expected filters on one stream, since there is one frame, got {quote(streams)}")
    stream = next(iter(streams), ROWS)
    numbers = {"sql": count(1), "function": count(1)}
    filters = [_read(one, stream, numbers, columns) for one in given]
    _check_names(filters)
    for f in filters:
        _check_columns(f, columns, case_sensitive=case_sensitive)
    return stream, filters


def make_query(stream: str, filters: Sequence[Filter], columns: Sequence[str], name: str, **more: Any) -> Query:
    """Make the query of some filters over one frame.

    What it selects is of no use, since rows are picked by their places: one column that it reads in any case.
    """
    if not columns:
        raise QueryError(
            "where: expected a frame with a column whose name is a text that stands once, got none; rename the columns"
        )
    read = [column.name for f in filters for column in f.predicate.columns]
    found = next((own for own in columns if read and fold_case(own) == fold_case(read[0])), None) or columns[0]
    return Query(name=name, streams=[Stream(stream)], filters=filters, select=[_select(stream, found)], **more)


def strip_query(query: Query, columns: Sequence[str]) -> Query:
    """Give a query over one stream that selects one column of those that are there, for whoever picks rows by place."""
    (stream,) = query.inputs
    read = [column.name for f in query.filters for column in f.predicate.columns]
    return replace(query, select=[_select(stream, next(iter(read), columns[0]))])


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


def find_needed(filters: Sequence[Filter], columns: Sequence[str]) -> frozenset[str]:
    """Find the columns that filters read, in any case of letters."""
    read = {fold_case(column.name) for f in filters for column in f.predicate.columns}
    return frozenset(name for name in columns if fold_case(name) in read)


def check_distinct(filters: Sequence[Filter], columns: Sequence[str]) -> list[str]:
    """Give the columns that stand once; refuse filters that read one that stands twice."""
    twice = {name for name, count in Counter(columns).items() if count > 1}
    if wrong := twice & find_needed(filters, columns):
        raise QueryError(f"where: column {quote(sorted(wrong))} stands twice in the frame; rename one of them")
    return [name for name in columns if name not in twice]


def _read(given: Any, stream: str, numbers: Mapping[str, Iterator[int]], known: Sequence[str]) -> Filter:
    if isinstance(given, Filter):
        return given
    if isinstance(given, str):
        return Filter(f"sql_{next(numbers['sql'])}", on=stream, where=given)
    function, columns = _split(given)
    if not callable(function):
        raise QueryError(f"where: {EXPECTED}, got {write_repr(given)}")
    noted = getattr(function, MARK, None)
    asked = noted if isinstance(noted, Predicate) else Predicate(name=None, options={})
    name = asked.name or _find_name(function) or f"function_{next(numbers['function'])}"
    inner = inspect.unwrap(getattr(function, "func", function))
    for what, is_so in FORMS_OF_CODE:
        if is_so(inner):
            raise QueryError(
                f'where: function "{name}" {what}; expected one that returns a boolean for each row: return a Series '
                "or an array, or make it rowwise"
            )
    options = {**asked.options, **({} if columns is None else {"columns": columns})}
    if isinstance(named := options.get("columns"), str | list | tuple):
        # A column may have a dot in its name, and is meant as a whole where the frame has it.
        every = [named] if isinstance(named, str) else named
        options["columns"] = [sql.backtick(one) if one in known else one for one in every]
    return Filter(name, on=stream, function=function, **options)


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
