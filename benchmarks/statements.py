"""What comes with statements, beside the same without it, and beside Spark alone.

`time` gives an answer a watermark of its own. Micro-batches of a join that finds nothing, so that each cell sends a
beat and nothing else, stand beside the same join without `time`.

Groups of a four-way join are asked for by one text, which `eddy.attach` and `spark.sql` are given as it stands. A
group may be closed by one of them in an earlier micro-batch, so those that all have closed so far are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import eddy
from benchmarks import feeds
from benchmarks.measure import SEED, Goal, Line
from benchmarks.spark_joins import BEGIN, STORES, TICK
from benchmarks.spark_joins import tables as with_times
from benchmarks.suite import Suite
from benchmarks.turns import WARM, Contender
from benchmarks.workloads import COMMON, STREAMS, Workload

PLAIN, CONTROL = "without time", "without again (control)"
NEWEST, OWN = "the newest time", "the time of one stream"

SIZES = (1_000,)
REPEATS = 40
"""Micro-batches that count: the difference is a few milliseconds of some hundred."""

WINDOW = 5
"""Micro-batches that are stored."""

BEATS: Goal = ("at most", 1.02)

QUERY_STREAMS = "ab"

OURS, AGAIN = "eddy, then Spark's groups", "eddy again (control)"

GROUPED_SIZES, GROUPED_REPEATS = (10_000, 500), 7
"""Rows of a stream in each micro-batch: those of the goal, and so few that a micro-batch costs what it costs."""

FILL = 1_000
"""Rows of the micro-batches that do not count: so many are stored when the first that counts comes."""

BOUND = 5_000
"""Milliseconds by which a row may be before or behind that of the first stream."""

TWICE: Mapping[str, Goal] = dict.fromkeys(STORES, ("at least", 2.0))
"""The time that Spark alone must take at least, in times of ours."""


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


def aggregate(
    sizes: Sequence[int] = GROUPED_SIZES,
    repeats: int = GROUPED_REPEATS,
    warm: int = WARM,
    fill: int = FILL,
    bound: int = BOUND,
    workload: Workload = COMMON,
) -> Iterator[Line]:
    """Groups of a four-way join: the same text through the eddy and through Spark alone."""
    yield f"four-way join and groups of a second, {workload.name}; times at most {bound:,} ms from those of the first"
    with feeds.session() as (spark, folder):
        for size in sizes:
            suite = Suite(warm=fill, sizes=(size,), repeats=repeats, warm_batches=warm)
            place, groups = folder / f"rows_{size}", Groups()
            suite.write(place, with_times(workload.data(suite.rows)))
            goals = TWICE if size == GROUPED_SIZES[0] else {}
            yield from suite.compare(
                spark, stated(write_text(bound), place), place, baseline=OURS, goals=(goals,), agree=groups.add
            )
            yield groups.tell()


def write_text(bound: int) -> str:
    """Write the statement; Spark passes over the hint."""
    first, *others = (f"STREAM {name} WATERMARK ts DELAY OF INTERVAL 0 SECONDS AS {name}" for name in STREAMS)
    length = f"INTERVAL {bound} MILLISECONDS"
    joins = (
        f"JOIN {other} ON a.k = {name}.k AND {name}.ts BETWEEN a.ts - {length} AND a.ts + {length}"
        for other, name in zip(others, STREAMS[1:], strict=True)
    )
    return f"""
        SELECT /*+ POLICY(content), CELLS({feeds.CORES}) */ window.start AS first, a.k % 10 AS part, count(*) AS n,
          sum(b.id + c.id + d.id) AS total
        FROM {first} {" ".join(joins)}
        GROUP BY window(a.ts, '1 second'), a.k % 10
    """


def stated(text: str, place: Path) -> dict[str, Contender]:
    """The statement through the eddy, twice, and through Spark alone with each state store."""

    def open_views(spark: SparkSession) -> None:
        for name in STREAMS:
            feeds.stream(spark, place / name).createOrReplaceTempView(name)

    def ours(spark: SparkSession) -> DataFrame:
        open_views(spark)
        return eddy.attach(text)

    def theirs(spark: SparkSession) -> DataFrame:
        open_views(spark)
        return spark.sql(text)

    alone = {name: Contender(frame=theirs, settings=settings) for name, settings in STORES.items()}
    return {OURS: Contender(frame=ours), AGAIN: Contender(frame=ours), **alone}


@dataclass(frozen=True)
class Groups:
    """The groups that each contender has closed so far; those that all have closed must be the same."""

    closed: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, answers: Mapping[str, Any]) -> None:
        """Add the groups of a micro-batch."""
        for name, answer in answers.items():
            groups = self.closed[name]
            for first, part, *values in zip(*answer.to_pydict().values(), strict=True):
                if (first, part) in groups:
                    raise AssertionError(f"{name} has closed a group twice: {first}, {part}")
                groups[first, part] = tuple(values)
        for key in self._find_common():
            if len({groups[key] for groups in self.closed.values()}) > 1:
                raise AssertionError(f"the contenders do not agree: {key}")

    def tell(self) -> str:
        """Tell how many groups all have closed, and how many each."""
        common = len(self._find_common())
        each = ", ".join(f"{name} {len(groups):,}" for name, groups in self.closed.items())
        if not common:
            raise AssertionError(f"no group has been closed by all contenders: {each}")
        return f"{common:,} groups closed by all, and the same; {each}"

    def _find_common(self) -> set[tuple[Any, ...]]:
        return set.intersection(*(set(groups) for groups in self.closed.values()))


BENCHMARKS = (beats, aggregate)
