"""Many micro-batches: time and state must not grow once windows are full, and the answer must be right.

Each micro-batch has a second's rows of two streams. The answer is held against a join by pandas over everything.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

import eddy
from tests.eddy.spark import feeds
from tests.eddy.spark.servers import session
from tests.eddy.spark.test_attach import SECOND, table
from tests.soak.hunt import Caught

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 200
"""Of a stream in a micro-batch."""

KEYS = 2_000
"""So that a row meets a few others in its window."""

WINDOW, DELAY = 30, 5

FULL = WINDOW + DELAY + 15
"""Micro-batches after which windows are full, and the JVM is warm."""

SLOWER = 1.5
"""How much slower the last micro-batches may be: what else a machine does moves a median by less."""

LARGER = 1.1
"""How much larger the state may be; rows leave in segments, so it is not the same in every micro-batch."""


@dataclass(frozen=True, kw_only=True)
class Soaked:
    """What came out."""

    right: bool
    results: int
    batches: pd.DataFrame

    def windows(self) -> pd.DataFrame:
        """The medians of the first micro-batches with full windows, and of as many at the end."""
        full = self.batches[self.batches["batch"] >= FULL]
        size = max(min(len(full) // 2, 100), 1)
        columns = ["trigger_seconds", "seconds", "restore_seconds", "saving_seconds", "state_bytes"]
        ends = {"first": full.head(size), "last": full.tail(size)}
        return pd.DataFrame({name: part[columns].median() for name, part in ends.items()})

    def flat(self) -> bool:
        """Neither time nor state has grown."""
        found = self.windows()
        grown = found["last"] / found["first"]
        return bool(grown["trigger_seconds"] < SLOWER and grown["state_bytes"] < LARGER)


def odd(v: npt.NDArray[np.int32]) -> Any:
    return v % 2 == 1


def data(seed: int, batches: int) -> list[pa.Table]:
    """A second of rows after the other."""
    chance = np.random.default_rng(seed)
    return [
        table(
            np.sort(number + chance.random(ROWS)).tolist(),
            chance.integers(0, KEYS, ROWS).tolist(),
            chance.integers(0, 100, ROWS).tolist(),
        )
        for number in range(batches)
    ]


def asked() -> eddy.Query:
    """A join in a window, a filter in SQL and one in Python."""
    window = eddy.Range(f"{WINDOW} seconds")
    return eddy.Query(
        streams=[eddy.Stream(name, time="ts", window=window, delay=f"{DELAY} seconds") for name in "ab"],
        joins=["a.k = b.k"],
        filters=[eddy.Filter("big", on="a", where="a.v > 20"), eddy.Filter("odd", on="b", function=odd)],
    )


def expected(a: Sequence[pa.Table], b: Sequence[pa.Table]) -> pd.DataFrame:
    """The same by pandas."""
    left = pa.concat_tables(a).to_pandas().query("v > 20").add_prefix("a_")
    right = pa.concat_tables(b).to_pandas().query("v % 2 == 1").add_prefix("b_")
    joined = left.merge(right, left_on="a_k", right_on="b_k")
    near = (joined["a_ts"] - joined["b_ts"]).abs() <= pd.Timedelta(WINDOW * SECOND, "us")
    return joined[near]


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


def soak(spark: SparkSession, place: Path, batches: int) -> Soaked:
    """Run the query over so many micro-batches."""
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", batches + 1)
    streams = {name: data(seed, batches) for seed, name in enumerate("ab")}
    frames = feeds.streams(spark, place / "in", streams)
    found = feeds.answer(eddy.attach(asked(), frames, policy="content", cells=2, pushdown=False), place / "checkpoint")
    took = {progress.batchId: progress.batchDuration / 1000 for progress in found.query.recentProgress}
    told = found.report.batches()
    wanted = expected(*streams.values())
    answer = found.results.to_pandas()[wanted.columns]
    return Soaked(
        right=_sorted(answer).equals(_sorted(wanted)),
        results=len(answer),
        batches=told.assign(trigger_seconds=told["batch"].map(took)),
    )


def run(batches: int) -> Caught:
    """Run so many micro-batches on a session of their own, and tell the medians at both ends."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        try:
            done = soak(spark, Path(folder), batches)
        finally:
            spark.stop()
    ends = done.windows().assign(ratio=lambda found: found["last"] / found["first"]).round(4)
    told = f"{done.results:,} results; medians with full windows, of the first micro-batches and the last:\n{ends}\n"
    failures = {} if done.right and done.flat() else {0: told if done.right else "the answer is wrong"}
    words = Counter({"flat": len(done.batches) - len(failures)})
    return Caught(name="batches", words=words, failures=failures, told=told, seconds=time.perf_counter() - began)
