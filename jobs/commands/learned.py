"""eddy learned: carry what a job without state has learned to another one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eddy.engine.snapshot import Snapshot, unpack
from eddy.engine.snapshot_file import read_file, replace_file
from eddy.errors import CheckpointError, QueryError, read_message
from eddy.jobs.commands.command import Command, add_job_arguments, check_job
from eddy.jobs.run.checking import Checked, divide_filters, find_remembered
from eddy.observe.statistics import Statistic
from eddy.observe.text import align_columns
from eddy.query import fingerprint
from eddy.query.binding import bind
from eddy.wiring import policy_name

EXPORT, IMPORT = "export", "import"


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("way", choices=(EXPORT, IMPORT), help="out of the job's engine.remember, or into it")
    add_job_arguments(parser)
    parser.add_argument("file", help="the file that is carried")
    parser.add_argument("--replace", action="store_true", help="write over what is there")


def run(chosen: Namespace) -> int:
    """Copy a file that is whole, and of this job's query."""
    checked = check_job(chosen)
    place = find_remembered(checked.job)
    if place is None:
        raise QueryError(f'config "{chosen.conf}": engine.remember: expected a file, got none; add it')
    kept, carried = Path(place), Path(chosen.file)
    source, target = (kept, carried) if chosen.way == EXPORT else (carried, kept)
    snapshot, meta = _read(source)
    _check_query(checked, meta, source)
    if target.exists() and not chosen.replace:
        raise QueryError(f'learned: "{target}" is there already; say --replace to write over it')
    try:
        replace_file(target, snapshot)
    except OSError as error:
        raise QueryError(f'learned: "{target}" cannot be written: {read_message(error)}') from None
    print("\n".join(describe(meta, policy_name(checked.job.policy))))
    print(f'written to "{target}"')
    return 0


def _read(file: Path) -> tuple[Snapshot, Mapping[str, Any]]:
    """Read a file, and what it says of itself; its checksums say whether it is whole."""
    try:
        found = read_file(file)
        if found is None:
            raise QueryError(f'learned: there is no file "{file}"')
        meta, _ = unpack(found)
        return found, {name: meta[name] for name in ("query", "policy", "statistics", "came")}
    except CheckpointError as error:
        raise CheckpointError(f'learned: "{file}": {str(error).removeprefix("file: ")}') from None
    except (KeyError, TypeError) as error:
        raise CheckpointError(f'learned: "{file}": it lacks {error}, so it is none of ours') from None


def _check_query(checked: Checked, meta: Mapping[str, Any], file: Path) -> None:
    """Refuse what was learned of another query; types of columns are left out, since only Spark knows them."""
    if checked.binding is None:
        raise QueryError(
            "learned: the columns of this job are known only when Spark reads it, so nobody can tell whether the file "
            "fits; give its sources a schema, or copy the file: a start refuses one that does not fit"
        )
    _, left = divide_filters(checked, checked.binding)
    wanted = fingerprint.of(bind(left, checked.schemas))
    saved, needed = (
        {name: text for name, text in parts.items() if ": column " not in name} for parts in (meta["query"], wanted)
    )
    try:
        fingerprint.check_same(saved, needed)
    except CheckpointError as error:
        told = str(error).replace("the checkpoint has", "the file has").partition("; go back")[0]
        raise CheckpointError(f'learned: "{file}": {told.removeprefix("checkpoint: ")}') from None


def describe(meta: Mapping[str, Any], wanted: str) -> Iterator[str]:
    """Say what was learned: of how many rows, by whom, and what each operator lets pass."""
    rows = sum(count.get("rows", 0) for count in meta["came"].values())
    yield f"learned of {rows:,} rows, by the policy {meta['policy']}"
    if meta["policy"] != wanted:
        yield f"the job has {wanted}, which begins anew, but for what operators cost and let pass"
    lines = [["operator", "lets pass"]]
    lines += [[operator, f"{Statistic(*counts).rate:.3f}"] for operator, _, *counts in meta["statistics"]]
    yield from align_columns(lines, "<>")


COMMAND = Command(arguments=arguments, run=run)
