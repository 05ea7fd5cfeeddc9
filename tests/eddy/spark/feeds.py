"""Streams of files, one file for each micro-batch, and what a query over them answers."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

import eddy
from tests import reference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

SCHEMAS: dict[tuple[str | None, str], StructType] = {}
"""Of Spark, by those of Arrow."""


@dataclass(frozen=True)
class Answer:
    """What came out, and what is told of it."""

    results: pa.Table
    query: StreamingQuery

    @property
    def report(self) -> eddy.Report:
        """What the cells told."""
        return eddy.report_of(self.query)

    @property
    def rows(self) -> Counter[tuple[Any, ...]]:
        """As the reference writes it."""
        return Counter(tuple(map(reference.plain, row.values())) for row in self.results.to_pylist())


def write(place: Path, tables: Sequence[pa.Table]) -> None:
    """Add micro-batches to a stream."""
    place.mkdir(parents=True, exist_ok=True)
    first = len(list(place.glob("*.parquet")))
    for number, table in enumerate(tables, first):
        file = place / f"{number:04}.parquet"
        pq.write_table(table, file)
        # Spark takes the oldest files first.
        os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))


def stream(spark: SparkSession, place: Path, tables: Sequence[pa.Table] = ()) -> DataFrame:
    """A stream that has one file in each micro-batch."""
    write(place, tables)
    return spark.readStream.schema(_schema(spark, place)).option("maxFilesPerTrigger", 1).parquet(str(place))


def _schema(spark: SparkSession, place: Path) -> StructType:
    """What Spark makes of the columns of a file: it takes a job to tell, so it is asked once for each schema."""
    columns = pq.read_schema(min(place.glob("*.parquet"))).remove_metadata()
    key = (spark.conf.get("spark.sql.session.timeZone"), columns.to_string())
    if key not in SCHEMAS:
        SCHEMAS[key] = spark.read.parquet(str(place)).schema
    return SCHEMAS[key]


def streams(spark: SparkSession, place: Path, feeds: Mapping[str, Sequence[pa.Table]]) -> dict[str, DataFrame]:
    """Several of them."""
    return {name: stream(spark, place / name, tables) for name, tables in feeds.items()}


def answer(frame: DataFrame, checkpoint: Path) -> Answer:
    """Run a query until all files are read."""
    parts: dict[int, pa.Table] = {}

    def take(batch: DataFrame, number: int) -> None:
        parts[number] = batch.toArrow()

    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    tables = [table for _, table in sorted(parts.items()) if table.num_rows] or list(parts.values())[:1]
    return Answer(pa.concat_tables(tables) if tables else pa.table({}), query)


def read_committed(folder: Path) -> pa.Table:
    """Read what a sink of files has: those in Spark's log of them. A task that was lost leaves others behind."""
    logs = [file for file in (folder / "_spark_metadata").iterdir() if not file.name.startswith(".")]
    lines = [line for file in logs for line in file.read_text("utf-8").splitlines() if line.startswith("{")]
    paths = {unquote(urlparse(json.loads(line)["path"]).path) for line in lines}
    return pa.concat_tables([pq.read_table(path) for path in sorted(paths)])
