"""A job on a standalone cluster, with one query for each fault; run as a process of its own.

Its filter's function brings the fault about, once, in a worker: a file that only the first one can make says who. The
same query without a fault runs first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark import TaskContext
from pyspark.sql import SparkSession

import eddy
from tests.eddy.spark import feeds, servers
from tests.eddy.spark.test_attach import BIG, query

PATIENCE = 60.0
"""Seconds in which a slow task hopes for a copy of itself."""

Fault = Callable[[Path], None]


def _first(flag: Path) -> bool:
    """Is this the first to come here, in all processes."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _none(place: Path) -> None:
    """Let everything go well."""


def _kill_executor(place: Path) -> None:
    """Kill the JVM that this worker works for: it has started the daemon that has started this."""
    if _first(place / "killed"):
        parent = subprocess.check_output(["ps", "-o", "ppid=", "-p", str(os.getppid())], text=True)
        os.kill(int(parent), signal.SIGKILL)


def _fail_once(place: Path) -> None:
    if _first(place / "failed"):
        raise RuntimeError("the network is down")


def _dawdle(place: Path) -> None:
    """Be slow until Spark has begun the same task once more, elsewhere."""
    context = TaskContext.get()
    assert context is not None
    partition, attempt = context.partitionId(), context.taskAttemptId()
    if _first(place / "slow"):
        (place / f"slow-{partition}").write_text(str(attempt))
        end = time.monotonic() + PATIENCE
        while not list(place.glob("copy-*")) and time.monotonic() < end:
            time.sleep(0.1)
    elif (place / f"slow-{partition}").exists() and (place / f"slow-{partition}").read_text() != str(attempt):
        (place / f"copy-{partition}").touch()


FAULTS: dict[str, Fault] = {
    "nothing": _none,
    "an executor is killed": _kill_executor,
    "a function fails once": _fail_once,
    "a slow task is copied": _dawdle,
}


def run(spark: SparkSession, place: Path, fault: str) -> None:
    """Answer into files, through Spark's own sink."""
    mine = place / fault
    mine.mkdir()
    batches = mine / "checkpoint" / "commits"

    def odd(v: npt.NDArray[np.int32]) -> Any:
        if batches.exists() and (batches / "0").exists():
            FAULTS[fault](mine)
        return v % 2 == 1

    asked = query(filters=[BIG, eddy.Filter("odd", on="b", function=odd)])
    frames = {name: feeds.stream(spark, place / "in" / name) for name in "ab"}
    frame = eddy.attach(asked, frames, policy="content", cells=4)
    writer = frame.writeStream.format("parquet").option("path", str(mine / "out"))
    writer = writer.option("checkpointLocation", str(mine / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def main(place: Path, url: str) -> None:
    spark = servers.joined(place, url, {"spark.speculation.minTaskRuntime": "3s"})
    for fault in FAULTS:
        run(spark, place, fault)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
