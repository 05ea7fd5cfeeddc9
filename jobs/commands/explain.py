"""eddy explain: how a job will run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from eddy.config import Job
from eddy.query import Query
from eddy.spark.pushdown import alike
from jobs.checking import Checked, check
from jobs.commands.command import Command, job_of, takes_job


def run(chosen: Namespace) -> int:
    """Print it."""
    print(text(check(job_of(chosen))))
    return 0


def text(checked: Checked) -> str:
    """Joins, access patterns, cells and copies, watermarks, and who evaluates which filter."""
    query = checked.job.query
    parts = [f'query "{query.name}", policy "{checked.job.policy["name"]}"']
    parts += ["", "joins", *_joins(query), "", "access patterns: what each input is searched by", *_patterns(query)]
    layout = checked.layout.text() if checked.layout else "known only when Spark has read the columns"
    parts += ["", "cells", *(f"  {line}" for line in layout.splitlines())]
    parts += ["", "windows and watermarks", *_windows(query), "", "filters", *_filters(checked)]
    return "\n".join([*parts, *(f"warning: {warning}" for warning in checked.warnings)])


def _joins(query: Query) -> Iterator[str]:
    for predicate in query.predicates:
        yield f"  {' -- '.join(sorted(predicate.inputs))}: {predicate.text}"
    if not query.predicates:
        yield "  none"


def _patterns(query: Query) -> Iterator[str]:
    """For each input the columns that equalities with others compare; nobody searches the rows of a single one."""
    if len(query.inputs) == 1:
        yield "  none: rows of one stream are filtered as they come, and not kept"
        return
    found: dict[str, dict[str, str]] = {name: {} for name in query.inputs}
    for predicate in query.predicates:
        compared = predicate.comparison()
        if compared is not None and compared.op == "=":
            for side, other in ((compared.left, compared.right), (compared.right, compared.left)):
                if len(side.inputs) == 1:
                    found[next(iter(side.inputs))][" and ".join(sorted(other.inputs))] = side.text
    for name, others in found.items():
        told = [f"{column} (from {other})" for other, column in others.items()]
        yield f"  {name}: {', '.join(told) or 'no equality; all rows in the window are looked at'}"


def _windows(query: Query) -> Iterator[str]:
    for stream in query.streams:
        delay = f'rows up to "{stream.delay}" late' if stream.delay is not None else "no delay"
        yield f'  {stream.name}: by "{stream.time}", {stream.window}, {delay}'
    if all(stream.delay is not None for stream in query.streams):
        yield "  the watermark is that of the slowest stream; later rows are dropped and counted"
    else:
        yield "  there is no watermark, since not every stream has a delay: no row is late, and none is forgotten"


def _filters(checked: Checked) -> Iterator[str]:
    pushed = _pushed(checked.job, checked)
    for f in checked.job.query.filters:
        who = "Spark, in compiled code, before the eddy" if f.name in pushed else "the eddy, in the order it learns"
        yield f"  {f.name} on {', '.join(f.on)}: {f.where or 'a Python function'}; by {who}"
    if not checked.job.query.filters:
        yield "  none"


def _pushed(job: Job, checked: Checked) -> set[str]:
    """Those that Spark will evaluate, unless the policy speaks of them."""
    if not job.engine["pushdown"] or checked.binding is None:
        return set()
    ansi = job.spark.get("spark.sql.ansi.enabled", "true") == "true"
    zone = job.spark.get("spark.sql.session.timeZone", "UTC")
    spoken = {text for value in job.policy.values() for text in (value if isinstance(value, list) else [value])}
    return {f.name for f in alike(job.query, checked.schemas, ansi=ansi, zone=zone) if f.name not in spoken}


COMMAND = Command(text="say how a job will run: joins, cells, copies, watermarks", arguments=takes_job, run=run)
