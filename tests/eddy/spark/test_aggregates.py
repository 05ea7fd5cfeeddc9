"""Aggregates of what attach gives: what Spark drops is told, and what `explain` says to write loses nothing."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import eddy
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import DAY, SECOND, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEP, BATCHES, GROUP = 40, 3, 10
"""Seconds of event time in a micro-batch and in a group, and micro-batches before the one that closes all groups."""

END = 100_000

QUERY = eddy.Query(
    streams=[eddy.Stream(name, time="ts", window=eddy.Range("200 seconds"), delay="5 seconds") for name in "ab"],
    joins=["a.k = b.k"],
    select=["a.ts AS a_ts", "b.ts AS b_ts"],
)


def data(seed: int) -> list[pa.Table]:
    chance = np.random.default_rng(seed)
    times = [chance.integers(n * STEP, (n + 1) * STEP, 20).tolist() for n in range(BATCHES)]
    return [table(t, chance.integers(0, 6, 20).tolist(), range(20)) for t in times] + [table([END], [0], [0])]


def recipe() -> tuple[str, str]:
    """The newest time in a result, and how long to wait for those of `a`."""
    told = eddy.explain(QUERY)
    newest = re.search(r"newest time in a result: (.*), withWatermark with any delay", told)
    longest = re.search(r'a_ts +"(.*)"', told)
    assert newest
    assert longest
    return newest[1], longest[1]


def counted(times: list[int]) -> Counter[int]:
    """Results in each group, but for the one that is still open."""
    return Counter(time // GROUP * GROUP for time in times if time < END)


@contextmanager
def warned(of: str) -> Iterator[None]:
    """Exactly one warning of ours, or none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    told = [str(warning.message) for warning in caught if issubclass(warning.category, eddy.EddyWarning)]
    assert len(told) == bool(of)
    assert all(of in text for text in told)


def aggregated(frames: Mapping[str, DataFrame], time: str, delay: str, place: Path) -> Counter[int]:
    from pyspark.sql import functions as F  # noqa: N812

    answer = eddy.attach(QUERY, frames, cells=2).withColumn("time", F.expr(time)).withWatermark("time", delay)
    found = feeds.answer(answer.groupBy(F.window("time", f"{GROUP} seconds")).count(), place)
    assert found.report.batches()["late"].sum() == 0
    rows = found.results.to_pylist()
    return Counter({int(row["window"]["start"].timestamp()) - DAY // SECOND: row["count"] for row in rows})


def test_results_that_spark_drops_are_told_and_the_recipe_loses_none(spark: SparkSession, tmp_path: Path) -> None:
    feed = {name: data(seed) for seed, name in enumerate("ab")}
    frames = feeds.streams(spark, tmp_path / "in", feed)
    results = eddy.run_local(QUERY, feed).results.to_pylist()
    seconds = [[int(row[name].timestamp()) - DAY // SECOND for name in ("a_ts", "b_ts")] for row in results]
    newest, longest = recipe()
    with warned("has dropped results as late"):
        lost = aggregated(frames, "a_ts", "5 seconds", tmp_path / "lost")
    assert lost < counted([a for a, _ in seconds])
    with warned(""):
        assert aggregated(frames, newest, "0 seconds", tmp_path / "newest") == counted([max(s) for s in seconds])
        assert aggregated(frames, "a_ts", longest, tmp_path / "longest") == counted([a for a, _ in seconds])
