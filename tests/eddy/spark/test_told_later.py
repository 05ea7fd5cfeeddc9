"""Answers that are told later, through Spark: what run_local tells, in cells without rows of their own as well."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import eddy
from tests import reference
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import DAY, SECOND, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES = {
    "a": [table([1, 4], [1, 2], [0, 1]), table([12, 9], [1, 3], [2, 3]), table([30], [2], [4]), table([90], [7], [5])],
    "b": [table([2, 3], [1, 2], [0, 1]), table([11], [3], [2]), table([29, 33], [2, 1], [3, 4]), table([91], [8], [5])],
}

QUERY = eddy.Query(
    streams=[
        eddy.Stream("a", time="ts", window=eddy.Range("15 seconds"), delay="5 seconds"),
        eddy.Stream("b", time="ts", window=eddy.Rows(1, by=["k"]), delay="5 seconds"),
    ],
    joins=["a.k = b.k"],
    select=["a.k", "a.ts", "b.v AS b_v"],
)


def numbered(results: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(tuple(map(reference.plain, row.values())) for row in results.to_pylist())


@pytest.mark.parametrize("emit", ["end", eddy.Every("5 seconds")])
def test_cells_tell_what_one_engine_tells(spark: SparkSession, tmp_path: Path, emit: str | eddy.Every) -> None:
    asked = replace(QUERY, emit=emit)
    frames = feeds.streams(spark, tmp_path / "in", BATCHES)
    found = feeds.answer(eddy.attach(asked, frames, cells=3), tmp_path / "checkpoint")
    expected = eddy.run_local(asked, BATCHES).results
    assert len(expected) > 3
    assert found.rows == numbered(expected)
    assert found.report.batches()["held"].iloc[0] > 0


def test_groups_of_ticks_close(spark: SparkSession, tmp_path: Path) -> None:
    frames = feeds.streams(spark, tmp_path / "in", BATCHES)
    clock = "WATERMARK ts DELAY OF INTERVAL 5 SECONDS"
    text = f"""
        RSTREAM(
            SELECT k, count(*) AS n
            FROM STREAM a {clock} [RANGE 15 SECONDS] JOIN STREAM b {clock} [PARTITION BY k ROWS 1] USING (k)
            GROUP BY k
        ) EVERY INTERVAL 5 SECONDS
    """
    found = feeds.answer(eddy.attach(text, frames, cells=2), tmp_path / "checkpoint")
    told = eddy.run_local(replace(QUERY, emit=eddy.Every("5 seconds")), BATCHES).results.to_pylist()
    expected = Counter((row["k"], row["tick"]) for row in told)
    assert {(row["k"], row["tick"]): row["n"] for row in found.results.to_pylist()} == dict(expected)


def seconds(rows: pa.Table) -> pa.Array:
    """Event times as numbers: seconds of the first day."""
    return pa.array([(micros - DAY) // SECOND for micros in rows.column("ts").cast(pa.int64()).to_pylist()], pa.int64())


def test_numbers_are_times_too(spark: SparkSession, tmp_path: Path) -> None:
    plain = {name: [t.set_column(0, "ts", seconds(t)) for t in tables] for name, tables in BATCHES.items()}
    streams = [
        eddy.Stream("a", time="ts", window=eddy.Range(15), delay=5),
        eddy.Stream("b", time="ts", window=eddy.Rows(1, by=["k"]), delay=5),
    ]
    asked = replace(QUERY, streams=streams, emit="end")
    frames = feeds.streams(spark, tmp_path / "in", plain)
    found = feeds.answer(eddy.attach(asked, frames, cells=2), tmp_path / "checkpoint")
    assert found.rows == numbered(eddy.run_local(asked, plain).results)
