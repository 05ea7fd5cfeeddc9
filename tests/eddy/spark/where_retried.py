"""eddy.where in a session that reuses no worker, tries tasks again and runs slow ones twice; a process of its own.

    python -m tests.eddy.spark.where_retried MASTER

Each task kills its worker in its first try, but for some, and one is slow until Spark has begun a copy of it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import eddy

SETTINGS = {
    "spark.python.worker.reuse": "false",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.ui.enabled": "false",
}

PARTS, ROWS = 8, 4_000

SLOW = 60.0
"""Seconds that a slow task takes: Spark has begun a copy by then, which is not slow."""


def is_odd(k: npt.NDArray[np.int64]) -> Any:
    """Now and then its worker dies of it, or it takes long."""
    context = TaskContext.get()
    if context is not None and context.attemptNumber() == 0:
        if context.partitionId() % 3 == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if context.partitionId() == PARTS - 1:
            time.sleep(SLOW)
    return k % 2 == 1


def run(master: str) -> None:
    """Compare with what is known of the rows."""
    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    users = pa.table({"id": range(0, ROWS, 3)})
    frame = spark.range(0, ROWS, 1, PARTS).withColumnRenamed("id", "k")
    begun = time.monotonic()
    ours = eddy.where(frame, is_odd, (lambda k: k % 5 > 0, "k"), tables={"users": users}, semi="k = users.id")
    found = sorted(row["k"] for row in ours.collect())
    assert found == [k for k in range(3, ROWS, 6) if k % 5], found[:20]
    assert time.monotonic() - begun < SLOW, "nobody has begun the slow task once more"
    report = eddy.report_of(ours).batches()
    assert report["results"].tolist() == [len(found)], report
    assert len(eddy.where(frame, is_odd).limit(5).collect()) == 5
    spark.stop()


if __name__ == "__main__":
    run(sys.argv[1])
