"""A filter: a predicate over one input or more.

It also says what is done with rows for which the predicate has no answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from eddy import sql
from eddy.errors import QueryError, SparkOnlyError, check_flag, check_whole, quote, unknown_name, write_repr
from eddy.predicates.concurrent_calls import ASYNC_AT_ONCE, is_async
from eddy.predicates.faults import FAILS, ON_ERROR, Faults
from eddy.predicates.function import Function
from eddy.predicates.judge import Judge, Predicate, ask_sql
from eddy.predicates.setup import SetupFunction, check_setup
from eddy.predicates.spark_wrappers import unwrap
from eddy.predicates.time_limit import SHORTEST_LIMIT
from eddy.predicates.value_cache import ValueCache
from eddy.query.cost import check_cost
from eddy.query.pushed_filter import SparkText
from eddy.query.validation import check_name, duration, fill, texts
from eddy.sql.values.name_case import find_own

MICROSECONDS_PER_SECOND = 1_000_000
"""Durations are in microseconds, limits in seconds."""

MOST_AT_ONCE = 1_024
"""Rows that a function may be asked about at once: each is a thread, or a connection of somebody's service."""

OF_FUNCTIONS = ("columns", "rowwise", "setup", "concurrency", "batch_size", "cache")
"""Keys that say something of a function."""

SHOW, SKIP = "show", "skip"
NULLS = (SHOW, SKIP)
"""The treatments of rows with a null among a function's columns: the function is asked about them, or they do not
pass."""


@dataclass(frozen=True)
class Filter:
    """A predicate: SQL text as `where`, or a Python function.

    `where` is SQL as Spark reads it; what eddy does not know of it, Spark evaluates, in a filter over one input. A
    function reads the `columns` that are named, or those that its parameters are called; its annotations say in which
    form, `rowwise` asks for plain values: see `predicates.function`.
    The function in what Spark's `udf` and `pandas_udf` make is taken out. With `nulls="skip"` it is not asked about
    rows with a null in one of its columns: they do not pass, and are counted. `setup` is called once in every worker,
    before the function sees rows there: see `eddy.predicates.setup`.

    A row for which it raises is an error of the query only if everything else lets the row pass. `on_error` says what
    else may become of such rows: "drop" them, or "keep" them as if they had passed, or "reject" them: then they are out
    of the answer, and `eddy.rejected` has them. A call of a function that takes longer than `time_limit` is ended, and
    then the query fails.

    `concurrency` is how many calls of a function of plain values may be under way at the same time, for one that waits
    for something: in threads, or in an event loop if it is asynchronous. Each call of a micro-batch ends with it.
    `batch_size` is how many rows a call of a function of columns gets at most; then such calls may overlap as well.

    With `cache="10000 values"` a function is not asked again about values of its columns that it has answered; the
    cache holds at most so many. It is not for functions whose answer depends on anything else.

    Filters run in any order, and are asked about rows that others drop. `after` names filters of the query that must
    act first: this one sees a row only as part of a tuple that all of them have let go on. That is for guards of calls
    that are dear, or that must not be made. Errors need none: `x <> 0` guards `y / x > 1` in any order, and in one
    text, `x <> 0 and y / x > 1`, it saves the work of finding the rows.

    `cost` is what a row costs that it is asked about, for users who know better than the clock: a time, such as
    "20 milliseconds", or a number in any unit, which every function of the query must then have. Policies go by it in
    place of seconds.

    >>> Filter("big", on="a", where="v > 10").on
    ('a',)
    """

    name: str
    on: str | Sequence[str] = field(kw_only=True)
    where: str | None = field(default=None, kw_only=True, compare=False)
    function: Callable[..., Any] | None = field(default=None, kw_only=True)
    columns: Sequence[str] | None = field(default=None, kw_only=True)
    rowwise: bool = field(default=False, kw_only=True)
    setup: SetupFunction | None = field(default=None, kw_only=True)
    nulls: str = field(default=SHOW, kw_only=True)
    on_error: str = field(default=FAILS, kw_only=True)
    time_limit: str | None = field(default=None, kw_only=True)
    concurrency: int | None = field(default=None, kw_only=True)
    batch_size: int | None = field(default=None, kw_only=True)
    cache: str | None = field(default=None, kw_only=True)
    after: Sequence[str] | None = field(default=None, kw_only=True)
    cost: float | str | None = field(default=None, kw_only=True)
    predicate: sql.Expression | Function | SparkText = field(init=False, repr=False, compare=False)
    _cached: int | None = field(init=False, repr=False, compare=False)
    _says: sql.Expression | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        where = check_name("filter", self.name)
        check_flag(self.rowwise, "rowwise", where=where)
        check_cost(self.cost, where)
        fill(self, "on", texts(self.on, f"{where}: on"))
        fill(self, "after", None if self.after is None else texts(self.after, f"{where}: after"))
        for key, known, got in (("on_error", ON_ERROR, self.on_error), ("nulls", NULLS, self.nulls)):
            if got not in known:
                raise QueryError(f"{where}: {key}: expected {quote(known)}, got {write_repr(got)}")
        # Either text or a function: with both, nobody could tell which one the reports are about.
        if (self.where is None) == (self.function is None):
            got = "neither" if self.where is None else "both"
            raise QueryError(f"{where}: expected either where or function, got {got}")
        fill(self, "_cached", None if self.cache is None else _read_cache(self.cache, f"{where}: cache"))
        fill(self, "predicate", self._text(where) if self.function is None else self._function(where))
        # Two texts are equal when they are read alike.
        fill(self, "_says", None if isinstance(self.predicate, Function) else self.predicate)
        for column in self.predicate.columns:
            if column.stream not in self.on:
                error = unknown_name("stream", str(column.stream), self.on, where=f'{where}: column "{column}"')
                raise QueryError(f"{error}; fields of a struct cannot be read")

    @property
    def definition(self) -> Hashable:
        """What makes the answers of a function those of another filter of the same rows; None where nothing does.

        How it is called, and how often, changes no answer. SQL costs less to ask again than to look up.
        """
        if not isinstance(self.predicate, Function) or len(self.on) > 1:
            return None
        columns = tuple(column.name for column in self.predicate.columns)
        return (
            *(id(self.predicate.function), columns, self.rowwise, self.predicate.forms, id(self.setup)),
            *(self.nulls, self.on_error, self.time_limit),
        )

    def pin(self, after: Sequence[str] | None) -> Filter:
        """Give the same filter, pinned behind others than before."""
        if after and isinstance(self.predicate, SparkText):
            self.predicate.refuse_key("after", f'filter "{self.name}"')
        pinned = copy(self)
        fill(pinned, "after", None if after is None else texts(after, f'filter "{self.name}": after'))
        return pinned

    def leave_to_spark(self, types: Mapping[sql.Column, pa.DataType]) -> Filter:
        """Give the same filter, left to Spark if our SQL has none of it for such types of columns."""
        if not isinstance(self.predicate, sql.Expression):
            return self
        try:
            self.bind(types)
        except SparkOnlyError as error:
            left = copy(self)
            fill(left, "predicate", self._take_text(error, f'filter "{self.name}"'))
            fill(left, "_says", left.predicate)
            return left
        return self

    def bind(self, types: Mapping[sql.Column, pa.DataType]) -> Predicate:
        """Give the filter as a function from columns to a mask."""
        if isinstance(self.predicate, Function):
            for column in self.predicate.columns:
                if column not in types:
                    known = [c.name for c in types if c.stream == column.stream]
                    raise unknown_name("column", column.name, known, where=f'filter "{self.name}"')
            return self.predicate.mask
        if isinstance(self.predicate, SparkText):
            raise QueryError(self.predicate.reason)
        # Only its own inputs: an unknown column is then named beside the ones that could have been meant.
        return ask_sql(self.predicate.condition({column: t for column, t in types.items() if column.stream in self.on}))

    def make_judge(self, types: Mapping[sql.Column, pa.DataType], faults: Faults) -> Judge:
        """Give the filter as an engine asks it, with a cache of its own if there is to be one."""
        return Judge(
            self.name,
            self.bind(types),
            faults,
            on_error=self.on_error,
            skips_nulls=self.nulls == SKIP,
            cache=None if self._cached is None else ValueCache(self._cached),
            direct=self.predicate.direct if isinstance(self.predicate, Function) else None,
        )

    def _text(self, where: str) -> sql.Expression | SparkText:
        given = [key for key in OF_FUNCTIONS if getattr(self, key)]
        if given:
            go = "go" if len(given) > 1 else "goes"
            raise QueryError(
                f"{where}: {' and '.join(given)} {go} with function; where is SQL, and names its columns itself"
            )
        if self.nulls != SHOW:
            raise QueryError(f'{where}: nulls goes with function; SQL has nulls of its own, such as "v is not null"')
        if self.time_limit is not None:
            raise QueryError(f"{where}: time_limit goes with function; SQL is not interrupted")
        if not isinstance(self.where, str):
            raise QueryError(f"{where}: expected SQL text as where, got {write_repr(self.where)}")
        try:
            return sql.parse(self.where, where=where).qualify(self._resolve)
        except SparkOnlyError as error:
            return self._take_text(error, where)

    def _take_text(self, error: SparkOnlyError, where: str) -> SparkText:
        """Take a text that Spark alone evaluates."""
        if len(self.on) > 1:
            raise error
        found = SparkText(text=str(self.where), reason=str(error))
        for key, given in (("after", self.after), ("on_error", self.on_error != FAILS)):
            if given:
                found.refuse_key(key, where)
        return found

    def _function(self, where: str) -> Function:
        made = unwrap(self.function, rowwise=self.rowwise, where=where)
        fill(self, "function", made.function)
        fill(self, "rowwise", made.rowwise or (is_async(made.function) and self.batch_size is None))
        self._check_batch_size(where)
        self._check_concurrency(where)
        # The field keeps None where the parameters name the columns, so that the filter prints as it was written.
        columns = None if self.columns is None else texts(self.columns, f"{where}: columns")
        fill(self, "columns", columns)
        if self.setup is not None:
            check_setup(self.setup, where)
        seconds = None if self.time_limit is None else _seconds(self.time_limit, f"{where}: time_limit")
        checked = Function.of(
            made.function,
            columns,
            rowwise=self.rowwise,
            where=where,
            seconds=seconds,
            unsaid=made.unsaid,
            at_once=self.concurrency,
            most_rows=self.batch_size,
        )
        return checked.qualify(self._resolve)

    def _check_batch_size(self, where: str) -> None:
        if self.batch_size is not None:
            check_whole(self.batch_size, "batch_size", where=where)
            if self.rowwise:
                raise QueryError(
                    f"{where}: batch_size goes with a function of columns; one of plain values gets one row a call: "
                    "leave batch_size or rowwise out"
                )

    def _check_concurrency(self, where: str) -> None:
        if self.concurrency is not None:
            check_whole(self.concurrency, "concurrency", where=where, most=MOST_AT_ONCE)
            if not self.rowwise and self.batch_size is None:
                raise QueryError(
                    f"{where}: concurrency goes with a function whose calls may overlap; say rowwise=True for one of "
                    "plain values, make it async, or say with batch_size how many rows a call gets"
                )
        elif is_async(self.function):
            fill(self, "concurrency", ASYNC_AT_ONCE)

    def _resolve(self, column: sql.Column) -> sql.Column:
        if column.stream is not None:
            return sql.Column(find_own(column.stream, self.on), column.name)
        if len(self.on) > 1:
            raise QueryError(
                f'filter "{self.name}": column "{column.name}" names no stream; the filter is on {quote(self.on)}, '
                f'so write "{self.on[0]}.{column.name}" or the like'
            )
        return sql.Column(self.on[0], column.name)


def _read_cache(cache: object, where: str) -> int:
    """Read how many values a cache holds at most."""
    read = re.fullmatch(r"\s*([1-9]\d{0,11})\s+values?\s*", cache) if isinstance(cache, str) else None
    if read is None:
        raise QueryError(f'{where}: expected the most values that it holds, "10000 values", got {write_repr(cache)}')
    return int(read[1])


def write_after(asked: Filter) -> str:
    """Write which filters must act before one."""
    return f", after {', '.join(asked.after)}" if asked.after else ""


def check_after(after: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, QueryError]]:
    """Find what is wrong with the `after` of some filters.

    Gives each mistake with the name of the filter that has it. Any inputs will do: every tuple comes to span all.
    """
    right: dict[str, list[str]] = {name: [] for name in after}
    for name, awaited in after.items():
        others = [other for other in after if other != name]
        for other in awaited:
            if other == name:
                yield (
                    name,
                    QueryError("after: expected other filters of the query, got this one; leave it out"),
                )
            elif other not in after:
                yield name, unknown_name("filter" if others else "other filter", other, others, where="after")
            else:
                right[name].append(other)
    circle = _find_circle(right)
    if circle:
        told = " after ".join(f'"{name}"' for name in (*circle, circle[0]))
        yield (
            circle[0],
            QueryError(f"after: expected filters that do not wait for this one, got a circle, {told}; leave one out"),
        )


def _find_circle(after: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Find filters of which each waits for the next, and the last for the first."""
    free: set[str] = set()
    while more := {name for name, awaited in after.items() if name not in free and free.issuperset(awaited)}:
        free |= more
    held = [name for name in after if name not in free]
    # Each of these waits for another of them, so whoever follows the waits comes back to where they were.
    way: list[str] = held[:1]
    while way and (following := next(name for name in after[way[-1]] if name not in free)) not in way:
        way.append(following)
    return way[way.index(following) :] if way else ()


def _seconds(limit: object, where: str) -> float:
    if (
        not isinstance(limit, str)
        or (seconds := duration(limit, where=where) / MICROSECONDS_PER_SECOND) < SHORTEST_LIMIT
    ):
        least = f"{SHORTEST_LIMIT * 1_000:g} millisecond"
        raise QueryError(
            f'{where}: expected a duration such as "5 seconds", of {least} or more, got {write_repr(limit)}'
        )
    return seconds
