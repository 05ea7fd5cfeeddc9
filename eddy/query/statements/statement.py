"""A query as one SQL statement.

The statement is Spark's SQL, with windows of streams in brackets and with predicates in Python. It says what a `Query`
says: conditions over one input are filters, those over several are joins.

A bare column belongs to the one input that has it. Without the columns of all inputs that can be told only where there
is one input; `with_columns` gives the statement to which they are known.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from eddy.errors import QueryError, quote, unknown_name, write_repr
from eddy.observe.text import plural
from eddy.query.filter import Filter
from eddy.query.inputs import Range, Rows, Stream, Table, Unbounded, Window
from eddy.query.join_graph import find_reachable
from eddy.query.query import Query
from eddy.query.shorthand import read_marked
from eddy.query.statements.input_names import InputNames
from eddy.query.validation import fill, members
from eddy.sql.bind.writer import write, write_column, write_duration, write_name
from eddy.sql.statement.reader import read_statement, split_conditions
from eddy.sql.statement.tree import JoinKind, RowCount, Selected, SelectTree, Source, SourceWindow, TimeSpan
from eddy.sql.values.name_case import fold_case
from eddy.sql.values.tree import Call, Column, Node, Place, Ref, TextSpan, UserCall, join_conditions, rename_columns

Given = TypeVar("Given")

DEFAULT_POLICY = "auto"
"""The policy where nobody names one."""

WHERE = "statement"
"""What errors call the text."""

ONLY_SPARK = (
    "Spark alone evaluates it, in a Filter of a Query, or as a column of a view or frame that the statement reads"
)
"""Where SQL has its place that statements have not."""

HINTS = {"policy": 1, "cells": 1, "named": 2}
"""What a hint may say, and in how many words: NAMED gives a filter another name than its own."""

OPTIONS = ("name", "max_fanout", "max_results", "max_state", "show_values", "case_sensitive")
"""Keys of a query that a statement has no words for."""

LONGEST_COLUMNS = 40
"""Letters of a filter's name that come from its columns."""

HASHED = 4
"""Hexadecimal digits of a filter's name that come from its text, so that two on one column have names of their own."""


@dataclass(frozen=True)
class Statement:
    """A statement, and the query that it says.

    `functions` are predicates in Python by the names that the text calls them; `@eddy.predicate` says how they are to
    be asked, and `ways` say it by their names, before that. `streams` says of inputs, by alias or by name, what the
    text leaves out. `options` are keys of a `Query` that no SQL has, such as `max_state`.

    >>> asked = Statement("SELECT o.id FROM STREAM orders AS o JOIN users AS u ON o.user = u.id", streams=[
    ...     Stream("orders", time="at", delay="1 minute")
    ... ])
    >>> asked.query.joins, asked.query.streams[0].time, asked.sources
    (('o.user = u.id',), 'at', {'o': 'orders', 'u': 'users'})
    """

    text: str
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict, kw_only=True)
    ways: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, kw_only=True)
    streams: Sequence[Stream] = field(default=(), kw_only=True)
    options: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    columns: Mapping[str, Sequence[str]] | None = field(default=None, kw_only=True, repr=False)
    tree: SelectTree = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise QueryError(f"{WHERE}: expected a text, got {write_repr(self.text)}")
        fill(self, "streams", members(self.streams, Stream, f"{WHERE}: streams"))
        for key in self.options:
            if key not in OPTIONS:
                raise unknown_name("key", key, OPTIONS, where=f"{WHERE}: options")
        for name, function in self.functions.items():
            if not callable(function):
                raise QueryError(f'{WHERE}: functions: "{name}": expected a function, got {write_repr(function)}')
        for name in self.ways:
            if name not in self.functions:
                raise unknown_name("function", name, self.functions, where=f"{WHERE}: ways")
        fill(self, "tree", read_statement(Place(WHERE, self.text, ONLY_SPARK), frozenset(self.functions)))
        self._check_aliases()
        self._check_hints()

    @property
    def sources(self) -> dict[str, str]:
        """The name of each input's source, by the alias that the text gives it."""
        return {one.alias: one.name for one in self.tree.sources}

    @cached_property
    def hints(self) -> Mapping[str, str]:
        """The policy, and the number of cells, that a hint names."""
        return {name: values[0] for name, values in self.tree.hints if len(values) == 1}

    @cached_property
    def named(self) -> Mapping[str, str]:
        """The names of filters that are called otherwise than by their own."""
        return {values[0]: values[1] for name, values in self.tree.hints if name == "named"}

    def with_columns(self, columns: Mapping[str, Sequence[str]]) -> Statement:
        """Give the statement to which the columns of each input are known, by alias."""
        return replace(self, columns=columns)

    def arrange(self, given: Mapping[str, Given]) -> dict[str, Given]:
        """Give the data or the frame of each input, which the caller names by alias or by source."""
        if not isinstance(given, Mapping):
            raise QueryError(f'{WHERE}: expected inputs as {{"name": ..}}, got {type(given).__name__}')
        known = {*self.sources, *self.sources.values()}
        for name in given:
            if name not in known:
                raise unknown_name("input", name, known, where=WHERE)
        found = {alias: given.get(alias, given.get(name)) for alias, name in self.sources.items()}
        missing = [alias for alias, one in found.items() if one is None]
        if missing:
            raise QueryError(f"{WHERE}: expected data for every input, got none for {quote(missing)}")
        return {alias: one for alias, one in found.items() if one is not None}

    def choose_policy(self, policy: Any) -> Any:
        """Choose the policy of a caller, or that of the hint where it is left at the default."""
        return self.hints.get("policy", policy) if policy == DEFAULT_POLICY else policy

    def choose_cells(self, cells: int | None) -> int | None:
        """Choose the cells that a caller names, or those of the hint."""
        return int(self.hints["cells"]) if cells is None and "cells" in self.hints else cells

    @cached_property
    def query(self) -> Query:
        """The query that the statement says."""
        names = InputNames(place=self.tree.place, sources=self.tree.sources, columns=self.columns)
        return _Building(self, names).build()

    def is_stream(self, source: Source) -> bool:
        """Tell whether an input is a stream, by the text or by what is said beside it."""
        return source.is_stream or self.find_told(source) is not None

    def find_told(self, source: Source) -> Stream | None:
        """Find what is said of a stream beside the text."""
        told = {one.name: one for one in self.streams}
        return told.get(source.alias) or told.get(source.name)

    def error(self, message: str, span: TextSpan) -> QueryError:
        """Build an error that points at a part of the text."""
        return self.tree.place.error(message, span.start, span.end)

    def _check_aliases(self) -> None:
        seen = set[tuple[str, int]]()
        for one in self.tree.sources:
            if not one.alias.isidentifier():
                raise self.error("expected an alias of letters, digits and underscores, as in .. AS a", one.span)
            if fold_case(one.alias) in seen:
                raise self.error(f'two inputs are called "{one.alias}"; give one another alias', one.span)
            seen.add(fold_case(one.alias))

    def _check_hints(self) -> None:
        for name, values in self.tree.hints:
            if name not in HINTS:
                raise unknown_name("hint", name, HINTS, where=WHERE)
            if len(values) != HINTS[name]:
                raise QueryError(f'{WHERE}: hint "{name}": expected {plural(HINTS[name], "word")}, got {len(values)}')
            if name == "cells" and not values[0].isdigit():
                raise QueryError(f'{WHERE}: hint "{name}": expected a whole number, got "{values[0]}"')


@dataclass(frozen=True)
class _Building:
    """Makes the query of a statement."""

    asked: Statement
    names: InputNames

    def build(self) -> Query:
        sources = self.asked.tree.sources
        conditions = [part for one in sources if one.kind not in _EXISTENCE for part in self._read_join(one)]
        conditions += [self.names.qualify(node) for node in split_conditions(self.asked.tree.where)]
        # The same condition twice says no more than once.
        distinct = dict.fromkeys(conditions)
        for name in self.asked.named:
            if name not in (known := [_name_node(node) for node in distinct]):
                raise unknown_name("filter", name, known, where=f'{WHERE}: hint "named"')
        joins = [node for node in distinct if self._is_join(node)]
        existence = {
            key: [self._write_existence(one) for one in sources if one.kind is kind] for kind, key in _EXISTENCE.items()
        }
        streams = {one.alias: self._make_stream(one) for one in sources if self.asked.is_stream(one)}
        if not streams:
            raise self.asked.error("expected a stream; write STREAM before the name of one", sources[0].span)
        asked: dict[str, Any] = {"joins": [write(node) for node in joins], **existence}
        return Query(
            streams=[*streams.values()],
            tables=[Table(one.alias) for one in sources if one.alias not in streams],
            filters=self._make_filters([node for node in distinct if node not in joins], next(iter(streams))),
            select=self._select(),
            cross=any(one.kind is JoinKind.CROSS for one in sources) and not self._is_connected(joins, [*streams]),
            **asked,
            **self.asked.options,
        )

    def _is_join(self, node: Node) -> bool:
        """Tell whether a condition is one between inputs; one that a hint names is a filter over several."""
        return (
            not isinstance(node, UserCall) and len(_find_inputs(node)) > 1 and _name_node(node) not in self.asked.named
        )

    def _is_connected(self, joins: Sequence[Node], streams: Sequence[str]) -> bool:
        """Tell whether joins lead from every stream to all inputs."""
        sets = [_find_inputs(node) for node in joins]
        return all({*self.names.joined} <= find_reachable(stream, sets) for stream in streams)

    def _read_join(self, source: Source) -> Iterator[Node]:
        """Give the conditions of a join, one by one."""
        for ref in source.using:
            own, earlier = Column(source.alias, ref.column.name), self.names.find_earlier(ref, source)
            yield Call(ref.span, "=", (Ref(ref.span, earlier, earlier), Ref(ref.span, own, own)))
        for node in split_conditions(source.on):
            yield self.names.qualify(node, source)

    def _write_existence(self, source: Source) -> str:
        """Write the condition by which a table is asked for a match."""
        if self.asked.is_stream(source):
            raise self.asked.error("a SEMI or ANTI join asks a table, which is no stream", source.span)
        return write(join_conditions(source.span, "and", self._read_join(source)))

    def _make_stream(self, source: Source) -> Stream:
        told = self.asked.find_told(source) or Stream(source.alias)
        time, delay, window = told.time, told.delay, told.window
        if source.watermark is not None:
            time = self._agree(source, "time", time, source.watermark.time)
            own = write_duration(source.watermark.delay)
            delay = (
                own if told.delay_ticks in (None, source.watermark.delay) else self._agree(source, "delay", delay, own)
            )
        if source.window is not None:
            own_window = _make_window(source.window)
            window = own_window if window == Unbounded() else self._agree(source, "window", window, own_window)
        if time is None and sum(map(self.asked.is_stream, self.asked.tree.sources)) > 1:
            raise self.asked.error(
                f'stream "{source.alias}": expected its event time, since it is joined with other streams; write '
                f"WATERMARK time DELAY OF INTERVAL .. behind {source.name}, or name it in streams=",
                source.span,
            )
        return replace(told, name=source.alias, time=time, delay=delay, window=window)

    def _agree(self, source: Source, key: str, told: Any, own: Any) -> Any:
        """Refuse what the text and `streams` say differently."""
        if told is not None and told != own:
            raise self.asked.error(
                f'stream "{source.alias}": {key}: the statement says {own}, streams= says {told}; leave one out',
                source.span,
            )
        return own

    def _make_filters(self, nodes: Sequence[Node], first: str) -> list[Filter]:
        """Make a filter of each condition over one input, and of each call of a function."""
        calls = Counter(node.name for node in nodes if isinstance(node, UserCall))
        made = []
        for node in nodes:
            inside = [part for part in node.walk() if isinstance(part, UserCall)]
            if isinstance(node, UserCall):
                made.append(self._make_asked(node, is_only=calls[node.name] == 1))
            elif inside:
                raise self.asked.error(
                    f'"{inside[0].name}" is a predicate in Python: it stands alone between ANDs and says whether a row '
                    "passes; write what is around it into the function",
                    inside[0].span,
                )
            else:
                made.append(self._make_sql_filter(node, first))
        return made

    def _make_sql_filter(self, node: Node, first: str) -> Filter:
        """Make the filter of a condition; one that reads no column is asked of the first stream."""
        own = _name_node(node)
        on = [*dict.fromkeys(column.stream for column in _list_columns(node) if column.stream)] or [first]
        return Filter(self.asked.named.get(own, own), on=on, where=_write_short(node))

    def _make_asked(self, node: UserCall, *, is_only: bool) -> Filter:
        """Make the filter that asks a function about columns."""
        columns = [arg.column for arg in node.args if isinstance(arg, Ref)]
        if len(columns) < len(node.args) or not columns:
            raise self.asked.error(f'"{node.name}" is asked about columns; write their names, one or more', node.span)
        function = self.asked.functions[node.name]
        marked = read_marked(function)
        own = _name_node(node)
        name = self.asked.named.get(own) or marked.name or (node.name if is_only else own)
        on = [*dict.fromkeys(str(column.stream) for column in columns)]
        names = [write_column(column if len(on) > 1 else Column(None, column.name)) for column in columns]
        asked = {**marked.options, **self.asked.ways.get(node.name, {}), "columns": names}
        return Filter(name, on=on, function=function, **asked)

    def _select(self) -> list[str]:
        """Write the columns of the answer."""
        return [
            f"{write_column(column)} AS {write_name(name)}"
            for one in self.asked.tree.selected
            for column, name in self._read_selected(one)
        ]

    def _read_selected(self, selected: Selected) -> Iterator[tuple[Column, str]]:
        """Give the columns of one entry of the list, with their names."""
        if selected.column is not None:
            column = self.names.find(selected.column, self.names.joined)
            yield column, selected.alias or selected.column.column.name
        elif selected.every_of is None:
            yield from ((column, column.name) for column in self.names.list_every(selected.span))
        else:
            alias = self.names.find_input(selected.every_of, self.names.joined, selected.span)
            yield from ((Column(alias, name), name) for name in self.names.list_columns(alias, selected.span))


_EXISTENCE = {JoinKind.SEMI: "semi", JoinKind.ANTI: "anti"}


def _list_columns(node: Node) -> list[Column]:
    return [part.column for part in node.walk() if isinstance(part, Ref)]


def _find_inputs(node: Node) -> frozenset[str]:
    return frozenset(str(column.stream) for column in _list_columns(node))


def _make_window(window: SourceWindow) -> Window:
    if isinstance(window, TimeSpan):
        return Range(window.length if window.is_number else write_duration(int(window.length)))
    return Rows(window.count, by=window.by) if isinstance(window, RowCount) else Unbounded()


def _write_short(node: Node) -> str:
    """Write a condition; where it is on one input, that need not be named."""
    return write(
        rename_columns(node, lambda column: Column(None, column.name)) if len(_find_inputs(node)) == 1 else node
    )


def _name_node(node: Node) -> str:
    return name_filter(write(node), _list_columns(node))


def name_filter(text: str, columns: Iterable[Column]) -> str:
    """Name a condition by its columns and its text, so that it keeps its name when others come or go.

    >>> name_filter("a.v > 10", [Column("a", "v")])
    'v_3b2b'
    """
    named = re.sub(r"\W", "_", "_".join(dict.fromkeys(column.name for column in columns)))[:LONGEST_COLUMNS] or WHERE
    return f"{'_' if named[0].isdigit() else ''}{named}_{hashlib.sha256(text.encode()).hexdigest()[:HASHED]}"
