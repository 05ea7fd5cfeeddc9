"""Builds the query of a file, and finds every mistake in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from eddy.errors import QueryError
from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.query.statement import PLACE, STATEMENT, FindColumns, build_stated
from eddy.jobs.config.references import SAME_AS, anything, import_function
from eddy.query import Every, Filter, Query, Range, Rows, Statement, Stream, Table, Unbounded, Window
from eddy.query.cost import check_cost, read_tariff
from eddy.query.emit import BEGIN, Emit
from eddy.query.filter import check_after
from eddy.query.validation import read_length
from eddy.redaction import KeyPath

TIMED = ("window", "delay", "max_ahead")
"""Keys of a stream that are lengths of event time."""


EVERY = "every"
"""The key of a query that stands for ticks."""

TAKEN_AS_THEY_ARE = ("on", "where", "columns", "time_limit", "concurrency", "batch_size", "cache")
"""Keys of a filter that say what its own do."""


def build_query(
    read: Mapping[str, Any], mistakes: Mistakes, statement: Statement | None, find_columns: FindColumns | None
) -> tuple[Query | None, Statement | None]:
    """Build the query, as far as it is right, and the whole of the statement that says it, if the file has one.

    None if no stream of it is. What is wrong with a stream or a table must not hide what is wrong with joins and
    filters, so those are tried over inputs that have nothing but the right names. Filters that are wrong are there by
    name and let everything pass, since a policy may speak of them.
    """
    if statement is None and read["query"].get(STATEMENT) is not None:
        return None, None
    before = len(mistakes.found)
    named, tabled = read.get("streams", {}), read.get("tables", {})
    # A statement may name the time of its streams itself.
    alone = len(named) == 1 or statement is not None
    streams = [build_stream(name, one, mistakes, alone=alone) for name, one in named.items()]
    tables = [_table(name, mistakes) for name in tabled]
    made = [_filter(name, one, mistakes) for name, one in read.get("filters", {}).items()]
    filters = _check_costs([one for one in made if one], mistakes)
    inputs: dict[str, Any] = {"streams": [one for one in streams if one], "tables": [one for one in tables if one]}
    if not named and not (mistakes.has_within(("streams",)) or mistakes.has_within(PLACE)):
        mistakes.add(("streams",), "expected at least one stream, got none; add a table [streams.NAME]")
    if not inputs["streams"]:
        return None, None
    if statement is not None:
        return build_stated(statement, read, inputs["streams"], filters, mistakes, find_columns)
    emit, fit = _read_emit(read["query"], inputs, mistakes)
    _check_after(read.get("filters", {}), mistakes)
    # One filter is tried at a time, so none can wait for others then.
    right = _right_parts(read, inputs, [one.pin(None) for one in filters], mistakes)
    if not fit:
        return None, None
    asked = {key: value for key, value in read["query"].items() if value is not None and key not in (STATEMENT, EVERY)}
    asked["emit"] = emit
    if len(mistakes.found) == before:
        with note_errors(("query",), mistakes):
            return _query(**inputs, **asked, filters=filters), None
    return _part_of(asked, inputs, right, mistakes), None


def _read_emit(query: Mapping[str, Any], inputs: Mapping[str, Any], mistakes: Mistakes) -> tuple[Emit, bool]:
    """Read when a combination is told; says also whether the inputs fit together, and that."""
    told = len(mistakes.found)
    path: KeyPath = ("query", "emit") if query["emit"] else ("streams",)
    emit: Emit = query["emit"] or BEGIN
    if query[EVERY] is not None:
        path = ("query", EVERY)
        if query["emit"] is not None:
            mistakes.add(path, "emit says when combinations are told as well; leave one of the two out")
        with note_errors(path, mistakes):
            emit = Every(query[EVERY])
    with note_errors(path, mistakes):
        _query(**inputs, cross=True, emit=emit)
    return emit, len(mistakes.found) == told


def _part_of(
    asked: Mapping[str, Any], inputs: Mapping[str, Any], right: Mapping[str, Any], mistakes: Mistakes
) -> Query | None:
    """Build the parts of a query that are right.

    Whether joins connect everything is checked only where all of them are right.
    """
    whole = {**asked, **inputs, **right, "select": right["select"] or None}
    if right["joins"] == asked["joins"]:
        with note_errors(("query",), mistakes):
            return _query(**whole)
    with note_errors(("query",), mistakes):
        return _query(**{**whole, "cross": True})
    with suppress(QueryError):
        return _query(**{**whole, "cross": True, "select": None, "semi": (), "anti": ()})
    return None


def _right_parts(
    read: Mapping[str, Any], given: Mapping[str, Any], filters: Sequence[Filter], mistakes: Mistakes
) -> dict[str, list[Any]]:
    """Filters, joins and columns that are right by themselves.

    Each is asked for alone, of inputs that have the right names and nothing that is wrong. What may speak of an input
    whose name is wrong is not asked for.
    """
    names = [stream.name for stream in given["streams"]]
    tables = [table for table in given["tables"] if table.name not in names]
    inputs = {"streams": [Stream(name, time="time") for name in names], "tables": tables}
    lost = {*read["streams"], *read.get("tables", {})} - {one.name for part in given.values() for one in part}
    right: dict[str, list[Any]] = {"filters": [], "joins": [], "select": []}
    for one in filters:
        known = not lost & set(one.on)
        if known and _try_query(("filters", one.name), mistakes, **inputs, filters=[one], cross=True):
            right["filters"].append(one)
        else:
            right["filters"].append(Filter(one.name, on=names[0], where="true"))
    for place in ("joins", "select"):
        for text in (read["query"].get(place) or []) if not lost else []:
            if _try_query(("query", place), mistakes, **inputs, **{place: [text]}, cross=True):
                right[place].append(text)
    return right


def _try_query(path: KeyPath, mistakes: Mistakes, **parts: Any) -> bool:
    """Try to build a query of some parts; an error is noted."""
    with note_errors(path, mistakes):
        _query(**parts)
        return True
    return False


def _query(**parts: Any) -> Query:
    return Query(**parts)


@contextmanager
def note_errors(path: KeyPath, mistakes: Mistakes) -> Iterator[None]:
    """Turn an error into a mistake at a place."""
    try:
        yield
    except QueryError as error:
        mistakes.add(path, str(error).removeprefix(f"{path[-1]}: "))


@contextmanager
def _note_filter_errors(path: KeyPath, values: Mapping[str, Any], mistakes: Mistakes) -> Iterator[None]:
    """Turn an error of a filter into a mistake at the key that it begins with, or else at what the filter evaluates."""
    try:
        yield
    except QueryError as error:
        first = str(error).removeprefix(f'filter "{path[-1]}": ').partition(" ")[0].rstrip(":")
        keys = (first, "where" if values.get("where") else "function")
        named = next((key for key in keys if values.get(key) is not None), None)
        mistakes.add((*path, named) if named else path, str(error))


def build_stream(name: str, values: Mapping[str, Any], mistakes: Mistakes, *, alone: bool) -> Stream | None:
    """Build a stream, or none where it is not right; one that is joined with no other may go without a time."""
    path = ("streams", name)
    time = _time(name, values, mistakes, alone=alone)
    window: Window = Unbounded()
    if values.get("window") is not None and values.get("rows") is not None:
        mistakes.add(path, "expected either window or rows, got both")
    if values.get("by") is not None and values.get("rows") is None:
        mistakes.add((*path, "by"), "expected rows beside it: how many of each value take part")
    with note_errors((*path, "window"), mistakes):
        window = _window(values)
    delay = None
    with note_errors((*path, "delay"), mistakes):
        if values.get("delay") is not None:
            read_length(values["delay"], "delay")
        delay = values.get("delay")
    ahead: dict[str, Any] = {}
    with note_errors((*path, "max_ahead"), mistakes):
        if values.get("max_ahead") is not None:
            read_length(values["max_ahead"], "max_ahead")
        ahead = {key: values.get(key) for key in ("max_ahead", "arrived")}
    with note_errors(path, mistakes):
        rest: dict[str, Any] = {key: values[key] for key in ("malformed", "bad_rows") if values.get(key) is not None}
        return Stream(name, time=time, window=window, delay=delay, source=values.get(SAME_AS), **ahead, **rest)
    return None


def _time(name: str, values: Mapping[str, Any], mistakes: Mistakes, *, alone: bool) -> str | None:
    """Find the column with the event time.

    If one is missing, which is noted, the joins need a stream all the same. One that is there and wrong has been noted
    already, and so has a stream that is no table.
    """
    path = ("streams", name, "time")
    why = "" if alone else "a join goes by time"
    why = next((f"{key} is by event time" for key in TIMED if values.get(key) is not None), why)
    if values.get("time") is None and why:
        if not mistakes.has_within(path) and path[:-1] not in mistakes.paths:
            mistakes.add(path, f"expected the column that holds the event time, got none; {why}")
        return "time"
    return values.get("time")


def _window(values: Mapping[str, Any]) -> Window:
    """Give the window of a stream.

    Where both kinds are given, which has been noted, the one by time counts.
    """
    if values.get("window") is not None:
        return Range(values["window"])
    return Rows(values["rows"], by=values.get("by") or ()) if values.get("rows") is not None else Unbounded()


def _table(name: str, mistakes: Mistakes) -> Table | None:
    with note_errors(("tables", name), mistakes):
        return Table(name)
    return None


def _filter(name: str, values: Mapping[str, Any], mistakes: Mistakes) -> Filter | None:
    path = ("filters", name)
    if not values.get("on"):
        return None
    if not name.isidentifier():
        mistakes.add(path, f"expected a name of letters, digits and underscores, got {name!r}")
        return None
    named = values.get("function")
    function = import_function(named, (*path, "function"), mistakes) if named else None
    before = values.get("setup")
    setup = import_function(before, (*path, "setup"), mistakes) if before else None
    rest: dict[str, Any] = {key: values.get(key) for key in TAKEN_AS_THEY_ARE}
    rest["cost"] = _read_cost(values.get("cost"), path, mistakes)
    rest |= {"on_error": values.get("on_error") or "fail", "nulls": values.get("nulls") or "show"}
    rest |= {"rowwise": bool(values.get("rowwise")), "setup": setup}
    if named and function is None:
        # What it is has been noted; what else is said of it can still be tried.
        function, rest["rowwise"], rest["columns"] = anything, True, rest["columns"] or ["anything"]
    with _note_filter_errors(path, values, mistakes):
        built = _build_filter(Filter(name, function=function, **rest), values)
        with note_errors((*path, "after"), mistakes):
            return built.pin(values.get("after"))
        return built
    bare = {key: rest[key] for key in ("on", "where", "columns", "rowwise")}
    for left in ({"function": function, **bare}, {"on": values["on"], "where": "true"}):
        with suppress(QueryError):
            return _build_filter(Filter(name, **left), values)
    return None


def _read_cost(cost: Any, path: KeyPath, mistakes: Mistakes) -> Any:
    """Give a cost, or none where it is not right."""
    with note_errors((*path, "cost"), mistakes):
        check_cost(cost, f'filter "{path[-1]}"')
        return cost
    return None


def _check_after(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note what filters cannot wait for."""
    after = {name: values.get("after") or () for name, values in read.items()}
    for name, error in check_after({name: (one,) if isinstance(one, str) else one for name, one in after.items()}):
        mistakes.add(("filters", name, "after"), str(error).removeprefix("after: "))


def _check_costs(filters: Sequence[Filter], mistakes: Mistakes) -> Sequence[Filter]:
    """Note costs that cannot be compared, and give the filters without such."""
    told = len(mistakes.found)
    first = next((one.name for one in filters if one.cost is not None), "")
    with note_errors(("filters", first, "cost"), mistakes):
        read_tariff(filters)
    return filters if len(mistakes.found) == told else [replace(one, cost=None) for one in filters]


def _build_filter(asked: Filter, values: Mapping[str, Any]) -> Filter:
    """Build a filter, or one that lets everything pass.

    That is for a filter whose function and columns are unknown.
    """
    unknown = asked.function is anything and not values.get("columns")
    return Filter(asked.name, on=asked.on, where="true") if unknown else asked
