"""A job whose tasks are killed and tried again at random points, micro-batch after micro-batch; a process of its own.

    python -m tests.eddy.spark.retried FOLDER MASTER

The faults come from what a user may hand over: a filter's function, a policy, and a step behind the answer. Each of
them is asked at its own points whether something is to happen, and what: the worker is killed, something is raised, or
the task is slow until Spark has begun it once more elsewhere. Chance is drawn from the micro-batch, the partition and
the point; a task that is tried again is left in peace.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import eddy
from eddy.contracts import Leg, Observation, Setting, State, Task
from eddy.tuples import Hop
from tests.eddy.spark import feeds, servers
from tests.eddy.spark.test_attach import BIG, query
from tests.policies.wild import Wild

CHANCES = (("killed", 0.004), ("raised", 0.004), ("slow", 0.001))
"""What may happen at a point, and how likely. A task passes some twenty points, so every sixth is tried again."""

SELDOM = 5
"""How much likelier where tasks seldom come: an engine is restored only where its worker is not the one before."""

SLOW = 6.0
"""Seconds that a slow task takes: longer than Spark waits before it begins a copy of it."""


class Fault(RuntimeError):
    """Something that no code of ours raises."""


def perhaps(place: Path, point: str, times: int, likelier: int = 1) -> None:
    """Let something happen at a point, in a task's first try, and note that it has."""
    context = TaskContext.get()
    if context is None or context.attemptNumber():
        return
    batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
    chance = np.random.default_rng([batch, context.partitionId(), times, *point.encode()])
    drawn = chance.random()
    for kind, likely in CHANCES:
        if drawn < likely * likelier:
            (place / "faults" / f"{kind}-{point}-{batch}-{context.partitionId()}-{times}").touch()
            _happen(kind)
            return
        drawn -= likely * likelier


def _happen(kind: str) -> None:
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "raised":
        raise Fault("the network is down")
    time.sleep(SLOW)


class Faulty(Wild):
    """Does whatever a policy may do, and has faults while it decides, learns, is written down and is read again."""

    place = Path()

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._times = 0

    def _perhaps(self, point: str, likelier: int = 1) -> None:
        self._times += 1
        perhaps(self.place, point, self._times, likelier)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        self._perhaps("plan")
        return super().plan(task, ready)

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        self._perhaps("observe")

    def snapshot(self) -> State:
        self._perhaps("snapshot")
        return super().snapshot()

    def restore(self, state: State) -> None:
        self._perhaps("restore", SELDOM)
        super().restore(state)


def policy(folder: Path) -> type[Faulty]:
    """The policy, with the folder in which it notes what has happened."""
    return type("Faulty", (Faulty,), {"place": folder})


def run(spark: SparkSession, place: Path) -> None:
    """Answer into files, through Spark's own sink."""

    def odd(v: npt.NDArray[np.int32]) -> Any:
        perhaps(place, "filter", int(v.sum()))
        return v % 2 == 1

    def behind(results: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(results):
            yield batch
            perhaps(place, "sent", number)

    asked = query(filters=[BIG, eddy.Filter("odd", on="b", function=odd)])
    frames = {name: feeds.stream(spark, place / "in" / name) for name in "ab"}
    frame = eddy.attach(asked, frames, policy=policy(place), cells=4)
    writer = frame.mapInArrow(behind, frame.schema).writeStream.format("parquet").option("path", str(place / "out"))
    writer = writer.option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def main(place: Path, url: str) -> None:
    (place / "faults").mkdir()
    spark = servers.joined(place, url, {"spark.task.maxFailures": "8", "spark.speculation.minTaskRuntime": "2s"})
    run(spark, place)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
