"""A comparison on Spark: the same rows, and the same answer as here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryListener

import eddy
from eddy.comparison.answer import digest
from eddy.spark.session import PARTITIONS
from eddy.spark.trial import SparkTrial
from tests.eddy.comparison.worlds import data, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_policies_are_compared_on_spark(spark: SparkSession) -> None:
    before, tables = spark.conf.get(PARTITIONS), {table.name for table in spark.catalog.listTables()}
    found = eddy.compare(
        query(), data(), ["fixed", "content"], repeats=1, runner="spark", cells=2, batch_rows=100, quiet=True
    )
    rows = found.rows.to_pylist()
    local = eddy.run_local(query(), data(), batch_rows=100)
    assert len(rows) == 3
    assert {(row["runner"], row["tuples"], row["results"]) for row in rows} == {("spark", 200, local.results.num_rows)}
    assert all(row["routing_calls"] > 0 for row in rows)
    assert all(sum(one.trace.batches["rows"]) == 200 for one in found.traced)
    assert all(len(one.trace.batches["rows"]) == 2 for one in found.traced)
    assert spark.conf.get(PARTITIONS) == before
    assert {table.name for table in spark.catalog.listTables()} == tables


class Starts(StreamingQueryListener):
    """Counts the queries that are started."""

    def __init__(self) -> None:
        self.count = 0

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  Spark's name
        self.count += 1

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802  Spark's name
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802  Spark's name
        pass


def test_the_run_in_which_spark_warms_up_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    starts = Starts()
    spark.streams.addListener(starts)
    try:
        for _ in range(2):  # the second time all runs are there, and nothing has to be warm
            found = eddy.compare(
                query(), data(), ["fixed"], repeats=1, runner="spark", cells=2, resume=tmp_path / "r", quiet=True
            )
            assert (found.rows.num_rows, starts.count) == (2, 3)
    finally:
        spark.streams.removeListener(starts)


@pytest.mark.usefixtures("spark")
def test_spark_gives_the_answer_that_is_given_here(tmp_path: Path) -> None:
    results, report, seconds = SparkTrial(query(), data(), tmp_path, cells=2).run("fixed", batch_rows=100, seed=0)
    assert digest(results) == digest(eddy.run_local(query(), data(), batch_rows=100).results)
    assert report.batches()["rows"].tolist() == [100, 100]
    assert seconds > 0
