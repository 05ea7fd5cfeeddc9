"""Spark's versions spell the types of columns in ways of their own; in Python they arrive in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

import eddy
from eddy.errors import QueryError
from eddy.spark.versions import DOUBLES_QUOTES, KNOWS_ZONES, find_arrow_schema, set_zone

COLUMNS = (
    "at timestamp, local timestamp_ntz, many array<timestamp>, day date, text string, "
    "deep struct<at: timestamp, names: map<string, timestamp>>"
)


def _tell_types(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"type": [str(field.type) for field in batch.schema]})


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_types_are_found_as_they_arrive(spark: SparkSession, zone: str) -> None:
    fields = cast(StructType, StructType.fromDDL(COLUMNS))
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = find_arrow_schema(fields, spark)
        frame = spark.range(1).selectExpr(f"from_json('{{}}', '{COLUMNS}') AS c").select("c.*")
        arrived = [row.type for row in frame.mapInArrow(_tell_types, "type string").collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert [str(field.type) for field in found] == arrived


@pytest.mark.skipif(DOUBLES_QUOTES, reason="this Spark reads quotes that are written twice as we do")
def test_a_quote_that_is_written_twice_is_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    for where in ("cast(value as string) <> 'it''s'", 'cast(value as string) <> "a""b"'):
        query = eddy.Query(streams=[eddy.Stream("s")], filters=[eddy.Filter("f", on="s", where=where)])
        with pytest.raises(QueryError, match="expected no quote that is written twice"):
            eddy.attach(query, {"s": stream})


@pytest.mark.skipif(not KNOWS_ZONES, reason="this Spark's Python spells all times with UTC")
def test_a_zone_reaches_all_times_of_a_type(spark: SparkSession) -> None:
    fields = cast(StructType, StructType.fromDDL(COLUMNS))
    utc, tokyo = (to_arrow_schema(fields, timezone=zone) for zone in ("UTC", "Asia/Tokyo"))
    assert [set_zone(field, "Asia/Tokyo") for field in utc] == list(tokyo)
