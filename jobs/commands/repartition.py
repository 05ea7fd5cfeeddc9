"""eddy repartition: another number of Spark's partitions for a checkpoint."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from eddy.errors import QueryError
from eddy.jobs.commands.command import Command
from eddy.jobs.config.file_paths import display_path, find_local
from eddy.jobs.run.checkpoints import has_state, read_in
from eddy.jobs.run.own_session import own_session

MOST_PARTITIONS = 100_000
"""Each is a task and files in every micro-batch; nobody wants more, and a slip is soon made."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("checkpoint", help="the folder that checkpoint.location names; its job must be stopped")
    parser.add_argument("partitions", type=_read_count, help="how many partitions its state is to have")
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        help="the folder that the job writes, if its sink is files: without it they could not be read afterwards",
    )


def run(chosen: Namespace) -> int:
    """Divide the state anew."""
    from eddy.jobs.run.repartitioning import repartition  # noqa: PLC0415

    place, output = (None if path is None else _find_whole(path) for path in (chosen.checkpoint, chosen.output))
    folder = find_local(str(place))
    if folder is not None and not has_state(folder):
        raise QueryError(f'checkpoint "{folder}": expected a folder with the state of a query in it; there is none')
    with own_session(os.cpu_count() or 1) as spark:
        cells = read_in(spark, str(place)).layout["cells"]
        done = repartition(spark, str(place), chosen.partitions, output)
    print(
        f'"{display_path(str(place))}": {done.before} partitions, now {chosen.partitions} (micro-batch {done.batch}). '
        f"{cells} cells as before, so {min(cells, chosen.partitions)} of them can be worked on at once"
    )
    if output is None:
        print("if the job writes files, say so now with the same command and --output FOLDER, before it starts again")
    return 0


def _find_whole(path: str) -> str:
    """Give a path as Spark finds it from anywhere."""
    local = find_local(path)
    return path if local is None else f"file://{os.path.abspath(local)}"


def _read_count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MOST_PARTITIONS:
        raise ArgumentTypeError(f'expected a whole number from 1 to {MOST_PARTITIONS:,}, got "{text}"')
    return int(text)


COMMAND = Command(arguments=arguments, run=run)
