"""eddy learned: carry what a job without state has learned to another one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eddy.engine.learned_sum import add_up
from eddy.engine.remembered import ENDING, list_files
from eddy.engine.snapshot import Snapshot, unpack
from eddy.engine.snapshot_file import describe_unread, read_file, replace_file
from eddy.errors import CheckpointError, QueryError, read_message
from eddy.jobs.commands.command import Command, add_job_arguments, check_job
from eddy.jobs.run.checking import Checked, divide_filters, find_remembered
from eddy.observe.statistics import Statistic
from eddy.observe.text import align_columns
from eddy.query import fingerprint
from eddy.wiring import policy_name

EXPORT, IMPORT = "export", "import"

IMPORTED = "imported"
"""What a file is called that was carried in."""

NEEDED = ("query", "policy", "statistics", "came")
"""What is read of a file here."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("way", choices=(EXPORT, IMPORT), help="out of the job's engine.remember, or into it")
    add_job_arguments(parser)
    parser.add_argument("file", help="the file that is carried")
    parser.add_argument("--replace", action="store_true", help="write over what is there")


def run(chosen: Namespace) -> int:
    """Carry what was learned of this job's query, if it is whole: its sum out, or one file in."""
    checked = check_job(chosen)
    place = find_remembered(checked.job)
    if place is None:
        raise QueryError(f'config "{chosen.conf}": engine.remember: expected a folder, got none; add it')
    kept, carried = Path(place), Path(chosen.file)
    if chosen.way == EXPORT:
        found, target, before = _read_all(checked, kept), carried, [carried] if carried.exists() else []
    else:
        found, target, before = [_read(checked, carried)], kept / f"{IMPORTED}{ENDING}", _list(kept)
    if before and not chosen.replace:
        what = carried if chosen.way == EXPORT else kept
        raise QueryError(f'learned: there is something in "{what}" already; say --replace to write over it')
    whole = add_up(found)
    try:
        replace_file(target, whole)
        for file in before:
            if file != target:
                file.unlink(missing_ok=True)
    except OSError as error:
        raise QueryError(f'learned: "{target}" cannot be written: {read_message(error)}') from None
    if len(found) > 1:
        print(f"added up of {len(found)} files; rows, orders and classes are those of the one with the most rows")
    print("\n".join(describe(unpack(whole)[0], policy_name(checked.job.policy))))
    print(f'written to "{target}"')
    return 0


def _list(folder: Path) -> list[Path]:
    try:
        return list_files(folder)
    except OSError as error:
        raise QueryError(f'learned: "{folder}" cannot be read: {read_message(error)}; expected a folder') from None


def _read_all(checked: Checked, folder: Path) -> list[Snapshot]:
    files = _list(folder)
    if not files:
        raise QueryError(f'learned: nothing has been left in "{folder}" yet')
    return [_read(checked, file) for file in files]


def _read(checked: Checked, file: Path) -> Snapshot:
    """Read a file; its checksums say whether it is whole, and it says of which query it is."""
    try:
        found = read_file(file)
        if found is None:
            raise QueryError(f'learned: there is no file "{file}"')
        meta, _ = unpack(found)
        _check_query(checked, {name: meta[name] for name in NEEDED}["query"])
    except CheckpointError as error:
        raise CheckpointError(
            f'learned: "{file}": {describe_unread(error)}; give a whole file, of a job with the same query'
        ) from None
    except (KeyError, TypeError) as error:
        raise CheckpointError(f'learned: "{file}": it lacks {error}, so it is none of ours') from None
    return found


def _check_query(checked: Checked, parts: Mapping[str, str]) -> None:
    """Refuse what was learned of another query; types of columns are left out, since only Spark knows them."""
    if checked.binding is None:
        raise QueryError(
            "learned: the columns of this job are known only when Spark reads it, so nobody can tell whether the file "
            "fits; give its sources a schema, or copy the file: a start refuses one that does not fit"
        )
    _, left = divide_filters(checked, checked.binding)
    wanted = fingerprint.of(left)
    saved, needed = (
        {name: text for name, text in given.items() if ": column " not in name} for given in (parts, wanted)
    )
    fingerprint.check_same(saved, needed)


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
