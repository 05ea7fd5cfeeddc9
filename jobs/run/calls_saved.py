"""The savings that a job tells when it ends.

Only what is known exactly is told, and no guesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import eddy
from eddy.observe.counters import Counters
from eddy.observe.regret import sum_over_batches, tell_adapting

FEWEST_FILTERS = 2
"""Filters in Python on one stream: with one there is nothing to save."""


def tell_savings(queries: Sequence[eddy.Query], report: eddy.Report) -> Iterator[str]:
    """Tell what a job has saved, and last what adapting has cost it; of several queries each tells its own."""
    for query in queries:
        own = report[query.name] if isinstance(report, eddy.ReportTogether) and query.name in report.members else report
        before = f'query "{query.name}": ' if len(queries) > 1 else ""
        yield from (f"{before}{line}" for line in tell_saved_calls(query, own))
    if isinstance(report, eddy.ReportTogether):
        yield from _tell_shared(report)
    if adapting := tell_adapting(sum_over_batches(report.counters), report.write_cost):
        yield adapting


def _tell_shared(report: eddy.ReportTogether) -> Iterator[str]:
    """Tell of rows about which a function was not asked again, since another query, or its cache, had the answer."""
    reused = {name: int(rows) for name, rows in report.queries().set_index("query")["reused"].items() if rows}
    if reused:
        listed = ", ".join(f"{name} {rows:,}" for name, rows in reused.items())
        yield f"answers of functions that were known already, and were not asked for again: {listed}"


def tell_saved_calls(query: eddy.Query, report: eddy.Report) -> Iterator[str]:
    """Tell each stream's filter calls and its main route.

    For streams with several filters in Python.

    Spark by itself has every such filter look at every row. What the written order would have cost is not said:
    what a filter would have made of rows that it has not seen, nobody knows.
    """
    looked = report.operators().groupby("operator")["evaluated"].sum().to_dict()
    streams = report.streams().groupby("stream")["rows"].sum().to_dict()
    for stream in (stream.name for stream in query.streams):
        names = [f.name for f in query.filters if f.on == (stream,) and f.where is None]
        rows = int(streams.get(stream, 0))
        if len(names) < FEWEST_FILTERS or not rows:
            continue
        yield _tell_calls(stream, rows, {name: int(looked.get(name, 0)) for name in names})
        yield from _tell_moved(stream, report.counters)


def main_route(counters: Sequence[Counters], stream: str | None = None) -> tuple[str, float]:
    """The route of most rows and their share; "" without rows.

    It is of one stream or of all.
    """
    routes = eddy.Report(counters).routes()
    if stream is not None:
        routes = routes[routes["stream"] == stream]
    if routes.empty:
        return "", 0.0
    tuples = routes.groupby("route")["tuples"].sum().sort_values(ascending=False, kind="stable")
    return str(tuples.index[0]), float(tuples.iloc[0] / tuples.sum())


def _tell_calls(stream: str, rows: int, counts: dict[str, int]) -> str:
    """Count filter calls, beside those that Spark would make."""
    every, done = rows * len(counts), sum(counts.values())
    share = 1 - done / every
    listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    saving = f"{share:.0%} fewer" if share >= 0 else f"{-share:.0%} more"
    return (
        f'{len(counts)} Python filters on "{stream}" looked at {done:,} rows: {listed}; '
        f"Spark alone has each look at all {rows:,}, which is {every:,}: {saving}"
    )


def _tell_moved(stream: str, counters: Sequence[Counters]) -> Iterator[str]:
    """Say when most rows changed their way.

    The second half of the micro-batches is held against the first.
    """
    half = len(counters) // 2
    (before, _), (after, _) = main_route(counters[:half], stream), main_route(counters[half:], stream)
    if before and before != after:
        yield f'most rows of "{stream}" went {before} in the first half of the micro-batches, {after} in the second'
