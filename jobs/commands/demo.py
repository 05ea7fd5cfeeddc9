"""eddy demo: policies follow a stream that changes, on Spark."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.errors import QueryError
from eddy.jobs.commands.command import Command
from eddy.jobs.run.own_session import own_session

if TYPE_CHECKING:
    import pyarrow as pa

    from eddy.jobs.demo.racing import Lap

DEMO_ROWS = 40_000
"""Enough micro-batches before and after the change for the policies to notice it, and a minute of work for all."""

POLICIES: dict[str, dict[str, Any]] = {
    "fixed": {"name": "fixed"},
    "source": {"name": "source", "costs": "unit"},
    "content": {"name": "content", "costs": "unit"},
    "query_mesh": {"name": "query_mesh", "costs": "unit"},
    "auto": {"name": "auto", "costs": "unit"},
}
"""They are to save calls, which is what the table shows; left to themselves they save time. The first is the static
plan that the others are held against."""

CORES = 2
POLL_SECONDS = 0.5
"""Seconds between two looks at the queries."""

DIFFER = 1
"""The exit code when two policies give different answers."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--rows", type=int, default=DEMO_ROWS, help="rows of the stream")
    parser.add_argument("--report", default="eddy-demo.html", metavar="FILE", help="where the HTML report goes")
    parser.add_argument("--quiet", action="store_true", help="no progress: the last table and the verdict alone")


def run(chosen: Namespace) -> int:
    """Run all policies side by side.

    It fails if two of them give different answers.
    """
    from eddy.jobs.demo.page import page  # noqa: PLC0415  other commands do without it

    if chosen.rows < 1:
        raise QueryError(f"--rows: expected a whole number of 1 or more, got {chosen.rows}")
    target = _target(chosen.report)
    if not chosen.quiet:
        print(f"{chosen.rows:,} web requests, three filters; halfway the traffic changes, and the best order with it")
        print("starting Spark, and a query for each policy ...", flush=True)
    laps, answers = race(chosen.rows, quiet=chosen.quiet)
    told, code = verdict(laps, answers)
    target.write_text(page(laps, told), "utf-8")
    print(f"\n{told}\nreport: {target.resolve()}")
    return code


def race(rows: int, *, quiet: bool) -> tuple[list[Lap], Mapping[str, pa.Table]]:
    """Let all policies run to their end, and show their way."""
    from eddy.jobs.demo.page import Board  # noqa: PLC0415
    from eddy.jobs.demo.racing import Racer  # noqa: PLC0415

    board = Board(rows)
    with own_session(CORES) as spark:
        racers = {}
        for policy, choice in POLICIES.items():
            racers[policy] = Racer(spark, policy, choice, rows)
            racers[policy].begin()
        while [policy for policy, racer in racers.items() if racer.is_running]:
            if not quiet:
                board.show([racer.look() for racer in racers.values()])
            time.sleep(POLL_SECONDS)
        laps = [racer.look() for racer in racers.values()]
        board.end(laps)
        return laps, {policy: racer.answer() for policy, racer in racers.items()}


def verdict(laps: Sequence[Lap], answers: Mapping[str, pa.Table]) -> tuple[str, int]:
    """Sum up the race, and give the exit code."""
    first, *others = answers
    other = [policy for policy in others if not answers[policy].equals(answers[first])]
    if other:
        listed = ", ".join(f'"{policy}"' for policy in other)
        return f'verdict: THE ANSWERS OF {listed} AND "{first}" DIFFER, which must never happen', DIFFER
    best = min(laps, key=lambda lap: sum(lap.calls))
    share = best.compute_saving(laps[0]) or 0.0
    same = f"all {len(answers)} answers are the same, {answers[first].num_rows:,} rows"
    if best is laps[0]:
        return f"verdict: no policy made fewer calls than the order that was written; {same}", 0
    return f'verdict: "{best.policy}" made {share:.0%} fewer calls than the order that was written; {same}', 0


def _target(name: str) -> Path:
    """Check the report's path before the work begins."""
    target = Path(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    except OSError as error:
        raise QueryError(f'--report "{name}": cannot be written: {error.strerror}') from None
    return target


COMMAND = Command(arguments=arguments, run=run)
