"""The SQL statement of a file, `[query] sql`, and its functions.

Inputs are called as the statement calls them, so the tables [streams.NAME] and [tables.NAME] are taken under the
aliases of their sources; one that has several is read once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eddy.errors import QueryError, unknown_name
from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.references import anything, import_function
from eddy.query import Filter, Query, Statement, Stream
from eddy.query.statements.tree import Source
from eddy.redaction import KeyPath
from eddy.sql.values.name_case import find_own

FindColumns = Callable[[str, str, Mapping[str, Any]], Sequence[str] | None]
"""Finds the columns of an input by its kind, which is one of KINDS, its name, and what the file says of its source.

None where they are not known; an error where the source has a mistake.
"""

STATEMENT = "sql"
"""The key of a query that is a statement."""

PLACE = ("query", STATEMENT)

KINDS = ("streams", "tables")

LISTS = ("joins", "semi", "anti")
"""Keys of a query that add to what the statement says."""

INSTEAD = ("select", "cross", "emit", "every")
"""Keys of a query that the statement has words for."""

ASKING = ("joins", "semi", "anti", *INSTEAD)
"""Keys of a query that say what is asked for; the others are its limits."""

OF_INPUTS = (("filters",), ("rejected",), ("engine", "sizes"), ("engine", "heavy"), ("policy", "attributes"))
"""Tables and keys that speak of the inputs of a query by their names."""


def ask_instead(values: dict[str, Any], text: str) -> KeyPath:
    """Let a statement take the place of what a file asks for; gives the place that it has then."""
    query = values.get("query", {})
    values.pop("queries", None)
    values["query"] = {key: value for key, value in query.items() if key not in ASKING}
    values["query"][STATEMENT] = text
    for *around, name in OF_INPUTS:
        table = values.get(around[0], {}) if around else values
        table.pop(name, None)
    return PLACE


def read_statement(read: dict[str, Any], given: Collection[KeyPath], mistakes: Mistakes) -> Statement | None:
    """Read the statement, if the file has one, and call the inputs of the file as it does.

    A hint of the statement counts where none of the keys that are `given` says it.
    """
    text = read["query"].get(STATEMENT)
    if text is None:
        for name in read.get("functions", {}):
            mistakes.add(("functions", name), "expected a statement that calls it, in [query] sql, got none")
        return None
    for key in INSTEAD:
        if read["query"].get(key):
            mistakes.add(("query", key), "the statement in sql says it; leave it out")
    asked = _parse(text, read.get("functions", {}), mistakes)
    if asked is None:
        return None
    _call_inputs(asked.tree.sources, read, mistakes)
    read["engine"]["cells"] = asked.choose_cells(read["engine"].get("cells"))
    if ("policy", "name") not in given:
        read["policy"]["name"] = asked.choose_policy(read["policy"]["name"])
    return asked


def build_stated(
    asked: Statement,
    read: Mapping[str, Any],
    streams: Sequence[Stream],
    filters: Sequence[Filter],
    mistakes: Mistakes,
    find_columns: FindColumns | None,
) -> tuple[Query | None, Statement | None]:
    """Build the query of a statement, with what the file says beside it; gives also the whole statement."""
    said, wrong = read["query"], dict[KeyPath, str]()
    options = {key: said[key] for key in ("name", "max_fanout", "max_results", "max_state", "show_values")}
    try:
        stated = replace(asked, streams=streams, options={k: v for k, v in options.items() if v is not None})
        if find_columns is not None:
            known, wrong = _find_known(read, find_columns)
            stated = stated.with_columns(known)
        query = stated.query
        if stated.after is not None and asked.tree.is_selection:
            raise QueryError("select: two columns have one name, which sinks refuse; give one of them an alias")
        # What is found to be wrong with its parts later stands in the statement.
        parts: list[KeyPath] = [("query", "select"), *(("query", key) for key in LISTS if not said[key])]
        for one in query.filters:
            parts += [("filters", one.name), *(("filters", one.name, key) for key in ("where", "function", "columns"))]
        mistakes.moved = {**mistakes.moved, **dict.fromkeys(parts, PLACE)}
        more: dict[str, Any] = {key: (*getattr(query, key), *said[key]) for key in LISTS}
        return replace(query, **more, filters=(*query.filters, *filters)), stated
    except QueryError as error:
        # Whose columns are not known for a mistake is told too: the statement may be right.
        for path, told in wrong.items():
            mistakes.add(path, told)
        _note(error, mistakes)
        return None, None


def _find_known(
    read: Mapping[str, Any], find_columns: FindColumns
) -> tuple[dict[str, Sequence[str]], dict[KeyPath, str]]:
    """Find the columns of each input, by alias, where somebody knows them before Spark reads the source.

    Gives also what is wrong with sources, by their places.
    """
    known: dict[str, Sequence[str]] = {}
    wrong: dict[KeyPath, str] = {}
    inputs = [(kind, name, values) for kind in KINDS for name, values in read.get(kind, {}).items()]
    for kind, name, values in inputs:
        try:
            columns = find_columns(kind, name, values.get("source") or {})
        except QueryError as error:
            wrong[kind, name, "source"] = str(error)
            continue
        if columns is not None:
            known[name] = columns
    return known, wrong


def _parse(text: str, functions: Mapping[str, Mapping[str, Any]], mistakes: Mistakes) -> Statement | None:
    made, ways = {}, {}
    for name, values in functions.items():
        path = ("functions", name)
        function = (
            import_function(values["function"], (*path, "function"), mistakes) if values.get("function") else None
        )
        # What it is has been noted; the statement can still be read.
        made[name] = function or anything
        ways[name] = {key: value for key, value in values.items() if key != "function" and value is not None}
        if values.get("setup"):
            ways[name]["setup"] = import_function(values["setup"], (*path, "setup"), mistakes)
    try:
        return Statement(text, functions=made, ways=ways)
    except QueryError as error:
        _note(error, mistakes)
        return None


def _call_inputs(sources: Sequence[Source], read: dict[str, Any], mistakes: Mistakes) -> None:
    """Take the inputs of the file under the names that the statement gives them."""
    given = {kind: read.get(kind, {}) for kind in KINDS}
    called: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    moved: dict[KeyPath, KeyPath] = {}
    for source in sources:
        own = find_own(source.name, [name for kind in KINDS for name in given[kind]])
        kind = next((kind for kind in KINDS if own in given[kind]), None)
        if kind is None:
            known = [name for kind in KINDS for name in given[kind]]
            told = str(unknown_name("stream or table", source.name, known, where=STATEMENT))
            mistakes.add(PLACE, told.removeprefix(f"{STATEMENT}: "))
            continue
        if source.is_stream and kind == "tables":
            mistakes.add(PLACE, f'"{source.name}" is one of [tables], and no stream; leave the word STREAM out')
        called[kind][source.alias] = _keep_name(given[kind][own], own)
        moved[kind, source.alias] = (kind, own)
    for kind in KINDS:
        unread = given[kind].keys() - {own for of, own in moved.values() if of == kind}
        # A statement from outside reads what it likes.
        for name in () if PLACE in mistakes.outside or mistakes.has_within(PLACE) else unread:
            mistakes.add((kind, name), "the statement in [query] sql does not read it; leave it out")
    read.update(called)
    mistakes.moved = {**mistakes.moved, **{path: mistakes.moved.get(own, own) for path, own in moved.items()}}


def _keep_name(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Keep the name by which a workload knows the rows, where the file leaves it to that of the table."""
    source = values.get("source") or {}
    return {**values, "source": {**source, "input": name}} if source.get("input", name) is None else values


def _note(error: QueryError, mistakes: Mistakes) -> None:
    mistakes.add(PLACE, str(error).removeprefix("statement: "))
