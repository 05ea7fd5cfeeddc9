"""eddy: what people type."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from eddy.errors import EddyError
from jobs.commands.command import Command

FAILED = 2

COMMANDS = {
    "run": "jobs.commands.run",
    "validate": "jobs.commands.validate",
    "explain": "jobs.commands.explain",
    "doctor": "jobs.commands.doctor",
    "inspect": "jobs.commands.inspect",
    "demo": "jobs.commands.demo",
}
"""Every command and its module; a new one is its file and one line here."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    parser = argparse.ArgumentParser(prog="eddy", description="Adaptive routing for Spark Structured Streaming.")
    known = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands = {name: command(module) for name, module in COMMANDS.items()}
    for name, one in commands.items():
        one.arguments(known.add_parser(name, help=one.text, description=one.text))
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    chosen = parser.parse_args(given[:end])
    chosen.spark = given[end + 1 :]
    if chosen.spark and chosen.command != "run":
        parser.error("only run takes arguments for spark-submit")
    try:
        return commands[chosen.command].run(chosen)
    except EddyError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED


def command(module: str) -> Command:
    """The command of a module."""
    found: Command = importlib.import_module(module).COMMAND
    return found


if __name__ == "__main__":
    sys.exit(main())
