"""A windowed join beside the engines Flink and Pathway.

They have runtimes of their own and cannot take turns at each micro-batch, nor be installed beside Spark. So every run
is a process that reads the same files and writes its answer to a file, and processes take turns: each contender once in
each round, in an order that is drawn anew. What a process needs to start is not in the seconds; what a query needs to
start is, and is seen in the difference to what a further row takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from benchmarks import peers
from benchmarks.feeds import CORES
from benchmarks.measure import SEED, Line, setting, summary
from benchmarks.suite import slopes
from benchmarks.turns import Times
from benchmarks.workloads import Workload

OURS, CONTROL, FLINK, PATHWAY = "eddy, content", "eddy again (control)", "pyflink", "pathway"
ENGINES = {FLINK: "flink", PATHWAY: "pathway"}

PROGRAMS = Path(__file__).resolve().parent / "engines"
WINDOW, STREAMS = 10_000, "abc"
SIZES = (10_000, 100_000)
REPEATS = 3

PATIENCE = 300
"""Seconds after which a program that has not ended is given up."""

TOLD = 4_000
"""Characters of what a program said that failed, without the lines of Java that it went through."""

Rows = np.ndarray[Any, np.dtype[np.int64]]


def join(
    sizes: Sequence[int] = SIZES, repeats: int = REPEATS, window: int = WINDOW, only: Sequence[str] | None = None
) -> Iterator[Line]:
    """A join of three streams with one key, from files to a file."""
    names = contenders() if only is None else only
    yield f"join of {len(STREAMS)} streams, window of {window:,} rows, from CSV files to a CSV file, a process each"
    with tempfile.TemporaryDirectory() as folder:
        tasks = {size: Task(Path(folder) / str(size), size, window) for size in sizes}
        found: list[Times] = []
        for size, task in tasks.items():
            found.append(rounds(names, task, repeats))
            yield setting(rows=size * repeats, batch=size, seed=SEED)
            yield from summary(names, found[-1], baseline=OURS)
    if len(sizes) > 1:
        yield f"a further row, from {sizes[0]:,} to {sizes[-1]:,} a stream; the seconds are of a million"
        # Two runs of a round have little to do with each other: the difference is of the medians.
        middle = [np.median(times, axis=0, keepdims=True) for times in found]
        yield from summary(names, slopes(sizes, middle) * 1e6, baseline=OURS)


def contenders() -> list[str]:
    """Ours twice, and the engines that there are."""
    return [OURS, CONTROL, *(name for name, engine in ENGINES.items() if peers.without_engine(engine) is None)]


class Task:
    """The streams in files, and where the answers go."""

    def __init__(self, folder: Path, rows: int, window: int) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        workload = Workload(name="one key", keys={"k": STREAMS}, domains=lambda _: [window], window=window)
        files: dict[str, dict[str, str]] = {"streams": {}, "plain": {}}
        for s, columns in workload.data(rows).items():
            text = folder / f"{s}.csv"
            # To Pathway "id" is the key of a row, and no name for a column.
            pc.write_csv(pa.table(columns).rename_columns({"id": "nr"}), text)
            # Flink takes the first line of a file for a row.
            plain = folder / f"{s}_plain.csv"
            plain.write_text(text.read_text().partition("\n")[2])
            files["streams"][s], files["plain"][s] = str(text), str(plain)
        self._given = {**files, "window": window, "cores": CORES}

    def run(self, name: str, number: int) -> tuple[float, Rows]:
        """One process: the seconds that it tells, and its answer in an order that all have."""
        place = self._folder / f"{number}_{name.replace(' ', '_').replace(',', '')}"
        place.mkdir()
        task, seconds, answer = place / "task.json", place / "seconds", place / "answer.csv"
        task.write_text(json.dumps(self._given | {"answer": str(answer), "seconds": str(seconds)}))
        engine = ENGINES.get(name, "eddy")
        python = peers.python_of(engine) if name in ENGINES else Path(sys.executable)
        done = subprocess.run(
            [str(python), str(PROGRAMS / f"run_{engine}.py"), str(task)],
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
            raise RuntimeError(f'"{name}" failed: ' + "\n".join(said)[-TOLD:])
        return float(seconds.read_text()), rows_of(answer)


def _environment() -> dict[str, str]:
    """With our code to be found, and nothing of the folder that the programs are in."""
    return {**os.environ, "PYTHONPATH": str(peers.ROOT), "PYTHONSAFEPATH": "1"}


def rounds(names: Sequence[str], task: Task, repeats: int) -> Times:
    """Time each contender once in each round.

    There is a row for each round and a column for every contender; all answers must be the same.
    """
    chance, times = np.random.default_rng(SEED), np.zeros((repeats, len(names)))
    for number in range(repeats):
        answers = {}
        for which in chance.permutation(len(names)):
            times[number, which], answers[names[which]] = task.run(names[which], number)
        agree(answers)
    return times


def agree(answers: Mapping[str, Rows]) -> None:
    """All contenders must find the same results, and some."""
    first = next(iter(answers.values()))
    different = [name for name, rows in answers.items() if not np.array_equal(rows, first)]
    if different or not len(first):
        counts = {name: len(rows) for name, rows in answers.items()}
        raise AssertionError(f"the contenders do not agree: {different}; rows: {counts}")


def rows_of(answer: Path) -> Rows:
    """The answer of a task, in a file with names of columns or in a folder of files without."""
    if answer.is_dir():
        parts = sorted(file for file in answer.rglob("*") if file.is_file() and file.stat().st_size)
        lines = chain.from_iterable(file.read_text().splitlines() for file in parts)
        rows = np.array([line.split(",") for line in lines], np.int64)
    else:
        table = pc.read_csv(answer)
        rows = np.stack([table.column(s).to_numpy() for s in STREAMS], axis=1)
    return rows[np.lexsort(rows.T)]


BENCHMARKS = (join,)
"""Another engine is a program in `engines`, and a line in `ENGINES` here and in `peers.ENGINES`."""
