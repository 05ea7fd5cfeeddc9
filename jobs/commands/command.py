"""The parts that every command of `eddy` has."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from eddy.jobs.config.config import Job, load, read_job
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import Checked, check
from eddy.jobs.sources.known_columns import find_columns

OVER = "a profile of the file, [profile.NAME], that wins over the rest of it"
"""The help of `--profile`, in every command that takes a job."""

WINS = "a value that wins over the file, such as policy.name=fixed; may be given several times"
"""The help of `--set`, in every command that takes a job."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: its arguments, and what it does, which gives an exit code."""

    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def add_job_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that name a job."""
    parser.add_argument("conf", help="the job, a TOML file such as conf/quickstart.toml")
    add_choices(parser)


def add_choices(parser: ArgumentParser) -> None:
    """Add the arguments that win over a job's file."""
    parser.add_argument("--profile", metavar="NAME", help=OVER)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=WINS)


def job_of(chosen: Namespace) -> Job:
    """Read the job that arguments name."""
    return load(chosen.conf, map(from_command, chosen.set), chosen.profile, find_columns)


def check_job(chosen: Namespace) -> Checked:
    """Build the job that arguments name, and check its columns.

    Everything that is wrong with it is one error.
    """
    job = read_job(chosen.conf, map(from_command, chosen.set), chosen.profile, find_columns=find_columns)
    return check(job)
