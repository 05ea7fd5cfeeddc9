"""eddy run: hand a job to spark-submit."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from eddy.errors import QueryError
from jobs.commands.command import Command, takes_job

LEVEL = "spark.log.level"
"""At the level that Spark begins with, what it says of itself is a screenful."""


def arguments(parser: ArgumentParser) -> None:
    """What it takes."""
    takes_job(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress, and no warnings of Spark")
    parser.epilog = "Arguments for spark-submit come last, after --: eddy run job.toml -- --master 'local[4]'"


def run(chosen: Namespace) -> int:
    """Become spark-submit."""
    live = sys.stdout.isatty() and not chosen.quiet
    command = submission(chosen.conf, chosen.set, chosen.spark, quiet=chosen.quiet, live=live)
    sys.stdout.flush()
    os.execve(command[0], command, environment(os.environ))


def submission(conf: str, sets: Sequence[str], spark: Sequence[str], *, quiet: bool, live: bool = False) -> list[str]:
    """The command line of spark-submit; it hides the terminal from the job, so the job is told that there is one."""
    level = f"{LEVEL}={'ERROR' if quiet else 'WARN'}"
    quieter = [] if any(one.startswith(LEVEL) for one in spark) else ["--conf", level]
    job = Path(__file__).resolve().parent.parent / "run_stream.py"
    told = [word for one in sets for word in ("--set", one)]
    shown = [*(["--quiet"] if quiet else []), *(["--live"] if live else [])]
    return [spark_submit(), *quieter, *spark, str(job), conf, *told, *shown]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment, with our Python for Spark unless somebody says otherwise, and the width of the terminal."""
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return {**python, "COLUMNS": str(shutil.get_terminal_size().columns), **given}


def spark_submit() -> str:
    """That of SPARK_HOME, or of the pyspark that is installed beside us, or the first on the path."""
    spec = find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME", "")]
    homes += [str(Path(spec.origin).parent)] if spec and spec.origin else []
    for home in filter(None, homes):
        found = Path(home) / "bin" / "spark-submit"
        if found.exists():
            return str(found)
    found_on_path = shutil.which("spark-submit")
    if found_on_path is None:
        raise QueryError("spark-submit: not found; install pyspark, or set SPARK_HOME to where Spark is")
    return found_on_path


COMMAND = Command(text="run a job with spark-submit", arguments=arguments, run=run)
