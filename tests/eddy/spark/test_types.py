"""Every type of Spark's that Python can be handed comes out as it went in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eddy
from tests.eddy.spark import feeds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VALUES = {
    "boolean": "true",
    "tinyint": "-128Y",
    "smallint": "32767S",
    "int": "-2147483648",
    "bigint": "9007199254740993L",
    "float": "cast('NaN' as float)",
    "double": "-0.0D",
    "decimal": "cast('12345678901234567890.123456789012345678' as decimal(38, 18))",
    "text": "'\\u00e4 \\ud83d\\ude00'",
    "varchar": "cast('x' as varchar(3))",
    "binary": "X'00ff'",
    "date": "DATE '0001-01-01'",
    "timestamp": "TIMESTAMP '1883-11-18 12:03:57.999999'",
    "timestamp_ntz": "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'",
    "day_interval": "INTERVAL '-1 02:03:04.000005' DAY TO SECOND",
    "array": "array(TIMESTAMP '2020-01-01 00:00:00', null)",
    "map": "map('a', named_struct('x', 9007199254740993L, 'y', cast(null as decimal(5, 2))), 'b', null)",
    "struct": "named_struct('a', cast(null as bigint), 'b', array(array(1, null), null))",
    "variant": 'parse_json(\'{"a": [1, 2.5, "x"]}\')',
    "`a column`": "1",
    "`a.dot`": "2",
}


@pytest.fixture(params=["UTC", "America/New_York"])
def zone(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    usual = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", str(usual))


def wide(spark: SparkSession) -> DataFrame:
    """A row with every value, one with nulls, and one with both by turns."""
    pick = "if(id = 0 or (id = 2 and {n} % 2 = 0), {value}, null) AS {name}"
    columns = [pick.format(n=n, value=value, name=name) for n, (name, value) in enumerate(VALUES.items())]
    return spark.range(3).selectExpr("TIMESTAMP '2024-01-01 00:00:00' AS ts", "id", *columns)


def spelled(frame: DataFrame) -> DataFrame:
    """What a driver can read: Spark's `toArrow` stumbles over a variant that is null."""
    return frame.selectExpr("* EXCEPT (variant)", "to_json(variant) AS variant")


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("joined", [False, True])
def test_every_type_comes_out_as_it_went_in(spark: SparkSession, tmp_path: Path, joined: bool) -> None:
    wide(spark).write.parquet(str(tmp_path / "in"))
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    streams = [eddy.Stream(name, time="ts", window=eddy.Range("1 minute")) for name in ("ab" if joined else "a")]
    joins = ["a.id = b.id"] if joined else []
    select = [f"a.{name} AS {name}" for name in ("ts", "id", *VALUES)]
    asked = eddy.Query(streams=streams, joins=joins, select=select)
    frame = eddy.attach(asked, {s.name: stream for s in streams}, cells=2)
    assert [(f.name, f.dataType) for f in frame.schema] == [(f.name, f.dataType) for f in schema]
    found = feeds.answer(spelled(frame), tmp_path / "checkpoint").results.sort_by("id")
    expected = spelled(spark.read.parquet(str(tmp_path / "in"))).toArrow().sort_by("id")
    assert [f.type for f in found.schema] == [f.type for f in expected.schema]
    assert str(found.to_pylist()) == str(expected.to_pylist())
