"""eddy: what people type."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence

from eddy import __version__
from eddy.errors import EddyError
from eddy.jobs.commands.command import Command

FAILED, INTERRUPTED, UNREAD = 2, 130, 141

COMMANDS = {
    "run": "eddy.jobs.commands.run",
    "validate": "eddy.jobs.commands.validate",
    "explain": "eddy.jobs.commands.explain",
    "compare": "eddy.jobs.commands.compare",
    "doctor": "eddy.jobs.commands.doctor",
    "inspect": "eddy.jobs.commands.inspect",
    "demo": "eddy.jobs.commands.demo",
}
"""Every command and its module; a new one is its file and one line here."""

CODES = (
    "Exit codes: 0 all is well; 1 what was looked at is wrong (doctor, demo); 2 the job or the arguments are wrong, or "
    "Spark failed; 130 stopped by Ctrl-C before the end, except a job between two micro-batches: that is 0. "
    "eddy COMMAND --help says more."
)
"""The exit codes that scripts may rely on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name."""
    commands = {name: command(module) for name, module in COMMANDS.items()}
    name, chosen = _choose(commands, list(sys.argv[1:] if arguments is None else arguments))
    try:
        done = commands[name].run(chosen)
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


def _choose(commands: Mapping[str, Command], given: list[str]) -> tuple[str, argparse.Namespace]:
    """Choose the command that is asked for, and its arguments."""
    if given and given[0] in commands and commands[given[0]].forwards:
        return given[0], argparse.Namespace(rest=given[1:])
    parser = argparse.ArgumentParser(
        prog="eddy", description="Adaptive routing for Spark Structured Streaming.", epilog=CODES
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    known = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, one in commands.items():
        one.arguments(known.add_parser(name, help=one.text, description=one.text))
    if not given:
        parser.print_help(sys.stderr)
        parser.exit(FAILED)
    end = given.index("--") if "--" in given else len(given)
    chosen = parser.parse_args(given[:end])
    chosen.spark = given[end + 1 :]
    if chosen.spark and chosen.command != "run":
        parser.error("only run takes arguments for spark-submit")
    return chosen.command, chosen


def command(module: str) -> Command:
    """Give the command of a module."""
    found: Command = importlib.import_module(module).COMMAND
    return found


if __name__ == "__main__":
    sys.exit(main())
