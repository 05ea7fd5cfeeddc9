"""What comes with statements, beside the same without it.

`time` gives an answer a watermark of its own. Micro-batches of a join that finds nothing, so that each cell sends a
beat and nothing else, stand beside the same join without `time`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import eddy
from benchmarks import feeds
from benchmarks.measure import SEED, Goal, Line
from benchmarks.spark_joins import BEGIN, TICK
from benchmarks.suite import Suite
from benchmarks.turns import WARM, Contender

PLAIN, CONTROL = "without time", "without again (control)"
NEWEST, OWN = "the newest time", "the time of one stream"

SIZES = (1_000,)
REPEATS = 40
"""Micro-batches that count: the difference is a few milliseconds of some hundred."""

WINDOW = 5
"""Micro-batches that are stored."""

BEATS: Goal = ("at most", 1.02)

QUERY_STREAMS = "ab"


def beats(sizes: Sequence[int] = SIZES, repeats: int = REPEATS, warm: int = WARM) -> Iterator[Line]:
    """A join without results, with a time and without."""
    suite = Suite(warm=sizes[0], sizes=sizes, repeats=repeats, warm_batches=warm)
    yield f"join of two streams without any results; windows of {WINDOW * sizes[0]:,} rows"
    with feeds.session() as (spark, place):
        suite.write(place, tables(suite.rows))
        goals: list[dict[str, Goal]] = [{NEWEST: BEATS, OWN: BEATS}] * len(sizes)
        yield from suite.compare(
            spark, contenders(WINDOW * sizes[0], place), place, baseline=PLAIN, goals=goals, agree=agree
        )


def tables(rows: int) -> dict[str, pa.Table]:
    """Rows of which none has the key of another stream's."""
    chance = np.random.default_rng(SEED)
    times = pa.array(BEGIN + np.arange(rows) * TICK, pa.timestamp("us", "UTC"))
    return {
        name: pa.table({"ts": times, "k": chance.integers(0, 10_000, rows) * 2 + place})
        for place, name in enumerate(QUERY_STREAMS)
    }


def contenders(window: int, place: Path) -> dict[str, Contender]:
    """The join without `time`, twice, and with it."""
    query = eddy.Query(
        streams=[
            eddy.Stream(name, time="ts", window=eddy.Range(f"{window} milliseconds"), delay="0 seconds")
            for name in QUERY_STREAMS
        ],
        joins=["a.k = b.k"],
        select=["a.ts AS at", "a.k AS k"],
    )

    def make(time: str | None) -> Contender:
        def frame(spark: SparkSession) -> DataFrame:
            frames = {name: feeds.stream(spark, place / name) for name in QUERY_STREAMS}
            return eddy.attach(query, frames, policy="fixed", cells=feeds.CORES, time=time)

        return Contender(frame=frame)

    return {PLAIN: make(None), CONTROL: make(None), NEWEST: make("newest"), OWN: make("at")}


def agree(answers: Mapping[str, Any]) -> None:
    """Nobody may find anything."""
    if any(answer.num_rows for answer in answers.values()):
        raise AssertionError("streams without a common key have results")


BENCHMARKS = (beats,)
