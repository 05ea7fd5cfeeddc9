"""Keys of a source or a sink that do not go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eddy.errors import quote, unknown_name
from eddy.jobs.config.connectors import BATCH, BYTES
from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.references import import_function, sources
from eddy.query.together.queries import QUERY
from eddy.redaction import KeyPath, display

Queries = Mapping[str, Mapping[str, Any]]
"""What the file says of queries that are answered together, by their names; nothing where there is one query."""


def check_connectors(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note keys of sources and sinks that do not go together."""
    found = sources(read)
    for path, source in found:
        if source.get("format") == "spark":
            _check_place(path, source, mistakes)
        if source.get("format") == "kafka":
            _check_value(path, source, mistakes)
    is_batch = any(source.get("mode") == BATCH for _, source in found)
    for place in ("sink", "rejected"):
        sink = read.get(place, {})
        check = SINK_CHECKS.get(sink.get("format", ""))
        if check is not None:
            check((place,), sink, read.get("queries", {}), mistakes)
        if sink.get("format") == "spark":
            _check_place((place,), sink, mistakes)
            if sink.get("existing") and not is_batch:
                told = f'a stream adds to what is there; leave it out, or read with mode = "{BATCH}"'
                mistakes.add((place, "existing"), told)


def _check_place(path: KeyPath, values: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note what Spark cannot find by the keys that say where rows are."""
    wrong = mistakes.has_within((*path, "name")) or mistakes.has_within((*path, "table"))
    if not (values.get("name") or values.get("table") or wrong):
        mistakes.add(
            (*path, "name"), 'expected the name of a format, such as "delta", or a table, got neither; add one'
        )
    for key in ("path", "schema"):
        if values.get("table") and values.get(key):
            mistakes.add((*path, key), f"a table of a catalog has its own {key}; leave it out, or leave table out")


def _check_value(path: KeyPath, source: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note a value that nobody can read, or that nobody is to read."""
    if source.get("value") == BYTES:
        for key in ("schema", "add"):
            if source.get(key):
                mistakes.add(
                    (*path, key), f'value = "{BYTES}" gives the columns of the connector; leave it out, and use select'
                )
    elif not (source.get("schema") or mistakes.has_within((*path, "schema"))):
        told = f'expected the columns of the value, got none; add them, or read it by select with value = "{BYTES}"'
        mistakes.add((*path, "schema"), told)


def _check_table(path: KeyPath, sink: Mapping[str, Any], _: Queries, mistakes: Mistakes) -> None:
    """Note a name that Spark cannot make a folder of, below the setting spark.sql.streaming.checkpointLocation."""
    name = sink.get("name")
    if name and not name.isidentifier():
        mistakes.add((*path, "name"), f"expected a name of letters, digits and underscores, got {display((), name)}")


def _check_folders(path: KeyPath, sink: Mapping[str, Any], queries: Queries, mistakes: Mistakes) -> None:
    """Note folders of queries where there is one, or where they are said twice."""
    if sink.get("per_query") and not queries:
        mistakes.add((*path, "per_query"), "expected [queries], got one query, which has one folder; leave it out")
    elif sink.get("per_query") and QUERY in (sink.get("partition_by") or []):
        mistakes.add((*path, "partition_by"), f'per_query has "{QUERY}" first; leave one of the two out')


def _check_topics(path: KeyPath, sink: Mapping[str, Any], queries: Queries, mistakes: Mistakes) -> None:
    """Note rows without a topic, and a topic without rows."""
    place, without = (*path, "topic"), [name for name, one in queries.items() if not one.get("topic")]
    if sink.get("topic") and queries and not without:
        mistakes.add(place, "each of [queries] has a topic of its own; leave it out")
    elif not sink.get("topic") and not mistakes.has_within(place) and (without or not queries):
        needed = f", since there is none of {quote(without)}" if queries else ": the topic"
        mistakes.add(place, f"expected a text, got none; add it{needed}")


def _check_functions(path: KeyPath, sink: Mapping[str, Any], queries: Queries, mistakes: Mistakes) -> None:
    """Note functions that are not there, or that no rows or two functions would go to."""
    one, several = sink.get("function"), sink.get("functions") or {}
    if one and several:
        mistakes.add((*path, "function"), "functions says it for each query; leave one of the two out")
    elif not one and not several and not mistakes.has_within(path):
        mistakes.add((*path, "function"), "expected a text, got none; add it: its import path")
    if one:
        import_function(one, (*path, "function"), mistakes)
    for name, function in several.items():
        if not queries:
            mistakes.add((*path, "functions"), "expected [queries], got one query; name its function in function")
            return
        if name not in queries:
            told = str(unknown_name("query", name, queries, where=""))
            mistakes.add((*path, "functions", name), told.removeprefix(": "))
        import_function(function, (*path, "functions", name), mistakes)
    if several and (missing := [name for name in queries if name not in several]):
        mistakes.add((*path, "functions"), f"expected a function for every query, got none for {quote(missing)}")


SINK_CHECKS: Mapping[str, Callable[[KeyPath, Mapping[str, Any], Queries, Mistakes], None]] = {
    "parquet": _check_folders,
    "spark": _check_folders,
    "kafka": _check_topics,
    "memory": _check_table,
    "foreach_batch": _check_functions,
}
"""What is checked of each sink that has something to check."""
