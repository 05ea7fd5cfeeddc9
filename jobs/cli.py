"""eddy: what people type."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from eddy import __version__
from eddy.errors import EddyError

if TYPE_CHECKING:
    from eddy.jobs.commands.command import Command

FAILED, INTERRUPTED, UNREAD = 2, 130, 141

COMMANDS = {
    "init": "make a project: a job, its filters, a test of them",
    "run": "run a job with spark-submit",
    "validate": "check a job without starting Spark",
    "explain": "say how a job will run: joins, cells, copies, watermarks",
    "sql": "say what a statement over a job's inputs would do, and show its first rows",
    "compare": "compare policies on a sample of a job's rows, or as an experiment says",
    "doctor": "check whether jobs can run here, and say what to do",
    "inspect": "say what a checkpoint holds (starts Spark)",
    "repartition": "divide the state of a checkpoint into other partitions of Spark (starts Spark)",
    "learned": "carry what a job without state has learned to another one",
    "schema": "print the JSON Schema of a job's file, by which editors complete and check it",
    "completion": "print what a shell needs to complete commands: eddy completion bash|zsh|fish",
    "demo": "watch policies follow a stream that changes (a minute, on Spark)",
}
"""Every command and what it is for; a new one is its file, of the same name, and one line here."""

FOR_SPARK = ("run", "compare")
"""Commands that take arguments for spark-submit, behind --."""

CODES = (
    "Exit codes: 0 all is well; 1 what was looked at is wrong (doctor, demo); 2 the job or the arguments are wrong, or "
    "Spark failed; 130 stopped by Ctrl-C before the end, except a job between two micro-batches: that is 0. "
    "eddy COMMAND --help says more."
)
"""The exit codes that scripts may rely on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name."""
    name, chosen = _choose(list(sys.argv[1:] if arguments is None else arguments))
    try:
        done = command(name).run(chosen)
        sys.stdout.flush()
        return done
    except EddyError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read has enough, as `| head` does; what is still to be written at the end would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD


def _choose(given: list[str]) -> tuple[str, argparse.Namespace]:
    """Choose the command that is asked for, and its arguments.

    No other one is imported.
    """
    asked = given[0] if given and given[0] in COMMANDS else None
    parser = make_parser([asked] if asked else [])
    if not given:
        parser.print_help(sys.stderr)
        parser.exit(FAILED)
    end = given.index("--") if "--" in given else len(given)
    chosen = parser.parse_args(given[:end])
    chosen.spark, chosen.make_parser = given[end + 1 :], make_parser
    if chosen.spark and chosen.command not in FOR_SPARK:
        parser.error(f"only {' and '.join(FOR_SPARK)} take arguments for spark-submit")
    return chosen.command, chosen


def make_parser(asked: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Make the parser, with the arguments of some commands: all others are not imported."""
    parser = argparse.ArgumentParser(
        prog="eddy", description="Adaptive routing for Spark Structured Streaming.", epilog=CODES
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    known = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        one = known.add_parser(name, help=text, description=text)
        if name in asked:
            command(name).arguments(one)
    return parser


def command(name: str) -> Command:
    """Import a command."""
    found: Command = importlib.import_module(f"eddy.jobs.commands.{name}").COMMAND
    return found


if __name__ == "__main__":
    sys.exit(main())
