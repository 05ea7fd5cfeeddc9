"""What a query asks for, and what a run has learned, for people to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pandas as pd

from eddy.aligned import aligned
from eddy.described import described
from eddy.errors import QueryError
from eddy.naming import OTHERS
from eddy.plural import plural
from eddy.query import Query
from eddy.report import Report

CLASSES = 12
"""Classes that are shown of each stream, at most: the rest is a tail that nobody reads."""

LEAST = 0.01
"""Of a stream's rows: smaller classes say less than all of them together."""

ROUTES = 3
"""Routes that are shown of each class: the usual one, and those that were tried or taken before."""

DECISIONS = 8
"""Decisions that are shown of each stream: the latest."""

WIDE = 48
"""Characters of a class, a route or an access pattern: two of them and some numbers fit into a line."""

LONG, REASON = 110, 70
"""Characters of a line of a tree, and of the reason for a decision, which comes after its numbers."""

ALIKE = "all alike"
"""What a class is called that is not one: rows that the policy does not tell apart."""

BY = {"unclassified": "none", "profiling": "profiling"}
"""What calls went by that went by no attribute."""


class Reported(Protocol):
    """A run, or anything else that has a report."""

    @property
    def report(self) -> Report:
        """What it did."""


def explain(what: Query | Reported | Report) -> str:
    """Say what a query asks for; of a run, which class took which route, what told the classes apart, and what it cost.

    >>> import pyarrow as pa
    >>> from eddy import Filter, Query, Stream, run_local
    >>> query = Query(streams=[Stream("a", time="ts")], filters=[Filter("big", on="a", where="v > 1")])
    >>> print(explain(run_local(query, {"a": pa.table({"ts": [1, 2], "v": [1, 2]})})).rpartition("us")[0])
    1 micro-batch, 2 rows, 1 result, 2 routing calls (1.0 a row)
    <BLANKLINE>
    classes of "a" and their routes
      class      rows  route  of these
      all alike  100%  big        100%
    <BLANKLINE>
    operators
      operator  rows in  evaluated  rows out  rate
    """
    if isinstance(what, Query):
        return described(what)
    report = _report(what)
    batches = report.batches()
    rows, results, calls = (int(batches[name].sum()) for name in ("rows", "results", "routing_calls"))
    counted = (plural(len(batches), "micro-batch", "micro-batches"), plural(rows, "row"), plural(results, "result"))
    head = ", ".join([*counted, plural(calls, "routing call")])
    parts = [f"{head} ({calls / rows:.1f} a row)" if rows else head]
    for stream, part in report.routes().groupby("stream"):
        parts += ["", f'classes of "{stream}" and their routes', *classes(part)]
    parts += _decisions(report)
    parts += _classifiers(report.learning())
    return "\n".join([*parts, "", "operators", *_operators(report.operators())])


def _report(run: Reported | Report) -> Report:
    report = getattr(run, "report", run)
    if not isinstance(report, Report):
        raise QueryError(f"explain: expected a Query(...), a run or a Report, got {type(run).__name__}")
    return report


def classes(routes: pd.DataFrame) -> Iterator[str]:
    """The largest classes, each with its routes; what was counted together comes last."""
    sizes = routes.groupby("class")["share"].sum().sort_values(ascending=False, kind="stable")
    shown = [str(name) for name, share in sizes.items() if name != OTHERS and share >= LEAST][:CLASSES]
    rows = [["class", "rows", "route", "of these"]]
    for name in shown:
        rows += _routes(name or ALIKE, routes[routes["class"] == name])
    left = routes[~routes["class"].isin(shown)].groupby("route")["share"].sum()
    if len(left):
        rows += _routes(OTHERS, left.sort_values(ascending=False, kind="stable").reset_index())
    return aligned(rows, "<><>")


def _routes(name: str, routes: pd.DataFrame) -> Iterator[list[str]]:
    """A line for each of a class's largest routes, and one for the rest."""
    share = routes["share"].sum()
    within = routes["share"] / share
    for place, (route, part) in enumerate(zip(routes["route"][:ROUTES], within[:ROUTES], strict=True)):
        yield [*(("", "") if place else (_cut(name), _percent(share))), _cut(route), _percent(part)]
    if len(routes) > ROUTES:
        yield ["", "", f"{len(routes) - ROUTES} more", _percent(within[ROUTES:].sum())]


def _decisions(report: Report) -> Iterator[str]:
    """For each stream what was decided last, and when and why decisions were made."""
    for stream, part in report.decisions().groupby("stream"):
        yield from ("", f'who takes which way of "{stream}", as decided last')
        yield from (f"  {_cut(line, LONG)}" for line in part["tree"].iloc[-1].splitlines())
        rows = [["micro-batch", "ways", "predicted", "observed", "decided because"]]
        rows += [
            [
                f"{row.batch}",
                f"{row.ways}",
                f"{row.predicted:.3g}",
                f"{row.observed:.3g}",
                _cut(str(row.reason), REASON),
            ]
            for row in part.tail(DECISIONS).itertuples()
        ]
        yield from ("", f'decisions about "{stream}", and what a row costs', *aligned(rows, ">>>><"))


def _classifiers(learning: pd.DataFrame) -> list[str]:
    """For each operator the attributes that its calls went by, and the gain ratio that was measured last."""
    if learning.empty:
        return []
    rows = [["operator", "gain ratio", "its calls went by"]]
    for operator, part in learning.groupby("operator"):
        by = part["attribute"].where(part["kind"] == "classified", part["kind"].map(BY))
        shares = (part["calls"].groupby(by).sum() / part["calls"].sum()).sort_values(ascending=False, kind="stable")
        told = [f"{name} {_percent(share)}" for name, share in shares[: ROUTES + len(BY)].items()]
        rows.append([_cut(str(operator)), f"{part['gain_ratio'].iloc[-1]:.3f}", ", ".join(told)])
    return ["", "what told the classes apart", *aligned(rows, "<><")]


def _operators(frame: pd.DataFrame) -> Iterator[str]:
    rows = [["operator", "searched by", "rows in", "evaluated", "rows out", "rate", "us a row"]]
    columns = ["operator", "pattern", "rows_in", "evaluated", "rows_out", "rate", "microseconds"]
    for operator, pattern, *counts, rate, microseconds in frame[columns].itertuples(index=False, name=None):
        told = [f"{int(count):,}" for count in counts]
        rows.append([_cut(operator), _cut(pattern), *told, f"{rate:.3f}", f"{microseconds:.2f}"])
    if frame["pattern"].any():
        return aligned(rows, "<<>>>>>")
    return aligned([[name, *rest] for name, _, *rest in rows], "<>>>>>")


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 or not share else "<1%"


def _cut(text: str, most: int = WIDE) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
