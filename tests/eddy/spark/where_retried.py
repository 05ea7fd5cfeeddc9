"""eddy.where in a session that reuses no worker, tries tasks again and runs slow ones twice; a process of its own.

    python -m tests.eddy.spark.where_retried MASTER

Some tasks kill their worker in their first try, and one waits until Spark has begun a copy of it.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

import eddy
from tests.eddy.spark import servers

SETTINGS = {
    "spark.python.worker.reuse": "false",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "500ms",
}

PARTS, ROWS = 8, 4_000

LONGEST = 200.0
"""Seconds after which the slow task waits no more for a copy of it."""


def make_is_odd(copied: Path) -> Callable[[npt.NDArray[np.int64]], Any]:
    """Make a predicate that kills a worker now and then, and waits until a task that was `copied` has left its file."""

    def is_odd(k: npt.NDArray[np.int64]) -> Any:
        context = TaskContext.get()
        if context is not None and context.partitionId() == PARTS - 1 and context.attemptNumber():
            copied.touch()
        if context is not None and not context.attemptNumber():
            if context.partitionId() % 3 == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            ends = time.monotonic() + LONGEST
            while context.partitionId() == PARTS - 1 and not copied.exists() and time.monotonic() < ends:
                time.sleep(0.1)
        return k % 2 == 1

    return is_odd


def run(master: str, place: Path) -> None:
    """Compare with what is known of the rows."""
    spark, copied = servers.joined(place, master, SETTINGS), place / "copied"
    users = pa.table({"id": range(0, ROWS, 3)})
    frame = spark.range(0, ROWS, 1, PARTS).withColumnRenamed("id", "k")
    is_odd = make_is_odd(copied)
    ours = eddy.where(frame, is_odd, (lambda k: k % 5 > 0, "k"), tables={"users": users}, semi="k = users.id")
    found = sorted(row["k"] for row in ours.collect())
    assert found == [k for k in range(3, ROWS, 6) if k % 5], found[:20]
    assert copied.exists(), "nobody has begun the slow task once more"
    report = eddy.report_of(ours).batches()
    assert report["results"].tolist() == [len(found)], report
    assert len(eddy.where(frame, is_odd).limit(5).collect()) == 5
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(sys.argv[1], Path(folder))
