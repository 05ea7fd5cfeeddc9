"""What can be said of a query before it meets any data."""

from __future__ import annotations

import math
from collections.abc import Iterator

from eddy.aligned import aligned
from eddy.errors import quoted
from eddy.function import Function
from eddy.query import Query, Stream
from eddy.sql import Column
from eddy.window import Range, Rows, Unbounded, Window

MICROSECONDS = 1_000
"""In a millisecond."""


def described(query: Query) -> str:
    """A query in words: its joins, its windows, its filters, and what is seldom meant."""
    parts = [f'query "{query.name}"', "", "joins", *joins(query)]
    parts += ["", "access patterns: what each input is searched by", *patterns(query)]
    parts += ["", "windows and watermarks", *windows(query)]
    parts += ["", 'filters, in the order in which "fixed" runs them', *_filters(query)]
    parts += ["", "aggregates of the answer on Spark", *aggregates(query)]
    return "\n".join([*parts, *(f"warning: {warning}" for warning in warnings(query))])


def joins(query: Query) -> Iterator[str]:
    """Which inputs each condition connects."""
    for predicate in query.predicates:
        yield f"  {' -- '.join(sorted(predicate.inputs))}: {predicate.text}"
    if not query.predicates:
        yield "  none"


def patterns(query: Query) -> Iterator[str]:
    """For each input the columns that equalities with others compare; nobody searches the rows of a single one."""
    if len(query.inputs) == 1:
        yield "  none: rows of one stream are filtered as they come, and not kept"
        return
    found: dict[str, dict[str, str]] = {name: {} for name in query.inputs}
    for predicate in query.predicates:
        compared = predicate.comparison()
        if compared is not None and compared.op == "=":
            for side, other in ((compared.left, compared.right), (compared.right, compared.left)):
                if len(side.inputs) == 1:
                    found[next(iter(side.inputs))][" and ".join(sorted(other.inputs))] = side.text
    for name, others in found.items():
        told = [f"{column} (from {other})" for other, column in others.items()]
        yield f"  {name}: {', '.join(told) or 'no equality; all rows in the window are looked at'}"


def windows(query: Query) -> Iterator[str]:
    """What each stream's time is, and how long its rows are waited for and kept."""
    for stream in query.streams:
        delay = f'rows up to "{stream.delay}" late' if stream.delay is not None else "no delay"
        time = f'by "{stream.time}"' if stream.time is not None else "no event time"
        yield f"  {stream.name}: {time}, {_window(stream.window)}, {delay}"
    if all(stream.delay is not None for stream in query.streams):
        yield "  the watermark is that of the slowest stream; later rows are dropped and counted"
    else:
        yield "  there is no watermark, since not every stream has a delay: no row is late, and none is forgotten"


def warnings(query: Query) -> Iterator[str]:
    """What is allowed, and seldom meant."""
    if len(query.inputs) == 1:
        return
    for stream in query.streams:
        if isinstance(stream.window, Unbounded):
            yield f'stream "{stream.name}" has no window: every row is kept for ever, and the state grows'
    late = [stream.name for stream in query.streams if stream.delay is None]
    if late:
        yield f'stream "{late[0]}" has no delay: there is no watermark, and no row ever leaves the state'


def aggregates(query: Query) -> Iterator[str]:
    """How results are aggregated by time so that Spark drops none of them as late.

    A result comes out when its last row arrives, which is on time: so the newest time in it is not below the watermark,
    whatever else is. A time of another row in it may be. While no row of a stream comes later than its delay says, that
    of stream `i` is no older than the newest time that Spark has been shown in results by its own window, and the
    window and the delay of the stream that is furthest behind.
    """
    if any(stream.time is None for stream in query.streams):
        yield "  none: no row has an event time"
        return
    late = [stream.name for stream in query.streams if stream.delay is None]
    if late:
        yield f"  results of any age may come, and Spark will drop some: give {quoted(late)} a delay"
        return
    columns = [_output(query, stream) for stream in query.streams]
    newest = columns[0] if len(columns) == 1 else f"greatest({', '.join(columns)})"
    if isinstance(query.streams[0].delay, int | float):
        newest = f"timestamp_millis({newest})"
    yield f"  by the newest time in a result: {newest}, withWatermark with any delay"
    yield from aligned([["by the time of", "withWatermark with at least"], *_rows(query, columns)], "<<")


def _rows(query: Query, columns: list[str]) -> Iterator[list[str]]:
    for stream, column in zip(query.streams, columns, strict=True):
        needed = _needed(query, stream)
        yield [column, "none is enough" if needed is None else _length(stream, needed)]


def _needed(query: Query, stream: Stream) -> float | None:
    """The delay with which results may be aggregated by the time of one stream; None if none is long enough."""
    found = stream.delay_ticks or 0
    for other in query.streams:
        if other is stream:
            continue
        if not (isinstance(stream.window, Range) and isinstance(other.window, Range)):
            return None
        found = max(found, stream.window.ticks + other.window.ticks + (other.delay_ticks or 0))
    return found


def _length(stream: Stream, ticks: float | None) -> str:
    """A delay as Spark takes it; a number of a numeric time stands for a millisecond."""
    numbers = isinstance(stream.delay, int | float)
    millis = math.ceil((ticks or 0) / (1 if numbers else MICROSECONDS))
    return f'"{millis // 1_000} seconds"' if millis % 1_000 == 0 else f'"{millis} milliseconds"'


def _output(query: Query, stream: Stream) -> str:
    """What a stream's time is called in the answer."""
    column = Column(stream.name, str(stream.time))
    if query.outputs is None:
        return f"{stream.name}_{stream.time}"
    return next((name for found, name in query.outputs if found == column), f"{column} (not selected)")


def _window(window: Window) -> str:
    """A window in the words of the file."""
    if isinstance(window, Range):
        return f'window "{window.length}"'
    return f"the newest {window.count:,} rows" if isinstance(window, Rows) else "no window"


def _filters(query: Query) -> Iterator[str]:
    for f in query.filters:
        asked = f.predicate
        what = f"{asked.name} of {quoted(map(str, asked.columns))}" if isinstance(asked, Function) else asked.text
        yield f"  {f.name} on {', '.join(f.on)}: {what}"
    if not query.filters:
        yield "  none"
