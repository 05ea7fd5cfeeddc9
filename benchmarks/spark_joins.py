"""Four-way windowed joins, beside Spark's stream-stream joins.

The streams are those of `joins`: every pair has an equality of its own (or all share one key), a row comes every
millisecond, and windows hold 10,000 rows a stream. Spark's joins are written in the order a, b, c, d with all windows,
and are run with both of its state stores: the one in memory, with format 2 of a join's state, the newest that it has,
and RocksDB with format 4, the newest of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

import eddy
from benchmarks import feeds
from benchmarks.measure import Goal, Line
from benchmarks.suite import Suite
from benchmarks.turns import WARM, Contender
from benchmarks.workloads import COMMON, COMPLETE, STREAMS, Columns, Workload

OURS, CONTROL = "eddy, content", "eddy again (control)"
MEMORY, ROCKSDB = "native joins, in memory", "native joins, RocksDB"

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
FORMAT = "spark.sql.streaming.join.stateFormatVersion"
STORES: dict[str, dict[str, str]] = {
    MEMORY: {
        PROVIDER: "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
        FORMAT: "2",
    },
    ROCKSDB: {
        PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        FORMAT: "4",
    },
}

SIZES = (1_000, 10_000, 50_000)
REPEATS = 5
FULL = 10
"""Micro-batches of 1,000 rows a stream that fill the windows."""

SMALL: dict[str, Goal] = dict.fromkeys(STORES, ("at least", 2.6))
LARGE: dict[str, Goal] = dict.fromkeys(STORES, ("at least", 4.0))
FURTHER: dict[str, Goal] = dict.fromkeys(STORES, ("at least", 6.0))
"""The time that Spark's joins must take at least, in times of ours; the last is for a further row too."""

TICK = 1_000
"""Microseconds between two rows of a stream: Spark's watermark counts milliseconds."""

BEGIN = 1_767_225_600_000_000
"""The time of the first row, that of 1 January 2026: Spark's own joins forget a row of the year 1970's first
millisecond, for their watermarks do not go below 0, and what is not newer than the watermark leaves."""


def common(sizes: Sequence[int] = SIZES, repeats: int = REPEATS, warm: int = WARM) -> Iterator[Line]:
    """All streams share one key."""
    yield from _compare(COMMON, sizes, repeats, warm)


def complete(sizes: Sequence[int] = SIZES[:1], repeats: int = REPEATS, warm: int = FULL) -> Iterator[Line]:
    """Every pair of streams has an equality of its own.

    The windows are full when it counts, and no more: a micro-batch of Spark's own joins takes many seconds here.
    """
    yield from _compare(COMPLETE, sizes, repeats, warm)


def _compare(workload: Workload, sizes: Sequence[int], repeats: int, warm: int) -> Iterator[Line]:
    suite = Suite(warm=sizes[0], sizes=sizes, repeats=repeats, warm_batches=warm)
    yield f"four-way join, {workload.name}; window {workload.window:,} rows"
    with feeds.session() as (spark, place):
        suite.write(place, tables(workload.data(suite.rows)))
        yield from suite.compare(
            spark,
            contenders(workload, place),
            place,
            baseline=OURS,
            goals=(SMALL, LARGE, FURTHER)[: len(sizes)],
            agree=agree,
        )


def contenders(workload: Workload, place: Path) -> dict[str, Contender]:
    """Ours twice, and Spark's with each state store."""

    def sources(spark: SparkSession) -> dict[str, DataFrame]:
        return {s: feeds.stream(spark, place / s) for s in STREAMS}

    def ours(spark: SparkSession) -> DataFrame:
        return eddy.attach(query(workload), sources(spark), policy="content", cells=feeds.CORES)

    def theirs(spark: SparkSession) -> DataFrame:
        return native(workload, sources(spark))

    native_ones = {name: Contender(frame=theirs, settings=settings) for name, settings in STORES.items()}
    return {OURS: Contender(frame=ours), CONTROL: Contender(frame=ours), **native_ones}


def tables(data: Mapping[str, Columns]) -> dict[str, pa.Table]:
    """The same columns, with times that Spark takes for such."""
    kind = pa.timestamp("us", "UTC")
    return {s: pa.table({**columns, "ts": pa.array(BEGIN + columns["ts"] * TICK, kind)}) for s, columns in data.items()}


def query(workload: Workload) -> eddy.Query:
    """As the engine takes it."""
    window = eddy.Range(f"{workload.window} milliseconds")
    return eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=window, delay="0 seconds") for s in STREAMS],
        joins=[f"{a}.{key} = {b}.{key}" for key, a, b in workload.joins()],
        select=[f"{s}.id as {s}" for s in STREAMS],
    )


def native(workload: Workload, frames: Mapping[str, DataFrame], values: Sequence[str] = ()) -> DataFrame:
    """The same, in Spark's own words: every two streams are within the window of each other.

    `values` are columns of each stream that are in the answer as well.
    """
    joined: DataFrame | None = None
    for place, s in enumerate(STREAMS):
        renamed = frames[s].select(*(F.col(c).alias(f"{s}_{c}") for c in frames[s].columns))
        new = renamed.withWatermark(f"{s}_ts", "0 seconds")
        if joined is None:
            joined = new
            continue
        joined = joined.join(new, F.expr(_condition(workload, STREAMS[: place + 1])))
        # Spark joins on with one event time only; of an expression it forgets that it is one.
        joined = joined.withColumn(f"{s}_ts", F.expr(f"{s}_ts + interval 0 seconds"))
    assert joined is not None
    more = [F.col(f"{s}_{value}") for s in STREAMS for value in values]
    return joined.select(*(F.col(f"{s}_id").alias(s) for s in STREAMS), *more)


def _condition(workload: Workload, streams: str) -> str:
    """The condition between the last of some streams and the others."""
    last = streams[-1]
    keys = [f"{a}_{key} = {b}_{key}" for key, a, b in workload.joins() if b == last and a in streams]
    near = [
        f"{one}_ts >= {other}_ts - interval {workload.window} milliseconds"
        for pair in combinations(streams, 2)
        if last in pair
        for one, other in (pair, pair[::-1])
    ]
    return " and ".join(keys + near)


def agree(answers: Mapping[str, Any]) -> None:
    """All contenders must find the same results."""
    found = {name: sorted(zip(*answer.to_pydict().values(), strict=True)) for name, answer in answers.items()}
    different = [name for name, rows in found.items() if rows != found[OURS]]
    if different:
        raise AssertionError(f"the contenders do not agree: {different}")


BENCHMARKS = (common, complete)
