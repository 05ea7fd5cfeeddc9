"""Policies side by side: python -m jobs.compare_policies CONF --report OUT."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from eddy.comparison import saving
from eddy.comparison.compared import compared
from eddy.comparison.comparison import Comparison
from eddy.comparison.experiment import Experiment
from eddy.comparison.runner import RUNNERS, OnSpark, chosen
from eddy.errors import EddyError
from jobs.experiment import load
from jobs.improvement import besides

CORES = 2
"""Of the session that runs them on Spark."""

STOPPED = 130
"""The exit code of what Ctrl-C has ended."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("conf", help="the experiment, a TOML file such as conf/experiments/quick.toml")
    parser.add_argument("--report", metavar="OUT", help="where to write the report, one HTML file")
    parser.add_argument(
        "--out", metavar="OUT", action="append", default=[], help="where to write the rows: .parquet, .csv or .json"
    )
    parser.add_argument("--json", metavar="OUT", action="append", dest="out", help="the same as --out")
    parser.add_argument("--resume", metavar="FILE", help="keep runs there, and go on from those that are there")
    parser.add_argument("--runner", choices=RUNNERS, default="local", help="where to run them")
    parser.add_argument("--cells", type=int, help="of Spark's, how many share the work")
    parser.add_argument("--quick", action="store_true", help="a small part only, to see that it runs")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(asked: argparse.Namespace) -> int:
    """Run an experiment, write what is asked for, and print the verdict and what each policy gained."""
    for path in asked.out:  # found now, and not after an hour
        saving.checked(path)
    if asked.report:
        saving.checked(asked.report, saving.PAGES)
    experiment = load(asked.conf)
    try:
        comparison = _compared(experiment.quick() if asked.quick else experiment, asked)
    except KeyboardInterrupt:
        kept = f'"{asked.resume}" has the runs that are done, and the same command goes on from there'
        print(f"stopped; {kept if asked.resume else 'with --resume FILE they would be kept'}", file=sys.stderr)
        return STOPPED
    for path in asked.out:
        comparison.save(path)
    if asked.report:
        comparison.report(asked.report)
    _print(comparison)
    return 0


def _compared(experiment: Experiment, asked: argparse.Namespace) -> Comparison:
    place = chosen(asked.runner, asked.cells)
    with _spark(asked.runner == OnSpark.name):
        return compared(experiment, place, command=_command(asked), resume=asked.resume, quiet=asked.quiet)


def _spark(needed: bool) -> AbstractContextManager[object]:
    """A session that leaves nothing behind, if one is needed."""
    if not needed:
        return nullcontext()
    from jobs.quiet import session  # noqa: PLC0415  other runs start no Spark

    return session(CORES)


def _command(asked: argparse.Namespace) -> str:
    """How to run it again."""
    more = ["--quick"] if asked.quick else []
    more += [] if asked.runner == RUNNERS[0] else ["--runner", asked.runner]
    more += ["--cells", str(asked.cells)] if asked.cells else []
    more += ["--report", asked.report] if asked.report else []
    return shlex.join(["python", "-m", "jobs.compare_policies", asked.conf, *more])


def _print(comparison: Comparison) -> None:
    for skip in comparison.skipped:
        print(skip)
    print(comparison.table())
    if len({row["workload"] for row in comparison.runs}) > 1:
        print(f"\n{comparison.table(by_workload=True)}")
    more = besides(comparison.runs, by=["workload"])
    if not more.empty:
        print(f"\n{more.to_string(index=False)}")
    print(f"\n{comparison.verdict}")


def main(given: Sequence[str] | None = None, *, prog: str = "python -m jobs.compare_policies") -> int:
    """Do what the arguments say; a mistake is one line."""
    parser = argparse.ArgumentParser(prog=prog, description=f"Policies side by side: {prog} CONF --report OUT.")
    arguments(parser)
    try:
        return run(parser.parse_args(given))
    except EddyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
