"""The query that a file asks, built part by part so that every mistake is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

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
    _try_parts(inputs, found, read.get("query", {}), mistakes)
    if len(mistakes.found) == before:
        with _noted(("query",), mistakes):
            asked = {name: value for name, value in read.get("query", {}).items() if value is not None}
            return _query(**inputs, filters=found, **asked)
    return None


def _try_parts(
    inputs: Mapping[str, Any], filters: Sequence[Filter], asked: Mapping[str, Any], mistakes: Mistakes
) -> None:
    """Ask for each filter, join and column by itself."""
    for one in filters:
        with _noted(("filters", one.name), mistakes):
            _query(**inputs, filters=[one], cross=True)
    for place in ("joins", "select"):
        for text in asked.get(place) or []:
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
        mistakes.add(path, str(error))


def _stream(name: str, values: Mapping[str, Any], mistakes: Mistakes) -> Stream | None:
    path = ("streams", name)
    window: Window = Unbounded()
    if values.get("window") is not None and values.get("rows") is not None:
        mistakes.add(path, "expected either window or rows, got both")
    with _noted((*path, "window"), mistakes):
        window = _window(values)
    delay = None
    with _noted((*path, "delay"), mistakes):
        delay = Stream("any", time="any", delay=values.get("delay")).delay
    with _noted(path, mistakes):
        # A time that is missing has been noted: the joins need a stream all the same.
        return Stream(name, time=values.get("time") or "time", window=window, delay=delay)
    return None


def _window(values: Mapping[str, Any]) -> Window:
    if values.get("rows") is not None:
        return Rows(values["rows"])
    return Range(values["window"]) if values.get("window") is not None else Unbounded()


def _table(name: str, mistakes: Mistakes) -> Table | None:
    with _noted(("tables", name), mistakes):
        return Table(name)
    return None


def _filter(name: str, values: Mapping[str, Any], mistakes: Mistakes) -> Filter | None:
    path = ("filters", name)
    if not values.get("on"):
        return None
    named = values.get("function")
    function = imported(named, (*path, "function"), mistakes) if named else None
    if function is not None or not named:
        rest: dict[str, Any] = {key: values.get(key) for key in ("on", "where", "columns")}
        key = "where" if values.get("where") else "function"
        with _noted((*path, key) if values.get(key) else path, mistakes):
            return Filter(name, function=function, rowwise=bool(values.get("rowwise")), **rest)
    with _noted(path, mistakes):
        # What it does is wrong, and noted; what it is on can still be tried.
        return Filter(name, on=values["on"], where="true")
    return None
