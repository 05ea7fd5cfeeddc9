"""`eddy.follow` waits for a query, tells of it where a notebook is open, and raises what has gone wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import eddy
from eddy import live_line
from eddy.errors import QueryError
from tests.eddy.test_live_line import Shown


def started(spark: SparkSession, place: Path, where: str) -> Any:
    (place / "in").mkdir()
    pq.write_table(pa.table({"v": range(10)}), place / "in" / "0.parquet")
    frame = spark.readStream.schema("v bigint").parquet(str(place / "in"))
    query = eddy.Query(streams=[eddy.Stream("s")], filters=[eddy.Filter("f", on="s", where=where)])
    answer = eddy.attach(query, {"s": frame}, pushdown=False)
    return answer.writeStream.format("noop").queryName("followed").trigger(availableNow=True).start()


def test_a_query_is_followed_to_its_end(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A query that is over before anybody has become impatient is told of by no line.
    monkeypatch.setattr(live_line, "PATIENCE_SECONDS", 0)
    shown = Shown()
    eddy.follow(started(spark, tmp_path, "v > 1"), display=shown)
    assert shown.texts[-1].startswith('query "followed", micro-batch 0: 10 rows, 8 results, ')
    with pytest.raises(QueryError, match="follow: expected a streaming query, got int"):
        eddy.follow(cast("Any", 3))


def test_its_error_is_raised(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StreamingQueryException):
        eddy.follow(started(spark, tmp_path, "v / 0 > 1"))
