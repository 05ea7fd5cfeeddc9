"""eddy explain: how a job will run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace

from eddy import fingerprint
from eddy.binding import bind
from eddy.errors import QueryError
from eddy.named import local
from eddy.query import Filter, Query
from eddy.spark.layout import check_layout
from eddy.spark.pushdown import alike, described
from eddy.window import Range, Rows, Window
from jobs.checking import Checked, check
from jobs.checkpoints import Checkpoint, has_state, read
from jobs.commands.command import Command, job_of, takes_job
from jobs.learned import learned


def arguments(parser: ArgumentParser) -> None:
    """What it takes."""
    takes_job(parser)
    parser.add_argument(
        "--checkpoint",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="say also what has been learned there; in the job's own when no folder is named (starts Spark)",
    )


def run(chosen: Namespace) -> int:
    """Print it."""
    checked = check(job_of(chosen))
    print(text(checked))
    if chosen.checkpoint is not None:
        print("\n".join(known(checked, chosen.checkpoint or checked.job.checkpoint)))
    elif _has_learned(checked.job.checkpoint):
        print(f'\nwhat it has learned: eddy explain {checked.job.file} --checkpoint (reads "{checked.job.checkpoint}")')
    return 0


def _has_learned(place: str | None) -> bool:
    """Is there a checkpoint on this machine already."""
    folder = None if place is None else local(place)
    return folder is not None and has_state(folder)


def known(checked: Checked, place: str | None) -> Iterator[str]:
    """What a checkpoint of this job has learned; one of another job is refused."""
    if place is None:
        raise QueryError("--checkpoint: expected a folder, since the job names no checkpoint.location")
    found = read(place)
    _check_same(checked, found)
    yield from ("", f'learned in "{place}"', *learned(found.cells))


def _check_same(checked: Checked, found: Checkpoint) -> None:
    """Hold the checkpoint against the job, as a start would; without the columns, whose types only Spark knows."""
    if checked.binding is None or checked.layout is None:
        return
    pushed, query = _pushed(checked), checked.binding.query
    left = replace(query, filters=[f for f in query.filters if f not in pushed])
    wanted = {**fingerprint.of(bind(left, checked.schemas)), **described(pushed)}
    fingerprint.check(*({p: t for p, t in parts.items() if ": column " not in p} for parts in (found.query, wanted)))
    check_layout(found.layout, checked.layout.describe())


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
        yield f'  {stream.name}: by "{stream.time}", {_window(stream.window)}, {delay}'
    if all(stream.delay is not None for stream in query.streams):
        yield "  the watermark is that of the slowest stream; later rows are dropped and counted"
    else:
        yield "  there is no watermark, since not every stream has a delay: no row is late, and none is forgotten"


def _window(window: Window) -> str:
    """A window in the words of the file."""
    if isinstance(window, Range):
        return f'window "{window.length}"'
    return f"the newest {window.count:,} rows" if isinstance(window, Rows) else "no window"


def _filters(checked: Checked) -> Iterator[str]:
    pushed = [f.name for f in _pushed(checked)]
    for f in checked.job.query.filters:
        who = "Spark, in compiled code, before the eddy" if f.name in pushed else "the eddy, in the order it learns"
        yield f"  {f.name} on {', '.join(f.on)}: {f.where or 'a Python function'}; by {who}"
    if not checked.job.query.filters:
        yield "  none"


def _pushed(checked: Checked) -> list[Filter]:
    """Those that Spark will evaluate, unless the policy speaks of them."""
    job = checked.job
    if not job.engine["pushdown"] or checked.binding is None:
        return []
    ansi = job.spark.get("spark.sql.ansi.enabled", "true") == "true"
    zone = job.spark.get("spark.sql.session.timeZone", "UTC")
    spoken = {text for value in job.policy.values() for text in (value if isinstance(value, list) else [value])}
    return [f for f in alike(checked.binding.query, checked.schemas, ansi=ansi, zone=zone) if f.name not in spoken]


COMMAND = Command(text="say how a job will run: joins, cells, copies, watermarks", arguments=arguments, run=run)
