"""A query becomes a statement again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eddy import sql
from eddy.errors import QueryError
from eddy.query.emit import END, Every
from eddy.query.existence import SEMI
from eddy.query.filter import Filter
from eddy.query.inputs import Range, Rows, Stream, Window
from eddy.query.query import Query
from eddy.query.statements.building import name_filter
from eddy.sql.bind.writer import write_column, write_interval, write_name


def write_statement(query: Query) -> str:
    """Write a query as far as SQL can say it."""
    if query.outputs is None:
        raise QueryError("query: expected select, since a statement lists its columns; name those that you want")
    conditions = [_write_filter(f) for f in query.filters]
    hints = [f"NAMED({own}, {f.name})" for f in query.filters if (own := _find_own_name(f)) != f.name]
    columns = ", ".join(_write_output(column, name) for column, name in query.outputs)
    lines = [f"SELECT {_write_hint(hints)}{columns}", *_write_sources(query)]
    text = "\n".join([*lines, *([f"WHERE {' AND '.join(conditions)}"] if conditions else [])])
    if isinstance(query.emit, Every):
        return f"RSTREAM({text}) EVERY {_write_length(query.emit)}"
    return f"DSTREAM({text})" if query.emit == END else text


def _write_hint(hints: Sequence[str]) -> str:
    return f"/*+ {', '.join(hints)} */ " if hints else ""


def _write_output(column: sql.Column, name: str) -> str:
    return write_column(column) + ("" if name == column.name else f" AS {write_name(name)}")


def _write_filter(asked: Filter) -> str:
    """Write a filter as one condition among others; refuse what SQL cannot say of it."""
    where = f'filter "{asked.name}"'
    if not isinstance(asked.predicate, sql.Expression):
        raise QueryError(
            f"{where}: a statement calls a function by its name; write it, and give the function beside it"
        )
    if asked != Filter(asked.name, on=asked.on, where=asked.where):
        raise QueryError(
            f"{where}: a statement can say its condition only, not on_error, after or cost; leave those out"
        )
    return asked.predicate.write_part()


def _find_own_name(asked: Filter) -> str:
    """Find what a statement calls a filter unless it is told otherwise."""
    assert isinstance(asked.predicate, sql.Expression)
    return name_filter(asked.predicate.write(), asked.predicate.columns)


def _write_sources(query: Query) -> Iterator[str]:
    """Write each input once, and each condition as soon as all of its inputs are there."""
    streams, seen = {stream.name: stream for stream in query.streams}, set[str]()
    sources = {one.name: source for source, several in query.sources.items() for one in several if len(several) > 1}
    for name in query.inputs:
        ready = [one for one in query.predicates if name in one.inputs <= {*seen, name}]
        join = "FROM" if not seen else "JOIN" if ready else "CROSS JOIN"
        on = f" ON {' AND '.join(one.write_part() for one in ready)}" if ready and seen else ""
        yield f"{join} {_write_source(name, streams.get(name), sources.get(name, name))}{on}"
        seen.add(name)
    for one in sorted(query.existence, key=lambda one: query.given.index(one.table)):
        kind = "SEMI" if one.kind == SEMI else "ANTI"
        conditions = " AND ".join(part.write_part() for part in one.conditions)
        yield f"LEFT {kind} JOIN {write_name(one.table)} ON {conditions}"


def _write_source(name: str, stream: Stream | None, source: str) -> str:
    if stream is None:
        return write_name(name)
    micros = stream.delay_ticks if isinstance(stream.delay, str) else None
    watermark = (
        f" WATERMARK {write_name(str(stream.time))} DELAY OF {write_interval(int(micros))}"
        if micros is not None
        else ""
    )
    alias = "" if source == name else f" AS {write_name(name)}"
    return f"STREAM {write_name(source)}{watermark}{_write_window(stream.window)}{alias}"


def _write_length(one: Range | Every) -> str:
    return str(one.ticks) if one.is_number else write_interval(int(one.ticks))


def _write_window(window: Window) -> str:
    if isinstance(window, Range):
        return f" [RANGE {_write_length(window).removeprefix('INTERVAL ')}]"
    if isinstance(window, Rows):
        by = f"PARTITION BY {', '.join(map(write_name, window.by))} " if window.by else ""
        return f" [{by}ROWS {window.count}]"
    return ""
