"""The query that a statement says: its inputs, its conditions as joins and filters, its columns."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eddy.errors import QueryError, quote, unknown_name
from eddy.query.emit import BEGIN, END, Emit, check_told, may_end, name_time
from eddy.query.filter import Filter
from eddy.query.inputs import Range, Stream, Table, Unbounded, share_sources
from eddy.query.join_graph import find_reachable
from eddy.query.query import Query
from eddy.query.shorthand import read_marked
from eddy.query.statements.after import After, make_after
from eddy.query.statements.input_names import InputNames
from eddy.query.statements.reading import split_conditions
from eddy.query.statements.tree import WHERE, JoinKind, Source
from eddy.sql.bind.writer import write, write_column, write_duration, write_name
from eddy.sql.values.name_case import fold_case
from eddy.sql.values.tree import Call, Column, Node, Ref, UserCall, join_conditions, list_refs, rename_refs

if TYPE_CHECKING:
    from eddy.query.statements.statement import Statement

LONGEST_COLUMNS = 40
"""Letters of a filter's name that come from its columns."""

HASHED = 4
"""Hexadecimal digits of a filter's name that come from its text, so that two on one column have names of their own."""


def build_query(asked: Statement) -> tuple[Query, After | None]:
    """Build the query of a statement, and what comes after it."""
    names = InputNames(
        place=asked.tree.place, sources=asked.tree.sources, columns=asked.columns, functions=asked.functions
    )
    return _Building(asked, names).build()


@dataclass(frozen=True)
class _Building:
    """Makes the query of a statement."""

    asked: Statement
    names: InputNames

    def build(self) -> tuple[Query, After | None]:
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
        made = [self._make_stream(one) for one in sources if self.asked.is_stream(one)]
        streams = {one.name: one for one in share_sources(made, self.asked.sources, [*self.asked.sources])}
        if not streams:
            raise self.names.place.error("expected a stream; write STREAM before the name of one", sources[0].span)
        asked: dict[str, Any] = {"joins": [write(node) for node in joins], **existence}
        emit = self._read_emit([*streams.values()])
        self._check_own_time(name_time(emit))
        is_plain = self.asked.tree.is_selection and not self._repeats_names()
        after = None if is_plain else make_after(self.asked.tree, self.names, [*streams.values()], name_time(emit))
        query = Query(
            streams=[*streams.values()],
            tables=[Table(one.alias) for one in self._list_tables()],
            filters=self._make_filters([node for node in distinct if node not in joins], next(iter(streams))),
            select=[f"{write_column(column)} AS {write_name(name)}" for column, name in self._list_outputs(after)],
            cross=self._is_cross(joins, [*streams]),
            emit=emit,
            **asked,
            **self.asked.options,
        )
        return query, after

    def _repeats_names(self) -> bool:
        """Tell whether two columns of the list have one name, which Spark takes, and the eddy does not."""
        names = [name for one in self.asked.tree.selected for _, name in self.names.read_selected(one)]
        return len({*names}) < len(names)

    def _read_emit(self, streams: Sequence[Stream]) -> Emit:
        """Read when a combination is told."""
        told = self.asked.tree.told
        if told is None or told.word == "ISTREAM":
            return BEGIN
        if told.word == "RSTREAM" and told.every is None:
            # At the instant of a row that is there for no longer each combination with it is there once: as it begins.
            if any(isinstance(one.window, Range) and not one.window.ticks for one in streams):
                return BEGIN
            raise self.names.place.error(
                "RSTREAM tells all that is there at every instant, which nobody can; say at which ones, as in "
                "RSTREAM(..) EVERY INTERVAL 1 MINUTE, or give a stream the window [NOW]",
                told.span,
            )
        emit = told.every or END
        try:
            check_told(emit, streams)
        except QueryError as error:
            way_out = "write WATERMARK time DELAY OF INTERVAL .. behind its name, or say it in streams="
            message = f"{str(error).removeprefix('query: emit: ')}; {way_out}"
            raise self.names.place.error(message, told.span) from None
        if not may_end(emit, streams):
            raise self.names.place.error(
                "DSTREAM: no combination ever ends, since no stream has a window; give one of "
                f"{quote(one.name for one in streams)} a window such as [RANGE 10 MINUTES] or [ROWS 1], or write "
                "ISTREAM, which tells each as it begins",
                told.span,
            )
        return emit

    def _check_own_time(self, own: str | None) -> None:
        """Refuse columns that are called like the time that an answer has of itself."""
        for one in self.asked.tree.selected if own is not None and self.asked.tree.is_selection else ():
            is_bare = one.column is not None and one.column.bare and self._is_own_time(one.column, str(own))
            if is_bare or own in [name for _, name in self.names.read_selected(one)]:
                raise self.names.place.error(
                    f'"{own}" is in the answer by itself, as its last column; leave it out here, or give a column of '
                    "an input another name",
                    one.span,
                )

    def _is_own_time(self, ref: Ref, own: str) -> bool:
        """Tell whether a name without an input is that of the answer's own time, and no column's."""
        name = ref.column.name
        return fold_case(name) == fold_case(own) and self.names.find_written([name], ref.span) is None

    def _is_join(self, node: Node) -> bool:
        """Tell whether a condition is one between inputs; one that a hint names is a filter over several."""
        return (
            not isinstance(node, UserCall) and len(_find_inputs(node)) > 1 and _name_node(node) not in self.asked.named
        )

    def _list_tables(self) -> list[Source]:
        """List the tables: those that are asked for a match stand behind those that are joined, as they are written."""
        tables = [one for one in self.asked.tree.sources if not self.asked.is_stream(one)]
        return sorted(tables, key=lambda one: one.kind in _EXISTENCE)

    def _is_cross(self, joins: Sequence[Node], streams: Sequence[str]) -> bool:
        """Tell whether some inputs are joined by no condition, and the statement says so."""
        sets = [_find_inputs(node) for node in joins]
        reached = [find_reachable(stream, sets) for stream in streams]
        apart = [one for one in self.asked.tree.sources if one.kind not in _EXISTENCE]
        apart = [one for one in apart if not all(one.alias in found for found in reached)]
        if apart and not any(one.kind is JoinKind.CROSS for one in self.asked.tree.sources):
            raise self.names.place.error(
                f'no condition joins "{apart[-1].alias}" with all others; add one, or write CROSS JOIN for every '
                "combination",
                apart[-1].span,
            )
        return bool(apart)

    def _read_join(self, source: Source) -> Iterator[Node]:
        """Give the conditions of a join, one by one; those of a subquery are the first."""
        for node in source.view.where if source.view is not None else ():
            for part in split_conditions(node):
                yield rename_refs(part, lambda ref: Column(source.alias, ref.column.name))
        for ref in source.using:
            own, earlier = self.names.find_own(ref, source), self.names.find_earlier(ref, source)
            yield Call(ref.span, "=", (Ref(ref.span, earlier, earlier), Ref(ref.span, own, own)))
        for node in split_conditions(source.on):
            yield self.names.qualify(node, source)

    def _write_existence(self, source: Source) -> str:
        """Write the condition by which a table is asked for a match."""
        if self.asked.is_stream(source):
            raise self.names.place.error("a SEMI or ANTI join asks a table, which is no stream", source.span)
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
            window = source.window if window == Unbounded() else self._agree(source, "window", window, source.window)
        if time is None and sum(map(self.asked.is_stream, self.asked.tree.sources)) > 1:
            raise self.names.place.error(
                f'stream "{source.alias}": expected its event time, since it is joined with other streams; write '
                f"WATERMARK time DELAY OF INTERVAL .. behind {source.name}, or give that stream a time",
                source.span,
            )
        return replace(told, name=source.alias, time=time, delay=delay, window=window)

    def _agree(self, source: Source, key: str, told: Any, own: Any) -> Any:
        """Refuse what the text and `streams` say differently."""
        if told is not None and told != own:
            raise self.names.place.error(
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
                raise self.names.place.error(
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
        on = [*dict.fromkeys(ref.column.stream for ref in list_refs(node) if ref.column.stream)] or [first]
        return Filter(self.asked.named.get(own, own), on=on, where=_write_short(node))

    def _make_asked(self, node: UserCall, *, is_only: bool) -> Filter:
        """Make the filter that asks a function about columns."""
        columns = [arg.column for arg in node.args if isinstance(arg, Ref)]
        if len(columns) < len(node.args) or not columns:
            raise self.names.place.error(
                f'"{node.name}" is asked about columns; write their names, one or more', node.span
            )
        function = self.asked.functions[node.name]
        marked = read_marked(function)
        own = _name_node(node)
        name = self.asked.named.get(own) or marked.name or (node.name if is_only else own)
        on = [*dict.fromkeys(str(column.stream) for column in columns)]
        names = [write_column(column if len(on) > 1 else Column(None, column.name)) for column in columns]
        asked = {**marked.options, **self.asked.ways.get(node.name, {}), "columns": names}
        return Filter(name, on=on, function=function, **asked)

    def _list_outputs(self, after: After | None) -> list[tuple[Column, str]]:
        """List the columns of the eddy's answer: those that are selected, or those that Spark reads after it."""
        if after is not None:
            return list(after.outputs)
        return [found for one in self.asked.tree.selected for found in self.names.read_selected(one)]


_EXISTENCE = {JoinKind.SEMI: "semi", JoinKind.ANTI: "anti"}


def _find_inputs(node: Node) -> frozenset[str]:
    return frozenset(str(ref.column.stream) for ref in list_refs(node))


def _write_short(node: Node) -> str:
    """Write a condition; where it is on one input, that need not be named."""
    return write(rename_refs(node, lambda ref: Column(None, ref.column.name)) if len(_find_inputs(node)) == 1 else node)


def _name_node(node: Node) -> str:
    return name_filter(write(node), [ref.column for ref in list_refs(node)])


def name_filter(text: str, columns: Iterable[Column]) -> str:
    """Name a condition by its columns and its text, so that it keeps its name when others come or go.

    >>> name_filter("a.v > 10", [Column("a", "v")])
    'v_3b2b'
    """
    named = re.sub(r"\W", "_", "_".join(dict.fromkeys(column.name for column in columns)))[:LONGEST_COLUMNS] or WHERE
    return f"{'_' if named[0].isdigit() else ''}{named}_{hashlib.sha256(text.encode()).hexdigest()[:HASHED]}"
