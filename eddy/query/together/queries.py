"""Queries that are answered together: a value, checked when it is built."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from eddy.errors import QueryError, quote, unknown_name
from eddy.observe.notebook import heading, table
from eddy.query.binding import Binding
from eddy.query.inputs import Stream, arrange_sources, spread_sources
from eddy.query.query import Query
from eddy.query.validation import distinct, fill, members
from eddy.tuples.pandas_frames import make_frame

Given = TypeVar("Given")

LONE = ""
"""What a cell calls a query that has it for itself, and a report one that nobody has to tell from others."""

MOST_QUERIES = 256
"""Queries of a set: each has a router, a policy and indexes of its own in every cell."""


@dataclass(frozen=True)
class Queries:
    """Several queries over the same streams, answered together: each has the answer that it would have alone.

    Inputs of one name are one input: its rows are read, sent and stored once, and a function that several queries have
    as a filter is asked once about each of them. What queries say of a stream's time, delay and bad rows must agree;
    windows, joins, filters and columns may differ. Queries have names, by which their answers are told apart.

    `streams` are read although no query does: on Spark the sources of a checkpoint are for its life, and queries come
    and go. Where they are named, queries need not share any.

    >>> from eddy.query import Filter
    >>> a, b = Stream("a", time="ts"), Stream("b", time="ts")
    >>> joined = Query(name="joined", streams=[a, b], joins=["a.k = b.k"])
    >>> large = Query(name="large", streams=[a], filters=[Filter("large", on="a", where="v > 100")])
    >>> Queries([joined, large])
    Queries("joined", "large")
    """

    members: Sequence[Query]
    streams: Sequence[Stream] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        fill(self, "members", members(self.members, Query, "queries"))
        fill(self, "streams", members(self.streams, Stream, "queries: streams"))
        if not self.members:
            raise QueryError("queries: expected at least one query, got none")
        if len(self.members) > MOST_QUERIES:
            raise QueryError(
                f"queries: expected at most {MOST_QUERIES} queries, got {len(self.members):,}; where they differ in "
                "numbers and texts alone, make these a lookup table with a row for each, and join it in one query"
            )
        self._check_distinct()
        self._check_inputs()
        self._check_linked()

    def __repr__(self) -> str:
        return f"Queries({quote(self.named)})"

    def _repr_html_(self) -> str:
        rows = [(query.name, ", ".join(query.given), len(query.filters)) for query in self.members]
        return f"{heading(repr(self))}{table(make_frame(rows, ['query', 'inputs', 'filters']), len(rows))}"

    @property
    def named(self) -> dict[str, Query]:
        """The queries by their names."""
        return {query.name: query for query in self.members}

    @property
    def sources(self) -> dict[str, list[tuple[str, Stream]]]:
        """The streams of each source with the names of their queries; nobody's have none."""
        found: dict[str, list[tuple[str, Stream]]] = {}
        for owner, stream in self._list_streams():
            found.setdefault(stream.origin, []).append((owner, stream))
        return found

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all lookup tables."""
        return tuple(dict.fromkeys(one.name for query in self.members for one in query.tables))

    def _list_streams(self) -> Iterator[tuple[str, Stream]]:
        for query in self.members:
            yield from ((query.name, stream) for stream in query.streams)
        yield from (("", stream) for stream in self.streams)

    def _check_distinct(self) -> None:
        """Check that each query has a name of its own."""
        names = [query.name for query in self.members]
        for name in names:
            if names.count(name) > 1:
                raise QueryError(f'queries: two are called "{name}"; give each Query(name=...) a name of its own')

    def _check_inputs(self) -> None:
        """Check that inputs of one name are one input."""
        distinct("stream", [stream.origin for stream in self.streams], "queries: streams")
        for source, ((first, one), *others) in self.sources.items():
            if source in self.tables:
                owner = next(query.name for query in self.members if source in [t.name for t in query.tables])
                raise QueryError(
                    f'queries: "{source}" is a stream {_write_owner(first)}, and a table in "{owner}"; call one of '
                    "them otherwise"
                )
            self._check_names(source)
            for owner, other in others:
                for key, told in one.shared_settings.items():
                    if told != other.shared_settings[key]:
                        raise QueryError(
                            f'queries: stream "{source}" differs in {key}: {getattr(one, key)!r} {_write_owner(first)}'
                            f", {getattr(other, key)!r} {_write_owner(owner)}; its rows are admitted once, so say the "
                            "same in all queries, or attach them apart"
                        )

    def _check_names(self, source: str) -> None:
        """Refuse a source that is called as another query calls a stream of another source."""
        for owner, stream in self._list_streams():
            if stream.name == source != stream.origin:
                raise QueryError(
                    f'queries: "{source}" is a source, and {_write_owner(owner)} a stream of another one, '
                    f'"{stream.origin}"; call one of them otherwise'
                )

    def _check_linked(self) -> None:
        """Refuse queries that have nothing to do with each other, unless somebody says what holds them together."""
        first, *others = self.members if not self.streams else self.members[:1]
        reached, left = set(first.sources), list(others)
        while near := [query for query in left if reached & query.sources.keys()]:
            reached.update(*(query.sources for query in near))
            left = [query for query in left if query not in near]
        if left:
            raise QueryError(
                f"queries: {quote(query.name for query in left)} share no stream with {quote([first.name])}, so there "
                "is nothing to share; attach them apart, or, if they go on from a checkpoint whose other queries are "
                "gone, name its streams in streams=[...]"
            )

    def arrange(self, given: Mapping[str, Given]) -> dict[str, Given]:
        """Give each source and table what it was given, by its own name or by those of its streams."""
        found = arrange_sources([stream for _, stream in self._list_streams()], given)
        known = [*self.sources, *self.tables]
        for name in found:
            if name not in known:
                raise unknown_name("stream or table", name, known, where="data")
        if missing := [name for name in known if name not in found]:
            raise QueryError(f"data: expected data for every stream and table, got none for {quote(missing)}")
        return found


def pick_inputs(query: Query, arranged: Mapping[str, Given]) -> dict[str, Given]:
    """Pick what a query reads out of what all sources and tables have, by its own names of them."""
    spread = spread_sources(query.streams, arranged)
    return {name: spread[name] for name in query.given}


def check_clocks(bindings: Mapping[str, Binding]) -> None:
    """Refuse queries whose times are compared as other types: the rows that they share have one time each."""
    # Streams without a time, which are filtered alone, have none to differ in.
    timed = [(name, binding) for name, binding in bindings.items() if binding.clock is not None]
    if not timed:
        return
    (first, one), *others = timed
    for name, other in others:
        if other.tick_type is not one.tick_type or other.clock != one.clock:
            raise QueryError(
                f'queries: the times of "{first}" and "{name}" are of other types, so they have no time in common; '
                "cast the columns, or attach them apart"
            )


QUERY = "query"
"""The column of a common answer that says whose row it is."""


def merge_schemas(schemas: Mapping[str, pa.Schema], fold: Callable[[str], Hashable] = str) -> pa.Schema:
    """Make the schema of one answer for all queries: a column of each name, and whose row it is.

    Names of which `fold` makes the same stand for one column.
    """
    fields: dict[Hashable, tuple[str, pa.Field]] = {}
    for query, schema in schemas.items():
        for one in schema:
            owner, known = fields.setdefault(fold(one.name), (query, one))
            if known.name != one.name:
                raise QueryError(
                    f'queries: column "{known.name}" of "{owner}" and "{one.name}" of "{query}" differ in case only, '
                    "and Spark takes them for one; spell them alike, or give one of them another name in select"
                )
            if fold(one.name) == fold(QUERY):
                raise QueryError(
                    f'queries: "{query}" has a column "{one.name}", as the one that says whose row it is; give it '
                    "another name in select"
                )
            if known.type != one.type:
                raise QueryError(
                    f'queries: column "{one.name}" is {known.type} in "{owner}" and {one.type} in "{query}"; give one '
                    "of them another name in select, since all answers are in one frame"
                )
    return pa.schema([pa.field(QUERY, pa.string()), *(one for _, one in fields.values())])


def widen(query: str, rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Write a query's results as rows of the common answer; columns that it has not are null."""
    known = dict(zip(rows.schema.names, rows.columns, strict=True))
    columns: list[Any] = [pa.repeat(pa.scalar(query), rows.num_rows)]
    columns += [known.get(one.name) for one in list(schema)[1:]]
    filled = [
        pa.nulls(rows.num_rows, field.type) if column is None else column
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(filled, schema=schema)


def _write_owner(query: str) -> str:
    """Say where a stream stands."""
    return f'in "{query}"' if query else "in streams"
