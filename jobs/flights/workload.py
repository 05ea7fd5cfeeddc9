"""The flights of 2013 as a workload."""

from __future__ import annotations

import eddy
from eddy.errors import QueryError, unknown
from jobs.flights.load import MONTHS, part
from jobs.flights.queries import QUERIES
from jobs.workload import Workload


def flights(*, query: str = "risky", months: int = MONTHS, rows: int | None = None, seed: int = 0) -> Workload:
    """One of the queries, over the first months of the year or no more than so many rows of each stream of them.

    The data is what happened, so `seed` changes nothing here; the policies have their chance from it.

    >>> flights(query="described", rows=100).query.inputs
    ('departures', 'weather', 'planes', 'airlines')
    """
    del seed
    if not isinstance(query, str) or query not in QUERIES:
        raise unknown("query", str(query), QUERIES, where="workload flights")
    if not _is_count(months) or months > MONTHS:
        raise QueryError(f"workload flights: expected months to be a number from 1 to {MONTHS}, got {months!r}")
    if rows is not None and not _is_count(rows):
        raise QueryError(f"workload flights: expected rows to be a whole number of 1 or more, got {rows!r}")
    asked: eddy.Query = QUERIES[query]()
    data = part(months, rows)
    return Workload(
        name="flights",
        query=asked,
        data={name: data[name] for name in asked.inputs},
        facts={"query": query, "operators": len(asked.filters) + len(asked.inputs) - 1},
    )


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 1
