"""Describes queries that are answered together: what they share, and each by itself."""

from __future__ import annotations

from collections.abc import Iterator

from eddy.errors import quote
from eddy.observe.text import align_columns, plural
from eddy.query.explain.describe import FILTERS, draw_plan, list_filters, list_patterns, list_warnings, list_windows
from eddy.query.filter import Filter
from eddy.query.query import Query
from eddy.query.together.queries import Queries


def describe_queries(queries: Queries) -> str:
    """Describe a set of queries."""
    parts = list_shared(queries)
    for query in queries.members:
        parts += ["", f'query "{query.name}"', *_describe_member(query)]
    return "\n".join(parts)


def list_shared(queries: Queries) -> list[str]:
    """Write what queries share, and what they do not."""
    names = quote(queries.named)
    parts = [f"{plural(len(queries.members), 'query', 'queries')} answered together: {names}"]
    parts += ["", "rows that are read, sent and stored once", *_list_sources(queries)]
    if shared := [*_list_functions(queries)]:
        parts += ["", "functions that are asked once for several queries", *shared]
    if apart := [*_list_apart(queries)]:
        parts += ["", "not shared", *apart]
    return parts


def _describe_member(query: Query) -> Iterator[str]:
    """Describe one of them; its state, and the order of its results, are matters of all."""
    yield from draw_plan(query)
    yield from ("access patterns", *list_patterns(query))
    yield from ("windows and watermarks", *list_windows(query))
    yield from (FILTERS, *list_filters(query))
    yield from (f"warning: {warning}" for warning in list_warnings(query))


def _list_sources(queries: Queries) -> Iterator[str]:
    """Write who reads which source, and for how long its rows are kept."""
    rows = [["stream", "read by", "windows"]]
    for source, streams in queries.sources.items():
        owners = dict.fromkeys(owner for owner, _ in streams if owner)
        windows = dict.fromkeys(str(stream.window) for owner, stream in streams if owner)
        rows.append([source, ", ".join(owners) or "nobody", ", ".join(windows) or "none"])
    rows += [
        [name, ", ".join(q.name for q in queries.members if name in [t.name for t in q.tables]), "a table"]
        for name in queries.tables
    ]
    return align_columns(rows, "<<<")


def _list_owned(queries: Queries) -> Iterator[tuple[str, str, Filter]]:
    """List all filters, each with its source and as whose it is told."""
    for query in queries.members:
        origins = {stream.name: stream.origin for stream in query.streams}
        for one in query.filters:
            yield origins.get(one.on[0], one.on[0]), f"{query.name}.{one.name}", one


def _list_functions(queries: Queries) -> Iterator[str]:
    """Write which filters are one to those that have them."""
    asked: dict[object, list[str]] = {}
    for source, told, one in _list_owned(queries):
        if one.definition is not None:
            asked.setdefault((source, one.definition), []).append(told)
    return (f"  {', '.join(names)}" for names in asked.values() if len(names) > 1)


def _list_apart(queries: Queries) -> Iterator[str]:
    """Write what each query has for itself, though it reads what others do."""
    if len(queries.members) > 1:
        yield "  each query has a router, a policy and indexes of its own, and goes by the watermark of its own streams"
    texts: dict[tuple[str, str], list[str]] = {}
    called: dict[tuple[str, str], dict[object, str]] = {}
    for source, told, one in _list_owned(queries):
        if one.where is not None:
            texts.setdefault((source, one.where), []).append(told)
        elif one.definition is not None:
            called.setdefault((source, one.name), {}).setdefault(one.definition, told)
    for names in (names for names in texts.values() if len(names) > 1):
        yield f"  filters {', '.join(names)}: SQL costs less to ask again than to look up"
    for found in (found for found in called.values() if len(found) > 1):
        yield f"  functions {', '.join(found.values())}: they are other objects, or have other columns or keys"
