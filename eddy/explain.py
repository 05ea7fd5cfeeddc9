"""What a run has learned, for people to read."""

from __future__ import annotations

from typing import Protocol

import pandas as pd

from eddy.report import Report

MOST = 12
"""Routes that are shown for each stream: the rest is a tail that nobody reads."""


class Reported(Protocol):
    """A run, or anything else that has a report."""

    @property
    def report(self) -> Report:
        """What it did."""


def explain(run: Reported) -> str:
    """Say which class took which route, what told the classes apart, and what every operator did.

    >>> import pyarrow as pa
    >>> from eddy import Filter, Query, Stream, run_local
    >>> query = Query(streams=[Stream("a", time="ts")], filters=[Filter("big", on="a", where="v > 1")])
    >>> print(explain(run_local(query, {"a": pa.table({"ts": [1, 2], "v": [1, 2]})})).splitlines()[0])
    1 micro-batches, 2 rows, 1 results, 2 routing calls
    """
    report = run.report
    batches = report.batches()
    head = (
        f"{len(batches):,} micro-batches, {batches['rows'].sum():,} rows, {batches['results'].sum():,} results, "
        f"{batches['routing_calls'].sum():,} routing calls"
    )
    parts = [head, *_routes(report.routes()), *_classifiers(report.learning())]
    return "\n".join([*parts, "", "operators", _indented(report.operators().drop(columns="seconds").round(3))])


def _routes(routes: pd.DataFrame) -> list[str]:
    lines = []
    for stream, part in routes.groupby("stream"):
        lines += ["", f'routes of the rows of "{stream}"']
        for _, row in part.head(MOST).iterrows():
            lines.append(f"  {row['share']:6.1%}  {row['class'] or 'all alike':<24}  {row['route']}")
        if len(part) > MOST:
            lines.append(f"  {part['share'][MOST:].sum():6.1%}  in {len(part) - MOST} more")
    return lines


def _classifiers(learning: pd.DataFrame) -> list[str]:
    if learning.empty:
        return []
    lines = ["", "what told the classes apart"]
    for operator, part in learning.groupby("operator"):
        calls = part.groupby(["kind", "attribute"])["calls"].sum() / part["calls"].sum()
        shares = ", ".join(f"{share:.0%} {kind} {attribute}".strip() for (kind, attribute), share in calls.items())
        lines.append(f"  {operator}: {shares}; gain ratio {part['gain_ratio'].iloc[-1]:.3f}")
    return lines


def _indented(frame: pd.DataFrame) -> str:
    return "\n".join(f"  {line}" for line in frame.to_string(index=False).splitlines())
