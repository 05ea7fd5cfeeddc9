"""Says what queries that are answered together share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from eddy.errors import quote
from eddy.query.together.queries import Queries


def list_shared(queries: Queries) -> Iterator[str]:
    """Write which queries read each source and table, and which functions are asked once for several."""
    for source, streams in queries.sources.items():
        readers = dict.fromkeys(owner for owner, _ in streams if owner)
        told = f"stored once, for {quote(readers)}" if readers else "not stored, since no query has it"
        yield f'stream "{source}": read once, and {told}'
    for name in queries.tables:
        readers = dict.fromkeys(query.name for query in queries.members if name in {one.name for one in query.tables})
        yield f'table "{name}": read once, for {quote(readers)}'
    for names, owners in _find_alike(queries):
        yield f"{quote(names)}: asked once about each row, for {quote(owners)}"


def _find_alike(queries: Queries) -> Iterator[tuple[list[str], list[str]]]:
    """Find functions that are filters of several queries over the same rows; gives names of filters and of queries."""
    found: dict[Hashable, dict[str, str]] = {}
    for query in queries.members:
        origins = {stream.name: stream.origin for stream in query.streams}
        for f in query.filters:
            if f.definition is not None and f.on[0] in origins:
                found.setdefault((origins[f.on[0]], f.definition), {})[query.name] = f.name
    for asked in found.values():
        if len(asked) > 1:
            yield list(dict.fromkeys(asked.values())), list(asked)
