"""Checks a query against the schemas of its inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import QueryError, quote, unknown_name
from eddy.query.emit import check_clock
from eddy.query.exact_names import spell_query
from eddy.query.horizons import Horizon, find_differences, find_horizons
from eddy.query.inputs import Range, Rows, Stream
from eddy.query.query import Query
from eddy.query.validation import read_length
from eddy.sql import Column
from eddy.tuples import event_time


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A query together with the schemas of its inputs."""

    query: Query
    schemas: Mapping[str, pa.Schema]
    types: Mapping[Column, pa.DataType]
    outputs: Sequence[tuple[Column, str]]

    tick_type: Any

    @cached_property
    def clock(self) -> str | None:
        """The kind of the streams' times; None where no stream has any."""
        timed = [(s, self.schemas[s.name].field(s.time).type) for s in self.query.streams if s.time is not None]
        return next((event_time.find_kind(kind, where=f'stream "{s.name}"') for s, kind in timed), None)

    def find_stored(self, name: str) -> pa.Schema:
        """Give the columns of an input that anything reads, under this name of its rows or under another one."""
        read = {f.name for one in self.query.list_names(name) for f in self.find_read(one)}
        return pa.schema([field for field in self.schemas[name] if field.name in read])

    def find_read(self, name: str) -> pa.Schema:
        """Give the columns of an input that anything reads."""
        # Stored are columns of the answer, the conditions and the clock; classifiers read theirs on arrival only.
        read = {column for column, _ in self.outputs}
        read |= {
            column
            for part in (*self.query.conditions, *(f.predicate for f in self.query.filters))
            for column in part.columns
        }
        read |= {Column(stream.name, stream.time) for stream in self.query.streams if stream.time is not None}
        read |= {Column(stream.name, key) for stream in self.query.streams for key in _list_by(stream)}
        return pa.schema([field for field in self.schemas[name] if Column(name, field.name) in read])

    @cached_property
    def keys(self) -> Mapping[str, Sequence[str]]:
        """The columns of each input that equalities compare unchanged.

        A row with a null in one of them joins nothing.
        """
        found: dict[str, list[str]] = {name: [] for name in self.query.inputs}
        for predicate in self.query.predicates:
            compared = predicate.comparison()
            # A comparison within one input is a filter, for which null is an ordinary value.
            if compared is None or compared.op != "=" or compared.left.inputs == compared.right.inputs:
                continue
            for side in (compared.left.as_column(), compared.right.as_column()):
                if side is not None and side.name not in found[str(side.stream)]:
                    found[str(side.stream)].append(side.name)
        return found

    @cached_property
    def horizons(self) -> Mapping[str, Horizon]:
        """How long rows of each stream can be met, where that has an end."""
        return find_horizons(self.query, self.types)

    @cached_property
    def selected(self) -> pa.Schema:
        """The selected columns of the answer."""
        return pa.schema([pa.field(name, self.types[column]) for column, name in self.outputs])

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the answer."""
        return self.selected if self.own_time is None else self.selected.append(self.own_time)

    @cached_property
    def own_time(self) -> pa.Field | None:
        """The answer's own time: of the kind of the first stream's, and as fine as times are compared."""
        name = self.query.own_time
        if name is None:
            return None
        first = self.query.streams[0]
        kind = self.schemas[first.name].field(str(first.time)).type
        number = pa.int64() if self.tick_type is np.int64 else pa.float64()
        return pa.field(name, pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else number)


def bind(query: Query, schemas: Mapping[str, pa.Schema]) -> Binding:
    """Check every column and type that the query names.

    The bound query has the columns' names as its inputs spell them.
    """
    for name in schemas:
        if name not in query.given:
            raise unknown_name("stream or table", name, query.given, where="data")
    missing = [name for name in query.given if name not in schemas]
    if missing:
        raise QueryError(f"data: expected data for every stream and table, got none for {quote(missing)}")
    for name in query.given:
        _check_names(name, schemas[name])
        _check_types(name, schemas[name])
    # From here on every name is as the inputs spell it, so nothing below compares names in any case.
    query = spell_query(query, schemas)
    types = {Column(name, f.name): f.type for name in query.given for f in schemas[name]}
    _check_sources(query, schemas)
    _check_times(query, schemas)
    for stream in query.streams:
        _check_by(stream, schemas[stream.name])
    check_windows(query, types)
    outputs = query.outputs if query.outputs is not None else _select_all(query, schemas)
    for column, _ in outputs:
        if column not in types:
            known = [f.name for f in schemas[str(column.stream)]]
            raise unknown_name("column", column.name, known, where=f'select "{column}"')
    # One type for the times of all streams, since a window compares times of one stream with another's.
    tick_type = event_time.dtype(*(schemas[s.name].field(s.time).type for s in query.streams if s.time is not None))
    binding = Binding(query=query, schemas=schemas, types=types, outputs=outputs, tick_type=tick_type)
    check_clock(query.emit, binding.clock, is_whole=tick_type is np.int64)
    return binding


def check_windows(query: Query, types: Mapping[Column, pa.DataType]) -> None:
    """Refuse a join of two times that their windows rule out."""
    clocks = {Column(stream.name, stream.time): stream for stream in query.streams if stream.time is not None}
    for predicate in query.predicates:
        for difference in find_differences(predicate, types):
            a, b = clocks.get(difference.later), clocks.get(difference.earlier)
            # A row of a inside its window is older than a row of b by that at most.
            if a is None or b is None or not isinstance(a.window, Range) or difference.most >= -a.window.ticks:
                continue
            raise QueryError(
                f'join "{predicate.text}": no two rows inside their windows satisfy it: "{a.name}" has {a.window} and '
                f'"{b.name}" has {b.window}, so their times cannot be that far apart; widen a window or change the join'
            )


def _check_names(name: str, schema: pa.Schema) -> None:
    twice = sorted(column for column, count in Counter(schema.names).items() if count > 1)
    if twice:
        raise QueryError(f'data "{name}": column {quote(twice)} stands twice; rename one of them')


def _check_types(name: str, schema: pa.Schema) -> None:
    """Refuse types whose values cannot be picked out by position."""
    for f in schema:
        if not can_pick(f.type):
            raise QueryError(
                f'data "{name}": column "{f.name}": rows of type {f.type} cannot be picked out one by one; '
                "cast it, for example a string_view to string"
            )


def can_pick(data_type: pa.DataType) -> bool:
    """Tell whether values of a type can be picked out by position."""
    try:
        # Arrow has types that no kernel takes from; one try with a null tells.
        pa.nulls(1, data_type).take(pa.array([0]))
    except pa.ArrowNotImplementedError:
        return False
    return True


def _check_sources(query: Query, schemas: Mapping[str, pa.Schema]) -> None:
    """Refuse streams of one source with different columns: they cannot be the same rows."""
    for source, (first, *others) in query.sources.items():
        for other in others:
            one, two = schemas[first.name], schemas[other.name]
            if one.names != two.names or one.types != two.types:
                raise QueryError(
                    f'data: streams {quote([first.name, other.name])} are one source, "{source}", and have other '
                    "columns; give its rows once, by that name"
                )


def _check_times(query: Query, schemas: Mapping[str, pa.Schema]) -> None:
    kinds = {stream.name: _check_time(stream, schemas[stream.name]) for stream in query.streams}
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f'"{name}" has {kind}' for name, kind in kinds.items())
        raise QueryError(
            f"query: the streams' time columns must be of one kind to be compared, but {listed}; cast them"
        )


def _check_time(stream: Stream, schema: pa.Schema) -> str | None:
    if stream.malformed is not None and stream.malformed not in schema.names:
        raise unknown_name("column", stream.malformed, schema.names, where=f'stream "{stream.name}": malformed')
    if stream.time is None:
        return None
    where = f'stream "{stream.name}": time "{stream.time}"'
    if stream.time not in schema.names:
        raise unknown_name("column", stream.time, schema.names, where=where)
    kind = event_time.find_kind(schema.field(stream.time).type, where=where)
    _check_arrived(stream, schema, kind)
    window = stream.window.length if isinstance(stream.window, Range) else None
    lengths = {"delay": stream.delay, "window": window, "max_ahead": stream.max_ahead}
    for name, length in lengths.items():
        # Nothing is as long in any unit: [NOW] is for all times.
        if length is None or not read_length(length, where):
            continue
        if isinstance(length, str) == (kind == event_time.NUMBER):
            wanted = "a number" if kind == event_time.NUMBER else 'a duration such as "30 seconds"'
            raise QueryError(f"{where} is {kind}, so its {name} must be {wanted}; got {length!r}")
    return kind


def _list_by(stream: Stream) -> Sequence[str]:
    return stream.window.by if isinstance(stream.window, Rows) else ()


def _check_by(stream: Stream, schema: pa.Schema) -> None:
    """Check that a window's columns are there, and have values that can be told apart."""
    for name in _list_by(stream):
        where = f'stream "{stream.name}": window {stream.window}'
        if name not in schema.names:
            raise unknown_name("column", name, schema.names, where=where)
        data_type = schema.field(name).type
        if pa.types.is_nested(data_type):
            raise QueryError(
                f'{where}: rows cannot be counted by column "{name}" of type {data_type}; expected a plain value, such '
                "as a number, a text or a time"
            )


def _check_arrived(stream: Stream, schema: pa.Schema, kind: str) -> None:
    """Check that `arrived` has times of the same kind as `time`."""
    if stream.arrived is None:
        return
    where = f'stream "{stream.name}": arrived'
    if stream.arrived not in schema.names:
        raise unknown_name("column", stream.arrived, schema.names, where=where)
    found = event_time.find_kind(schema.field(stream.arrived).type, where=f'{where} "{stream.arrived}"')
    if found != kind:
        raise QueryError(
            f'{where}: expected a column of the kind of time "{stream.time}", {kind}, got "{stream.arrived}", which is '
            f"{found}; cast one of them"
        )


def _select_all(query: Query, schemas: Mapping[str, pa.Schema]) -> list[tuple[Column, str]]:
    """Select every column, as `stream_column`.

    Columns that say something about their row are left out.
    """
    # Both are there to admit rows; an answer has them only if it asks for them.
    about = {Column(s.name, name) for s in query.streams for name in (s.malformed, s.arrived) if name is not None}
    every = [(Column(name, f.name), f"{name}_{f.name}") for name in query.inputs for f in schemas[name]]
    outputs = [(column, name) for column, name in every if column not in about]
    seen: dict[str, Column] = {}
    for column, name in outputs:
        if name == query.own_time:
            raise QueryError(f'query: "{column}" would be called "{name}", as the time is; name the columns in select')
        if name in seen:
            raise QueryError(
                f'query: "{seen[name]}" and "{column}" would both be called "{name}"; name the columns in select'
            )
        seen[name] = column
    return outputs
