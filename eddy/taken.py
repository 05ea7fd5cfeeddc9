"""What is kept with the state for people: the routes taken last, and the rows that took no part.

Reports say it while a query runs; a checkpoint says it when nobody is running it. Nothing goes on from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.naming import OTHERS
from eddy.observe import BAD, VARIOUS, Counters

MOST = 32
"""Classes and their routes that are kept of each stream, the largest: a page, and few bytes beside the rows. The others
are one more."""


def taken(before: Mapping[str, Any], last: Counters) -> dict[str, Any]:
    """For each stream the routes of the last micro-batch in which it had rows, as plain values.

    `routes` are rows of a class, a route and how many tuples took it; `tree` are the lines by which a policy tells the
    classes apart.
    """
    found: dict[str, list[list[Any]]] = {}
    for (stream, key, route), tuples in sorted(last.routes.items(), key=lambda item: -item[1]):
        rows = found.setdefault(stream, [])
        if len(rows) < MOST:
            rows.append([last.classes.get((stream, key), key), list(route), tuples])
        elif len(rows) == MOST:
            rows.append([OTHERS, list(VARIOUS), tuples])
        else:
            rows[MOST][-1] += tuples
    new = {
        stream: {"batch": last.batch, "routes": rows, "tree": list(last.trees.get(stream, ()))}
        for stream, rows in found.items()
    }
    return {**before, **new}


def came(before: Mapping[str, Any], last: Counters) -> dict[str, Any]:
    """For each stream how many rows came since the state began, and how many of them were late, or bad in some way."""
    known = dict(before)
    for stream, count in last.streams.items():
        old = known.get(stream, {})
        known[stream] = {name: old.get(name, 0) + int(getattr(count, name)) for name in ("rows", "late", *BAD)}
    return known
