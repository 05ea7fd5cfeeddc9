"""The query that a file asks, built part by part so that every mistake is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from eddy.checks import ticks
from eddy.errors import QueryError
from eddy.mistakes import Mistakes
from eddy.named import imported
from eddy.query import Filter, Query, Stream, Table
from eddy.settings import Path
from eddy.window import Range, Rows, Unbounded, Window


def query_of(read: Mapping[str, Any], mistakes: Mistakes) -> Query | None:
    """The query; None if something is wrong with it.

    What is wrong with a stream or a table must not hide what is wrong with joins and filters, so those are tried over
    inputs that have nothing but the right names.
    """
    before = len(mistakes.found)
    streams = [_stream(name, one, mistakes) for name, one in read["streams"].items()]
    tables = [_table(name, mistakes) for name in read.get("tables", {})]
    filters = [_filter(name, one, mistakes) for name, one in read.get("filters", {}).items()]
    if not streams:
        mistakes.add(("streams",), "expected at least one stream, got none; add a table [streams.NAME]")
    if None in streams or None in tables or not streams:
        return None
    inputs = {"streams": streams, "tables": tables}
    found = [one for one in filters if one is not None]
    with _noted(("streams",), mistakes):
        _query(**inputs, cross=True)
    _try_parts(read, found, mistakes)
    if len(mistakes.found) == before:
        with _noted(("query",), mistakes):
            asked = {name: value for name, value in read.get("query", {}).items() if value is not None}
            return _query(**inputs, filters=found, **asked)
    return None


def _try_parts(read: Mapping[str, Any], filters: Sequence[Filter], mistakes: Mistakes) -> None:
    """Ask for each filter, join and column by itself, of inputs that have the right names and nothing that is wrong."""
    tables = [Table(name) for name in read.get("tables", {}) if name not in read["streams"]]
    inputs = {"streams": [Stream(name, time="time") for name in read["streams"]], "tables": tables}
    for one in filters:
        with _noted(("filters", one.name), mistakes):
            _query(**inputs, filters=[one], cross=True)
    for place in ("joins", "select"):
        for text in read.get("query", {}).get(place) or []:
            with _noted(("query", place), mistakes):
                _query(**inputs, **{place: [text]}, cross=True)


def _query(**parts: Any) -> Query:
    return Query(**parts)


@contextmanager
def _noted(path: Path, mistakes: Mistakes) -> Iterator[None]:
    """Turn an error into a mistake at a place."""
    try:
        yield
    except QueryError as error:
        mistakes.add(path, str(error).removeprefix(f"{path[-1]}: "))


def _stream(name: str, values: Mapping[str, Any], mistakes: Mistakes) -> Stream | None:
    path = ("streams", name)
    window: Window = Unbounded()
    if values.get("window") is not None and values.get("rows") is not None:
        mistakes.add(path, "expected either window or rows, got both")
    with _noted((*path, "window"), mistakes):
        window = _window(values)
    delay = None
    with _noted((*path, "delay"), mistakes):
        if values.get("delay") is not None:
            ticks(values["delay"], "delay")
        delay = values.get("delay")
    ahead = None
    with _noted((*path, "max_ahead"), mistakes):
        if values.get("max_ahead") is not None:
            ticks(values["max_ahead"], "max_ahead")
        ahead = values.get("max_ahead")
    with _noted(path, mistakes):
        # A time that is missing has been noted: the joins need a stream all the same.
        rest: dict[str, Any] = {key: values[key] for key in ("malformed", "bad_rows") if values.get(key) is not None}
        return Stream(name, time=values.get("time") or "time", window=window, delay=delay, max_ahead=ahead, **rest)
    return None


def _window(values: Mapping[str, Any]) -> Window:
    """The window that is asked for; where both kinds are, which has been noted, the one by time."""
    if values.get("window") is not None:
        return Range(values["window"])
    return Rows(values["rows"]) if values.get("rows") is not None else Unbounded()


def _table(name: str, mistakes: Mistakes) -> Table | None:
    with _noted(("tables", name), mistakes):
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
    function = imported(named, (*path, "function"), mistakes) if named else None
    before = values.get("setup")
    setup = imported(before, (*path, "setup"), mistakes) if before else None
    if function is not None or not named:
        rest: dict[str, Any] = {key: values.get(key) for key in ("on", "where", "columns", "time_limit")}
        rest |= {"on_error": values.get("on_error") or "fail", "nulls": values.get("nulls") or "show"}
        key = "where" if values.get("where") else "function"
        with _noted((*path, key) if values.get(key) else path, mistakes):
            return Filter(name, function=function, rowwise=bool(values.get("rowwise")), setup=setup, **rest)
    with _noted(path, mistakes):
        # What it does is wrong, and noted; what it is on can still be tried.
        return Filter(name, on=values["on"], where="true")
    return None
