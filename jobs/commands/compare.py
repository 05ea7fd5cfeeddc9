"""eddy compare: policies side by side, on a job or experiment."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from argparse import ArgumentParser, Namespace
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from eddy.comparison import export
from eddy.comparison.compare import run_comparison
from eddy.comparison.experiment import Experiment
from eddy.comparison.result import Comparison
from eddy.comparison.runner import RUNNERS, OnSpark, choose_runner
from eddy.errors import QueryError, quote
from eddy.jobs.commands.command import Command, add_choices
from eddy.jobs.comparison import job_comparison
from eddy.jobs.config.overrides import from_command
from eddy.jobs.workloads.registry import import_experiments
from eddy.redaction import HIDDEN, is_secret

CORES = 2
"""Cores of the session that runs policies on Spark."""

JOB, EXPERIMENT = ("streams", "query"), ("workload", "policies")
"""Sections that only a job has, and that only an experiment has."""

STOPPED = 130
"""The exit code of what Ctrl-C has ended."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "conf", help="a job, such as conf/quickstart.toml, or an experiment, such as conf/experiments/quick.toml"
    )
    parser.add_argument("--report", metavar="OUT", help="where to write the report, one HTML file")
    parser.add_argument(
        "--out", metavar="OUT", action="append", default=[], help="where to write the rows: .parquet, .csv or .json"
    )
    parser.add_argument(
        "--patterns", metavar="OUT", help="where to write the regret of indexes after a change, pattern by pattern"
    )
    parser.add_argument("--resume", metavar="FILE", help="keep runs there, and go on from those that are there")
    parser.add_argument("--runner", choices=RUNNERS, default="local", help="where to run them")
    parser.add_argument("--cells", type=int, help="of Spark's, how many share the work")
    parser.add_argument("--quick", action="store_true", help="a small part only, to see that it runs")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.epilog = "Of a job, arguments for spark-submit come last, after --: -- --packages ..."
    add_choices(parser)
    job = parser.add_argument_group("of a job only")
    job.add_argument("--rows", type=int, help=f"the first rows of each stream ({job_comparison.SAMPLED_ROWS:,})")
    job.add_argument("--repeats", type=int, help=f"how often each policy runs ({job_comparison.REPEATS})")
    job.add_argument(
        "--policy",
        action="append",
        metavar="NAME",
        help=f"a policy beside the job's own, may be given several times ({', '.join(job_comparison.OTHERS)})",
    )


def run(asked: Namespace) -> int:
    """Run an experiment, and print what each policy gained.

    It writes the files that are asked for, and prints the verdict.
    """
    if asked.spark:
        os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*asked.spark, "pyspark-shell"])
    for path in (*asked.out, *filter(None, [asked.patterns])):  # found now, and not after an hour
        export.check_target(path)
    if asked.report:
        export.check_target(asked.report, export.PAGES)
    is_job = _is_job(asked.conf)
    experiment = _of_job(asked) if is_job else _experiment(asked)
    try:
        comparison = _compare(experiment.shrink() if asked.quick else experiment, asked)
    except KeyboardInterrupt:
        kept = f'"{asked.resume}" has the runs that are done, and the same command goes on from there'
        print(f"stopped; {kept if asked.resume else 'with --resume FILE they would be kept'}", file=sys.stderr)
        return STOPPED
    for path in asked.out:
        comparison.save(path)
    if asked.patterns:
        export.save(comparison.patterns, asked.patterns)
    if asked.report:
        comparison.report(asked.report)
    _print(comparison, is_job=is_job)
    return 0


def _of_job(asked: Namespace) -> Experiment:
    sizes = {name: getattr(asked, name) for name in ("rows", "repeats") if getattr(asked, name) is not None}
    experiment, told = job_comparison.experiment(
        asked.conf, asked.set, policies=asked.policy or (), profile=asked.profile, **sizes
    )
    print(told, flush=True)
    return experiment


def _experiment(asked: Namespace) -> Experiment:
    for name in ("rows", "repeats", "policy", "profile", "set"):
        if getattr(asked, name) not in (None, []):
            raise QueryError(f'--{name}: expected with a job only, and "{asked.conf}" is an experiment; write it there')
    experiment: Experiment = import_experiments("experiment", f'"{asked.conf}"').load(asked.conf)
    return experiment


def _is_job(path: str) -> bool:
    """Tell whether a file is a job and no experiment."""
    try:
        found = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise QueryError(f'"{path}": cannot be read: {error.strerror}') from None
    except (ValueError, RecursionError) as error:
        raise QueryError(f'"{path}": not TOML: {error}') from None
    if not any(name in found for name in (*JOB, *EXPERIMENT)):
        raise QueryError(
            f'"{path}": neither a job nor an experiment: expected [streams.NAME], as a job has, or [workload] and '
            f"policies, as an experiment has; got {quote(found) or 'nothing'}"
        )
    return any(name in found for name in JOB)


def _compare(experiment: Experiment, asked: Namespace) -> Comparison:
    place = choose_runner(asked.runner, asked.cells)
    with _spark(asked.runner == OnSpark.name):
        return run_comparison(experiment, place, command=_command(asked), resume=asked.resume, quiet=asked.quiet)


def _spark(needed: bool) -> AbstractContextManager[object]:
    """A session that leaves nothing behind, if one is needed."""
    if not needed:
        return nullcontext()
    from eddy.jobs.run.own_session import own_session  # noqa: PLC0415  other runs start no Spark

    return own_session(CORES)


def _command(asked: Namespace) -> str:
    """Write the command that runs it again."""
    more = ["--profile", asked.profile] if asked.profile else []
    more += [word for one in asked.set for word in ("--set", _show_value(one))]
    more += [word for name in asked.policy or () for word in ("--policy", name)]
    more += [
        w for n in ("rows", "repeats") if getattr(asked, n) is not None for w in (f"--{n}", str(getattr(asked, n)))
    ]
    more += ["--quick"] if asked.quick else []
    more += [] if asked.runner == RUNNERS[0] else ["--runner", asked.runner]
    more += ["--cells", str(asked.cells)] if asked.cells else []
    more += ["--report", asked.report] if asked.report else []
    return shlex.join(["eddy", "compare", asked.conf, *more])


def _show_value(text: str) -> str:
    """A value from outside of the file, without what is secret."""
    return f"{text.partition('=')[0]}={HIDDEN}" if is_secret(from_command(text).path) else text


def _print(comparison: Comparison, *, is_job: bool) -> None:
    for skip in comparison.skipped:
        print(skip)
    print(comparison.table())
    if len({row["workload"] for row in comparison.runs}) > 1:
        print(f"\n{comparison.table(by_workload=True)}")
    if not is_job:
        more = import_experiments("improvement", "an experiment").summarize_rest(comparison.runs, by=["workload"])
        if not more.empty:
            print(f"\n{more.to_string(index=False)}")
    print(f"\n{comparison.verdict}")


COMMAND = Command(arguments=arguments, run=run)
