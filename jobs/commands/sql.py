"""eddy sql: what a statement over a job's inputs would do, and its first rows."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from eddy.errors import QueryError
from eddy.jobs.commands import explain
from eddy.jobs.commands.command import Command, add_job_arguments
from eddy.jobs.comparison.job_comparison import read_sample
from eddy.jobs.config.config import read_job
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import Checked, check
from eddy.jobs.sources.known_columns import find_columns
from eddy.local import run_local
from eddy.observe.text import plural

SHOWN = 20
"""Rows that are printed."""

END = ";"
"""What a line ends with behind which another statement begins."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_job_arguments(parser)
    parser.add_argument(
        "statement",
        nargs="?",
        help='the statement, over the streams, tables and functions of the job; "" or none reads statements from the '
        f"standard input, each up to a line that ends with {END}",
    )
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help=f"answer it over N rows of each stream, and print the first {SHOWN} (some sources need Spark for it)",
    )


def run(chosen: Namespace) -> int:
    """Print the plan of each statement, and its first rows where they are asked for."""
    if chosen.sample is not None and chosen.sample < 1:
        raise QueryError(f"--sample: expected a whole number of 1 or more, got {chosen.sample}")
    given = [chosen.statement] if chosen.statement else [*split(sys.stdin.read())]
    if not given:
        raise QueryError('eddy sql: expected a statement such as "SELECT * FROM STREAM clicks", got none')
    for text in given:
        overrides = map(from_command, chosen.set)
        job = read_job(chosen.conf, overrides, chosen.profile, statement=text, find_columns=find_columns)
        checked = check(job)
        job.mistakes.check()
        print(explain.text(checked), end="\n\n")
        if chosen.sample is not None:
            print("\n".join(_show_rows(checked, chosen.sample)), end="\n\n")
    return 0


def split(text: str) -> Iterator[str]:
    """Split a text into statements.

    >>> list(split("SELECT 1;" + chr(10) + "SELECT 2"))
    ['SELECT 1', 'SELECT 2']
    """
    lines: list[str] = []
    for line in [*text.splitlines(), END]:
        ended = line.rstrip().endswith(END)
        lines.append(line.rstrip().removesuffix(END) if ended else line)
        if ended:
            statement = "\n".join(lines).strip()
            lines = []
            if statement:
                yield statement


def _show_rows(checked: Checked, rows: int) -> Iterator[str]:
    """Write the first rows of the answer over a sample."""
    job = checked.job
    data = read_sample(job, checked, rows)
    run = run_local(job.query, data, policy=job.policy, index=job.index)
    told = ", ".join(f"{plural(table.num_rows, 'row')} of {name}" for name, table in data.items())
    found = run.results.num_rows
    yield f"{plural(found, 'result')} over a sample of {told}{f'; the first {SHOWN}' if found > SHOWN else ''}:"
    if found and job.after is not None:
        yield "the eddy's rows, as they are before Spark computes and groups them:"
    if found:
        yield run.results.slice(0, SHOWN).to_pandas().to_string(index=False)


COMMAND = Command(arguments=arguments, run=run)
