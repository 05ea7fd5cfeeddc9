"""Joins a task's streams in an eddy: run_eddy.py TASK.

Without Spark, micro-batch by micro-batch.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.csv

import eddy

BATCH = 1_000
"""Rows of a micro-batch of each stream."""


def main(task: dict[str, Any]) -> float:
    """Seconds from the first byte of the files to the end of its answer's file."""
    started = time.perf_counter()
    data = {s: pyarrow.csv.read_csv(path) for s, path in task["streams"].items()}
    names = list(data)
    query = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(task["window"]), delay=0) for s in names],
        joins=[f"{a}.k = {b}.k" for a, b in pairwise(names)],
        select=[f"{s}.nr as {s}" for s in names],
    )
    run = eddy.run_local(query, data, policy="content", batch_rows=BATCH)
    pyarrow.csv.write_csv(run.results, task["answer"])
    return time.perf_counter() - started


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text())
    Path(given["seconds"]).write_text(str(main(given)))
