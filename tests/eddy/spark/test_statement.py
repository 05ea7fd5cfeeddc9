"""A statement without brackets and functions is Spark's: the same text, the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import eddy
from eddy.errors import QueryError
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import rows
from tests.sparks import WATERMARKS_IN_SQL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = pa.table({"k": [0, 1, 2, 3, None], "name": ["a", "b", None, "d", "e"]})

JOINED = """
    SELECT {hint} l.v AS lv, r.v AS rv, name FROM STREAM lefts WATERMARK ts DELAY OF INTERVAL 10 MINUTES AS l
    JOIN STREAM rights WATERMARK ts DELAY OF INTERVAL 10 MINUTES AS r
      ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL 5 SECONDS AND l.ts + INTERVAL 20 SECONDS
    INNER JOIN names ON names.k = l.k
    WHERE l.v > 20 AND (r.v % 3 <> 1 OR l.v < r.v) AND name IS NOT NULL
"""

ALONE = """
    SELECT upper_name.*, `v`, upper_name.name AS called, lefts.v AS again FROM STREAM lefts
    JOIN names AS upper_name USING (k)
    LEFT ANTI JOIN banned ON banned.k = lefts.k
    LEFT SEMI JOIN names AS other ON other.k = lefts.k
    WHERE v NOT BETWEEN 30 AND 40 AND v IN (21, 22, 23, 24, 25, 50, 60, 70)
"""


VIEWED = """
    WITH
      large AS (SELECT k AS key, v, ts AS at FROM STREAM lefts WATERMARK ts DELAY OF INTERVAL 10 MINUTES WHERE v > 20),
      known AS (SELECT * FROM names WHERE name <> 'd')
    SELECT large.*, r.w, n.name FROM large
    JOIN (
      SELECT s.v AS w, s.k, s.ts FROM STREAM rights WATERMARK ts DELAY OF INTERVAL 10 MINUTES AS s WHERE s.v % 3 <> 1
    ) r
      ON large.key = r.k AND r.ts BETWEEN at - INTERVAL 5 SECONDS AND at + INTERVAL 20 SECONDS
    JOIN known AS n ON n.k = large.key
"""

EVERY = "SELECT * FROM STREAM lefts JOIN names USING (k) WHERE v > 50"


@contextmanager
def views(spark: SparkSession, place: Path) -> Iterator[None]:
    """The views that the statements name."""
    frames = feeds.streams(spark, place, {"lefts": rows(1), "rights": rows(2)})
    frames |= {"names": spark.createDataFrame(TABLE), "banned": spark.createDataFrame(TABLE.slice(1, 1))}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    yield
    for name in frames:
        spark.catalog.dropTempView(name)


@WATERMARKS_IN_SQL
@pytest.mark.parametrize("text", [JOINED, ALONE, VIEWED, EVERY], ids=["joined", "alone", "viewed", "every"])
def test_the_same_text_gives_the_same_rows(spark: SparkSession, tmp_path: Path, text: str) -> None:
    with views(spark, tmp_path / "in"):
        hinted = text.format(hint="/*+ POLICY(source), CELLS(2) */")
        theirs = feeds.answer(spark.sql(hinted), tmp_path / "theirs")
        ours = feeds.answer(eddy.attach(hinted), tmp_path / "ours")
        assert ours.results.schema.names == theirs.results.schema.names
        assert ours.rows == theirs.rows
        assert ours.rows


def test_what_spark_has_no_words_for(spark: SparkSession, tmp_path: Path) -> None:
    data = {"lefts": rows(1), "rights": rows(2)}
    asked = eddy.Statement(
        """
        SELECT l.v AS lv, r.v AS rv FROM STREAM lefts WATERMARK ts DELAY OF INTERVAL 1 MINUTE [RANGE 15 SECONDS] AS l
        JOIN STREAM rights WATERMARK ts DELAY OF INTERVAL 1 MINUTE [RANGE 15 SECONDS] AS r USING (k) WHERE odd(l.v)
        """,
        functions={"odd": lambda v: v % 2 == 1},
    )
    frames = feeds.streams(spark, tmp_path / "in", data)
    found = feeds.answer(eddy.attach(asked, frames), tmp_path / "checkpoint")
    local = eddy.run_local(asked, data)
    assert found.rows == Counter(tuple(row.values()) for row in local.results.to_pylist())
    assert found.rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT v FROM lefts WHERE v > 1", '"lefts" is a stream; write STREAM lefts'),
        ("SELECT v FROM STREAM nothing", '"nothing" cannot be read'),
        ("SELECT k FROM STREAM names", '"names" cannot be read: .*; leave STREAM out, or make the view from'),
        (
            "SELECT l.k FROM STREAM lefts l JOIN names USING (k) WHERE nane = 'a'",
            'unknown column "nane"; did you mean "name"',
        ),
        ("SELECT k FROM STREAM lefts l JOIN names n ON l.k = n.k", 'column "k" is in "l", "n"; write l.k'),
    ],
)
def test_mistakes(spark: SparkSession, tmp_path: Path, text: str, said: str) -> None:
    with views(spark, tmp_path / "in"), pytest.raises(QueryError, match=said):
        eddy.attach(text)
