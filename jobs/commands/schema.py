"""eddy schema: the JSON Schema of a job's file, for editors."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from eddy.jobs.commands.command import Command
from eddy.jobs.config.json_schema import make_schema


def arguments(parser: ArgumentParser) -> None:
    """Say how an editor finds it."""
    parser.epilog = (
        "eddy schema > eddy.schema.json; a job that begins with #:schema ./eddy.schema.json is checked by it"
    )


def run(_: Namespace) -> int:
    """Print it."""
    print(json.dumps(make_schema(), indent=2, ensure_ascii=False))
    return 0


COMMAND = Command(arguments=arguments, run=run)
