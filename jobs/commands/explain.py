"""eddy explain: how a job will run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from eddy.errors import QueryError
from eddy.jobs.commands.command import Command, add_job_arguments, check_job
from eddy.jobs.config.config import Job
from eddy.jobs.config.file_paths import display_path, find_local
from eddy.jobs.run.checking import Checked, divide_filters, find_state
from eddy.jobs.run.checkpoints import Checkpoint, describe_learned, has_state, read
from eddy.jobs.run.skew import propose
from eddy.query import fingerprint
from eddy.query.cost import write_cost
from eddy.query.explain.describe import draw_plan, list_after, list_patterns, list_windows
from eddy.query.explain.together import list_shared
from eddy.query.filter import write_after
from eddy.query.fingerprint import COLUMN, FilterChange
from eddy.query.pushed_filter import SparkText
from eddy.query.state_need import KEPT, describe_state
from eddy.spark.before.pushdown import describe_pushed
from eddy.spark.layout.layout import check_layout


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_job_arguments(parser)
    parser.add_argument(
        "--checkpoint",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="say also what has been learned there; in the job's own when no folder is named (starts Spark)",
    )


def run(chosen: Namespace) -> int:
    """Print it."""
    found = check_job(chosen)
    print(text(found))
    if chosen.checkpoint is not None:
        print("\n".join(read_learned(found, chosen.checkpoint or found.job.checkpoint)))
    elif _has_learned(found.job.checkpoint):
        place = display_path(str(found.job.checkpoint))
        print(f'\nwhat it has learned: eddy explain {found.job.file} --checkpoint (reads "{place}")')
    return 0


def _has_learned(place: str | None) -> bool:
    """Tell whether there is a checkpoint on this machine."""
    folder = None if place is None else find_local(place)
    return folder is not None and has_state(folder)


def read_learned(checked: Checked, place: str | None) -> Iterator[str]:
    """Read what a checkpoint of this job has learned.

    A checkpoint of another job is refused.
    """
    if place is None:
        raise QueryError("--checkpoint: expected a folder, since the job names no checkpoint.location")
    found = read(place)
    title = f'learned in "{display_path(place)}"'
    if bool(found.members) != bool(checked.members):
        raise QueryError(
            f"--checkpoint: expected a checkpoint of {'several queries' if checked.members else 'one query'}, as the "
            f'job has, got that of {"several" if found.members else "one"} in "{display_path(place)}"'
        )
    if not found.members:
        yield from _read_one(checked, found, title)
        yield from propose(found)
    for name, one in checked.members.items():
        own = f'{title} of query "{name}"'
        if name in found.members:
            yield from _read_one(one, found.members[name], own)
        else:
            yield from ("", f"{own}: nothing yet; it begins with the next start, and sees no row that came before")


def _read_one(checked: Checked, found: Checkpoint, title: str) -> Iterator[str]:
    """Describe what was learned of one query, after what a restart would change."""
    if change := _check_same(checked, found):
        yield from ("", f"a restart of this job: {change.tell()}")
    yield from ("", title, *describe_learned(found.cells))


def _check_same(checked: Checked, found: Checkpoint) -> FilterChange:
    """Hold the checkpoint against the job, as a start would; gives the filters that are others.

    Columns are left out: only Spark knows their types.
    """
    if checked.binding is None or checked.layout is None:
        return FilterChange()
    pushed, left = divide_filters(checked, checked.binding)
    wanted = {**fingerprint.of(left), **describe_pushed(pushed)}
    saved, needed = ({p: t for p, t in parts.items() if COLUMN not in p} for parts in (found.query, wanted))
    change = fingerprint.check(saved, needed)
    check_layout(found.layout, checked.layout.describe())
    return change


def text(checked: Checked) -> str:
    """Explain how a job would run.

    It draws the query, and names access patterns, cells and copies, watermarks, and who evaluates which filter.
    """
    parts = list(_explain_all(checked) if checked.members else _explain(checked))
    return "\n".join([*parts, *(f"warning: {warning}" for warning in checked.warnings)])


def _explain_all(checked: Checked) -> Iterator[str]:
    """Explain queries that are answered together: what they share, and each of them."""
    yield from list_shared(checked.job.together)
    for one in checked.members.values():
        yield from ("", *_explain(one))


def _explain(checked: Checked) -> list[str]:
    """Explain one query of a job."""
    query = checked.job.query
    parts = [f'query "{query.name}", policy "{checked.job.policy["name"]}"']
    parts += ["", "plan", *draw_plan(query, dict.fromkeys(_find_pushed(checked), ", by Spark"), checked.job.statement)]
    parts += ["", "access patterns: what each input is searched by", *list_patterns(query)]
    parts += _list_index(checked.job)
    state = find_state(checked.job)
    parts += ["", "state", f"  {describe_state(query, state)}"]
    if checked.job.is_batch:
        parts.append("  one pass over the rows that are there, and no checkpoint")
    if checked.job.rejected:
        parts += ["", "put aside", f"  rows that filters have no answer for, to {checked.job.rejected['format']}"]
    layout = checked.layout.text() if checked.layout else "known only when Spark has read the columns"
    parts += ["", "cells", *(f"  {line}" for line in layout.splitlines())] if state == KEPT else []
    parts += ["", "windows and watermarks", *list_windows(query), "", "filters", *_filters(checked)]
    return [*parts, *list_after(checked.job.after)]


def _list_index(job: Job) -> list[str]:
    """Write how rows are found, with what was given of it; nothing where nothing is joined."""
    if not job.query.predicates:
        return []
    given = ", ".join(f"{name} = {value}" for name, value in (job.index or {}).items() if name != "kind")
    return ["", f"indexes: {job.values['index']['kind']}{f' ({given})' if given else ''}"]


def _find_pushed(checked: Checked) -> list[str]:
    return [f.name for f in divide_filters(checked, checked.binding)[0]] if checked.binding else []


def _filters(checked: Checked) -> Iterator[str]:
    pushed = _find_pushed(checked)
    for f in (checked.binding or checked.job).query.filters:
        who = "Spark, in compiled code, before the eddy" if f.name in pushed else "the eddy, in the order it learns"
        if isinstance(f.predicate, SparkText) and f.name not in pushed:
            who = "Spark, as a column over which the eddy routes"
        told = f"{f.name} on {', '.join(f.on)}{write_after(f)}{write_cost(f)}"
        yield f"  {told}: {f.where or 'a Python function'}; by {who}"
    if not checked.job.query.filters:
        yield "  none"


COMMAND = Command(arguments=arguments, run=run)
