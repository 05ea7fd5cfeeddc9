"""Everything that goes looking, and its summary.

    python -m tests.soak                              all of it
    python -m tests.soak --times 10                   ten times as many cases of all
    python -m tests.soak --seed 7                     other cases
    python -m tests.soak joins --cases 500            of one kind, as many
    python -m tests.soak joins --seed 7 --from 412 --cases 1   one case again, with the whole error if it fails

The kinds: joins, later (results that are told at their end, or at ticks), together (sets of queries over the same
streams, some of which go and come), filters (queries in process), spark (queries through Spark), statements (texts
that Spark's own SQL answers as well), states, parcels, files, settings (bad inputs), overload (a burst, a hot key, a
stream that stalls and more, in memory that is measured), faults (tasks that are killed, slow or raise, for 200
micro-batches), batches (micro-batches in a row, whose time and state must not grow).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.eddy.spark.servers import session
from tests.eddy.spark.test_retried import survived
from tests.soak import batches, queries, statements
from tests.soak.hunt import Caught, Hunt
from tests.soak.inputs import INPUTS
from tests.soak.queries import FILTERS, JOINS, TOGETHER, TOLD_LATER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALONE: tuple[Hunt[Any], ...] = (JOINS, TOLD_LATER, TOGETHER, FILTERS, *INPUTS)

HUNTS = {hunt.name: hunt for hunt in ALONE}
"""The kinds that need no Spark."""

ON_SPARK: dict[str, Callable[[SparkSession], Hunt[Any]]] = {"spark": queries.through, "statements": statements.through}
"""The kinds that need a session."""

CASES = {
    "joins": 5_000,
    "later": 1_000,
    "together": 2_000,
    "filters": 2_000,
    "spark": 100,
    "statements": 200,
    "states": 5_000,
    "parcels": 5_000,
    "files": 5_000,
    "settings": 2_000,
    "overload": 200,
    "faults": 1,
    "batches": 500,
}
"""How many of each kind: about half an hour on two cores, with nothing else running."""

SHOWN = 3
"""Failures of a kind that are printed whole; of the others the numbers."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run some kinds, or all; 1 if anything has failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(CASES)}; all when left out")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn from")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the number of the first case")
    parser.add_argument("--cases", type=int, help="how many of each kind")
    parser.add_argument("--times", type=int, default=1, help="as many times as many")
    chosen = parser.parse_args(arguments)
    if unknown := [kind for kind in chosen.kinds if kind not in CASES]:
        parser.error(f"unknown kind {', '.join(unknown)}; known: {', '.join(CASES)}")
    found = []
    for kind in chosen.kinds or CASES:
        caught = _run(kind, chosen.seed, chosen.start, chosen.start + (chosen.cases or CASES[kind]) * chosen.times)
        _tell(caught, chosen.seed)
        found.append(caught)
    print(summary(found))
    return int(any(caught.failures for caught in found))


FIGURES = {
    "queries compared": ("joins", "later", "together", "filters", "spark", "statements"),
    "faults survived": ("faults",),
    "overloads borne": ("overload",),
    "micro-batches in a row": ("batches",),
    "bad inputs tried": ("states", "parcels", "files", "settings"),
}
"""What is summed up of which kinds."""


def summary(found: Sequence[Caught]) -> str:
    """The figures of those kinds that were run, and how many cases failed."""
    sums = {what: [c.cases for c in found if c.name in kinds] for what, kinds in FIGURES.items()}
    figures = [f"{sum(cases):,} {what}" for what, cases in sums.items() if cases]
    failed = sum(len(caught.failures) for caught in found)
    return f"{', '.join(figures)}; {failed} failed"


def _run(kind: str, seed: int, start: int, stop: int) -> Caught:
    if kind == "faults":
        return _faults()
    if kind == "batches":
        return batches.run(stop - start)
    with tempfile.TemporaryDirectory() as folder:
        if kind not in ON_SPARK:
            return HUNTS[kind].run(seed, start, stop)
        spark = session(Path(folder))
        spark.sparkContext.setLogLevel("ERROR")
        try:
            return ON_SPARK[kind](spark).run(seed, start, stop)
        finally:
            spark.stop()


def _faults() -> Caught:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        words, failures = Counter[str](), dict[int, str]()
        try:
            words.update({f"{kind} at {point}": times for (kind, point), times in survived(Path(folder)).items()})
        except Exception:  # whatever goes wrong is what is looked for
            failures[0] = traceback.format_exc()
    return Caught(name="faults", words=words, failures=failures, seconds=time.perf_counter() - began)


def _tell(caught: Caught, seed: int) -> None:
    print(caught, flush=True)
    for number, error in list(caught.failures.items())[:SHOWN]:
        print(f"--- {caught.name} {number}\n{error}")
    for number in caught.failures:
        print(f"again: python -m tests.soak {caught.name} --seed {seed} --from {number} --cases 1")


if __name__ == "__main__":
    sys.exit(main())
