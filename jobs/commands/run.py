"""eddy run: hand a job to spark-submit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from eddy.errors import EddyError, QueryError
from eddy.jobs.commands.command import Command, add_job_arguments, check_job
from eddy.jobs.config.config import read_toml
from eddy.jobs.config.overrides import PREFIX, from_command
from eddy.jobs.run.log_lines import FORMATS, FORMATS_HELP, JSON, log_as_json, log_error
from eddy.requirements import find_rivals

TOLD = (0, 2, 130)
"""Exit codes of a job that has told by itself what there is to tell."""

KILLED = 128
"""A shell adds this to the number of a signal."""

STRUCTURED = "spark.log.structuredLogging.enabled"
"""With it Spark's own lines are JSON as well."""

LOG_LEVEL = "spark.log.level"
"""At the level that Spark begins with, what it says of itself is a screenful."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_job_arguments(parser)
    quiet = "the last line, after the answer if it goes to the console; no progress, and nothing else of Spark's"
    parser.add_argument("--quiet", action="store_true", help=quiet)
    parser.add_argument("--log-format", choices=FORMATS, default=FORMATS[0], help=FORMATS_HELP)
    parser.epilog = "Arguments for spark-submit come last, after --: eddy run job.toml -- --master 'local[4]'"


def run(chosen: Namespace) -> int:
    """Become spark-submit."""
    if chosen.log_format == JSON:
        log_as_json()
        try:
            check_first(chosen)
        except EddyError as error:
            log_error(str(error))
            return TOLD[1]
    else:
        check_first(chosen)
    live = sys.stdout.isatty() and not chosen.quiet and chosen.log_format == FORMATS[0]
    command = submission(
        chosen.conf,
        chosen.set,
        chosen.spark,
        profile=chosen.profile,
        quiet=chosen.quiet,
        live=live,
        log=chosen.log_format,
    )
    sys.stdout.flush()
    if not chosen.quiet:
        os.execve(command[0], command, environment(os.environ))
    return _quietly(command)


def check_first(chosen: Namespace) -> None:
    """Tell what is wrong with a job before Spark is started.

    What spark-submit is given besides may mend what looks wrong from here: settings of ours, modules of the user's.
    Then the job is left to tell it; only what no setting mends is told now.
    """
    if chosen.spark or PREFIX in _defaults():
        read_toml(chosen.conf)
        for text in chosen.set:
            from_command(text)
    else:
        check_job(chosen)


def _defaults() -> str:
    """Give the settings that spark-submit reads by itself."""
    home = Path(spark_submit()).parent.parent
    file = Path(os.environ.get("SPARK_CONF_DIR", home / "conf")) / "spark-defaults.conf"
    return file.read_text("utf-8", errors="replace") if file.is_file() else ""


def _quietly(command: Sequence[str]) -> int:
    """Run it without what the JVM says of itself.

    That is shown if it fails before the job can say anything.
    """
    with tempfile.TemporaryFile() as said:
        job = subprocess.Popen(command, env=environment(os.environ), stderr=said)
        signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches the job as well, which knows what to do
        signal.signal(signal.SIGTERM, lambda *_: job.terminate())
        code = job.wait()
        if code not in TOLD:
            said.seek(0)
            sys.stderr.write(said.read().decode("utf-8", errors="replace"))
    return code if code >= 0 else KILLED - code


def submission(
    conf: str,
    sets: Sequence[str],
    spark: Sequence[str],
    *,
    quiet: bool,
    live: bool = False,
    profile: str | None = None,
    log: str = FORMATS[0],
) -> list[str]:
    """Build the command line of spark-submit.

    It hides the terminal from the job, so the job is told that there is one.
    """
    level = f"{LOG_LEVEL}={'ERROR' if quiet else 'WARN'}"
    quieter = [] if any(one.startswith(LOG_LEVEL) for one in spark) else ["--conf", level]
    if log == JSON and not any(one.startswith(STRUCTURED) for one in spark):
        quieter += ["--conf", f"{STRUCTURED}=true"]
    job = Path(__file__).resolve().parent.parent / "run_stream.py"
    told = ["--profile", profile] if profile else []
    told += [word for one in sets for word in ("--set", one)]
    told += [] if log == FORMATS[0] else ["--log-format", log]
    shown = [*(["--quiet"] if quiet else []), *(["--live"] if live else [])]
    return [spark_submit(), *quieter, *spark, str(job), conf, *told, *shown]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Build the environment of spark-submit.

    It has our Python for Spark unless somebody says otherwise, and the width of the terminal.
    """
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return {**python, "COLUMNS": str(shutil.get_terminal_size().columns), **given}


def spark_submit() -> str:
    """Find spark-submit.

    That of SPARK_HOME, or of the pyspark that is installed beside us, or the first on the path.
    """
    rivals = find_rivals()
    if rivals:
        raise QueryError(rivals)
    spec = find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME", "")]
    homes += [str(Path(spec.origin).parent)] if spec and spec.origin else []
    for home in filter(None, homes):
        found = Path(home) / "bin" / "spark-submit"
        if found.exists():
            return str(found)
    found_on_path = shutil.which("spark-submit")
    if found_on_path is None:
        raise QueryError(
            'spark-submit: not found; pip install "eddy-spark[spark]", or set SPARK_HOME to where Spark is'
        )
    return found_on_path


COMMAND = Command(arguments=arguments, run=run)
