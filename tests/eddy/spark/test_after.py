"""What a statement leaves to Spark: the same text on plain Spark gives the same rows, aggregates included."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eddy
from eddy.errors import QueryError
from tests.eddy.spark import feeds
from tests.eddy.spark.test_statement import views
from tests.sparks import WATERMARKS_IN_SQL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOINED = """
    FROM STREAM lefts WATERMARK ts DELAY OF INTERVAL 10 SECONDS AS l
    JOIN STREAM rights WATERMARK ts DELAY OF INTERVAL 10 SECONDS AS r
      ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL 5 SECONDS AND l.ts + INTERVAL 20 SECONDS
    JOIN names ON names.k = l.k
"""

COMPUTED = f"""
    SELECT l.v * 2 AS twice, upper(names.name), CASE WHEN r.v > l.v THEN 'more' ELSE '{{}}' END what, r.ts AS at,
      l.k, names.* {JOINED} WHERE l.v > 20
"""


@WATERMARKS_IN_SQL
def test_columns_that_spark_computes(spark: SparkSession, tmp_path: Path) -> None:
    with views(spark, tmp_path / "in"):
        theirs = feeds.answer(spark.sql(COMPUTED), tmp_path / "theirs")
        ours = feeds.answer(eddy.attach(COMPUTED), tmp_path / "ours")
    assert ours.rows == theirs.rows
    assert ours.rows
    assert ours.results.schema.names == ["twice", "upper(names.name)", "what", "at", "k", "k", "name"]


GROUPED = [
    # What groups are made by, and the same over the joined rows.
    ("window(l.ts, '10 seconds')", "window(lt, '10 seconds')"),
    ("window(r.ts, '10 seconds', '5 seconds'), l.k % 2", "window(rt, '10 seconds', '5 seconds'), odd"),
    ("window(greatest(l.ts, r.ts), '10 seconds'), names.name", "window(greatest(lt, rt), '10 seconds'), name"),
    ("window(result_time(), '10 seconds')", "window(greatest(lt, rt), '10 seconds')"),
]


@WATERMARKS_IN_SQL
@pytest.mark.parametrize(("group", "naive"), GROUPED)
def test_groups_have_every_result(spark: SparkSession, tmp_path: Path, group: str, naive: str) -> None:
    with views(spark, tmp_path / "in"):
        asked = (
            f"SELECT window.start AS first, count(*) AS n, sum(r.v + l.v) AS s {JOINED} WHERE l.v > 5 GROUP BY {group}"
        )
        ours = feeds.answer(eddy.attach(f"{asked} HAVING count(*) > 0", cells=2), tmp_path / "ours").results.to_pylist()
        columns = "l.ts AS lt, r.ts AS rt, l.v AS lv, r.v AS rv, l.k % 2 AS odd, name"
        joined = feeds.answer(spark.sql(f"SELECT {columns} {JOINED} WHERE l.v > 5"), tmp_path / "theirs").results
    counted = f"SELECT window.start AS first, count(*) AS n, sum(rv + lv) AS s FROM {{joined}} GROUP BY {naive}"
    whole = spark.sql(counted, joined=spark.createDataFrame(joined)).toArrow().to_pylist()
    # The last groups are not closed: nothing has come behind them. Those that are have all of their rows.
    last = max(row["first"] for row in ours)
    assert Counter(map(str, ours)) <= Counter(map(str, whole))
    assert Counter(str(row) for row in whole if row["first"] < last) <= Counter(map(str, ours))
    assert len({row["first"] for row in ours}) > 2


@WATERMARKS_IN_SQL
def test_distinct_rows(spark: SparkSession, tmp_path: Path) -> None:
    with views(spark, tmp_path / "in"):
        text = f"SELECT DISTINCT l.k, l.ts AS t {JOINED}"
        ours = feeds.answer(eddy.attach(text), tmp_path / "ours").rows
        joined = feeds.answer(spark.sql(f"SELECT l.k, l.ts {JOINED}"), tmp_path / "theirs").rows
    assert set(ours.values()) == {1}
    assert len(ours) > 5
    assert set(ours) <= set(joined)


def test_times_and_statements_do_not_mix(spark: SparkSession, tmp_path: Path) -> None:
    with (
        views(spark, tmp_path / "in"),
        pytest.raises(QueryError, match="the statement computes its columns, and says by what time groups close"),
    ):
        eddy.attach("SELECT l.v + 1 AS w FROM STREAM lefts AS l", time="ts")


@WATERMARKS_IN_SQL
def test_a_view_has_no_watermark_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    text = f"SELECT count(*) AS n {JOINED} GROUP BY window(l.ts, '10 seconds')"
    with views(spark, tmp_path / "in"):
        own = spark.table("lefts").withWatermark("ts", "3 seconds")
        for view in (own, own.selectExpr("k", "v", "ts + INTERVAL 0 SECONDS AS ts")):
            view.createOrReplaceTempView("lefts")
            with pytest.raises(QueryError, match=r'^frame "l": expected one without a wat.* got one from withW'):
                eddy.attach(text)
        # A schema that was taken from such a frame has its mark, and is no watermark.
        marked = spark.readStream.schema(own.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in/lefts"))
        marked.createOrReplaceTempView("lefts")
        assert feeds.answer(eddy.attach(text), tmp_path / "ours").results.num_rows > 0
