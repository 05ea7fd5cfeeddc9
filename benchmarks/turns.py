"""Streaming queries that take turns, a micro-batch at a time.

Every contender is a query of its own over the same files, and all of them run in one session. A query waits at the end
of its micro-batch, inside of `foreachBatch`, until it has its next turn; a turn is timed from there to the end of the
next micro-batch. So it has everything in it that a micro-batch costs, the sink's and the source's log as well, and no
time in which the query waited for files. The order of the turns is drawn anew for each micro-batch.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from benchmarks.measure import SEED, Agree

WARM = 15
"""Micro-batches that do not count: so many are slower while the JVM warms up."""

PATIENCE = 1.0
"""Seconds between two looks at whether a query that owes an answer is still alive."""

Times = np.ndarray[Any, np.dtype[np.float64]]

Collect = Callable[[DataFrame], Any]


class Steps(Protocol):
    """Does one micro-batch when it is told to."""

    def step(self) -> tuple[float, Any]:
        """Do the next micro-batch; gives the seconds it took, and its answer."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A query's layout, and the settings of Spark it starts with."""

    frame: Callable[[SparkSession], DataFrame]
    settings: Mapping[str, str] = field(default_factory=dict)
    collect: Collect = DataFrame.toArrow
    """Gives the answer of a micro-batch, which `foreachBatch` has."""


class Stepped:
    """A running query that does one micro-batch when it is told to."""

    def __init__(self, frame: DataFrame, checkpoint: Path, collect: Collect = DataFrame.toArrow) -> None:
        self._collect = collect
        self._writer = frame.writeStream.foreachBatch(self._take).option("checkpointLocation", str(checkpoint))
        self._answers: queue.Queue[Any] = queue.Queue()
        self._turn = threading.Semaphore(0)
        self._over = False
        self.query = self._writer.trigger(availableNow=True).start()
        self.finish()

    def step(self) -> tuple[float, Any]:
        """Do the next micro-batch; gives the seconds it took."""
        started = time.perf_counter()
        self.begin()
        answer = self.finish()
        return time.perf_counter() - started, answer

    def begin(self) -> None:
        """Begin the next micro-batch."""
        self._turn.release()

    def stop(self) -> None:
        """End the query where it is."""
        self._over = True
        self._turn.release()
        self.query.stop()

    def _take(self, batch: DataFrame, _number: int) -> None:
        if not self._over:
            self._answers.put(self._collect(batch))
            self._turn.acquire()

    def finish(self) -> Any:
        """Wait for the end of a micro-batch; gives its answer."""
        while True:
            try:
                return self._answers.get(timeout=PATIENCE)
            except queue.Empty:
                if not self.query.isActive:
                    raise RuntimeError(f"a query ended before its files did: {self.query.exception()}") from None


class Several:
    """Queries that make one contender: their micro-batches run at the same time, or one after the other."""

    def __init__(self, members: Mapping[str, Stepped], *, at_once: bool) -> None:
        self._members, self._at_once = members, at_once

    def step(self) -> tuple[float, dict[str, Any]]:
        """Do the next micro-batch of all; gives the seconds it took, and the answer of each."""
        started = time.perf_counter()
        if self._at_once:
            for one in self._members.values():
                one.begin()
            answers = {name: one.finish() for name, one in self._members.items()}
        else:
            answers = {name: one.step()[1] for name, one in self._members.items()}
        return time.perf_counter() - started, answers


@contextmanager
def start_all(spark: SparkSession, contenders: Mapping[str, Contender], place: Path) -> Iterator[dict[str, Stepped]]:
    """All contenders after their first micro-batch; they are stopped at the end."""
    with ExitStack() as stack:
        running = {}
        for number, (name, contender) in enumerate(contenders.items()):
            for key, value in contender.settings.items():
                spark.conf.set(key, value)
            running[name] = Stepped(contender.frame(spark), place / f"checkpoint_{number}", contender.collect)
            stack.callback(running[name].stop)
            for key in contender.settings:
                spark.conf.unset(key)
        yield running


def turns(running: Mapping[str, Steps], count: int, *, agree: Agree | None = None, seed: int = SEED) -> Times:
    """Time the next micro-batches of every contender.

    There is a row for each and a column for every contender.
    """
    names, chance = list(running), np.random.default_rng(seed)
    times = np.zeros((count, len(names)))
    for number in range(count):
        answers: dict[str, Any] = {}
        for which in chance.permutation(len(names)):
            times[number, which], answers[names[which]] = running[names[which]].step()
        if agree is not None:
            agree(answers)
    return times
