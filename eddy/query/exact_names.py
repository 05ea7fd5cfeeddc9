"""Spells a query's columns as its inputs do.

Spark finds a column in any case, unless `spark.sql.caseSensitive` is set, and so do queries. The names are looked up
here and nowhere else: whatever comes after has them as the inputs spell them, in texts too. What is selected is called
as the query spells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from eddy import sql
from eddy.errors import QueryError
from eddy.predicates.function import Function
from eddy.query.filter import Filter
from eddy.query.inputs import Rows, Stream
from eddy.query.query import Query
from eddy.query.validation import fill
from eddy.sql import Column
from eddy.sql.values.name_case import fold_case


class Names:
    """The known columns of a query's inputs, by their spelling.

    Two spellings are one name if Spark says so.
    """

    def __init__(self, query: Query, columns: Mapping[str, Iterable[str]]) -> None:
        self._key = _keep_case if query.case_sensitive else fold_case
        self._known: dict[str, dict[tuple[str, int], list[str]]] = {name: {} for name in query.given}
        for name, known in self._known.items():
            for column in columns.get(name, ()):
                known.setdefault(self._key(column), []).append(column)

    def find(self, column: Column) -> Sequence[str]:
        """Find the columns that a name may mean."""
        return self._known[str(column.stream)].get(self._key(column.name), ())

    def resolve(self, column: Column, where: str) -> str:
        """Find the one column that a name means.

        An unknown name stays as it is: others complain of it.
        """
        # Under Spark's rule `V` finds `v`; with both there, neither is meant more than the other.
        found = self.find(column)
        if len(found) > 1:
            raise QueryError(f"{where}: {sql.describe_ambiguous(column.name, found)}")
        return found[0] if found else column.name


def spell_query(query: Query, schemas: Mapping[str, pa.Schema]) -> Query:
    """Spell a query in its inputs' own names.

    The same one, if it has them already.
    """
    names = Names(query, {name: schema.names for name, schema in schemas.items()})
    streams = [_spell_stream(stream, names) for stream in query.streams]
    filters = [spell_filter(f, names) for f in query.filters]
    spelled = all(condition.is_spelled(names.find) for condition in query.conditions)
    selected = [_spell_selected(column, name, names) for column, name in query.outputs or ()]
    # Rebuilding a query parses its texts again.
    if spelled and not any(selected) and (*streams, *filters) == (*query.streams, *query.filters):
        return query
    select = query.select and [new or old for new, old in zip(selected, query.select, strict=True)]
    joins, semi, anti = (
        texts if spelled else [spell_join(query, text, names) for text in texts]
        for texts in (query.joins, query.semi, query.anti)
    )
    return replace(query, streams=streams, filters=filters, joins=joins, semi=semi, anti=anti, select=select)


def spell_filter(asked: Filter, names: Names) -> Filter:
    """Spell a filter as its inputs do."""
    predicate = asked.predicate
    if not isinstance(predicate, Function):
        return asked if predicate.is_spelled(names.find) else replace(asked, where=predicate.respell(names.find))
    where = f'filter "{asked.name}"'
    found = [Column(column.stream, names.resolve(column, where)) for column in predicate.columns]
    if found == [*predicate.columns]:
        return asked
    renamed = replace(asked, columns=[str(column) for column in found])
    # In which form the function is handed them was read from what it was given in, which the filter no longer has.
    fill(renamed, "predicate", replace(predicate, columns=tuple(found)))
    return renamed


def spell_join(query: Query, text: str, names: Names) -> str:
    """Spell the text of a join as its inputs do."""
    return sql.parse(text, where=f'join "{text}"').qualify(query.qualify).respell(names.find)


def _keep_case(name: str) -> tuple[str, int]:
    return name, len(name)


def _spell_stream(stream: Stream, names: Names) -> Stream:
    def own(place: str, name: str | None) -> str | None:
        return name and names.resolve(Column(stream.name, name), f'stream "{stream.name}": {place}')

    time, malformed, arrived = (
        own("time", stream.time),
        own("malformed", stream.malformed),
        own("arrived", stream.arrived),
    )
    window = stream.window
    if isinstance(window, Rows) and window.by:
        window = Rows(window.count, by=[str(own("window", name)) for name in window.by])
    same = (time, malformed, arrived, window) == (stream.time, stream.malformed, stream.arrived, stream.window)
    return stream if same else replace(stream, time=time, malformed=malformed, arrived=arrived, window=window)


def _spell_selected(column: Column, name: str, names: Names) -> str:
    """Spell a column to select that has another name.

    Nothing for the others.
    """
    found = names.resolve(column, f'select "{column}"')
    return "" if found == column.name else f"{column.stream}.{sql.backtick(found)} AS {sql.backtick(name)}"
