"""A session of Spark, and streams of files for it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

CORES = 2
"""Cores of every run, and so many cells and partitions: as many as can work at once."""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # In local mode everything that Spark holds is in the driver, the state of all contenders as well.
    "spark.driver.memory": "6g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

OLDEST = 1_000_000_000
"""Seconds since 1970: the time of the first file. Spark takes the oldest files first."""


@contextmanager
def session() -> Iterator[tuple[SparkSession, Path]]:
    """Start Spark with two cores, and a folder for its files.

    The folder is removed at the end; a session that is there already is left there.
    """
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as folder:
        found = SparkSession.getActiveSession()
        spark = found or _start(Path(folder))
        try:
            yield spark, Path(folder)
        finally:
            if found is None:
                spark.stop()


def _start(place: Path) -> SparkSession:
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("eddy-benchmarks")
    for key, value in {**SETTINGS, "spark.sql.warehouse.dir": str(place / "warehouse")}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write(place: Path, batches: Sequence[pa.Table], files: int = 1) -> None:
    """A stream's micro-batches, each in so many files: as many tasks can read it at once."""
    place.mkdir(parents=True)
    number = 0
    for batch in batches:
        for part in range(files):
            first, last = (batch.num_rows * edge // files for edge in (part, part + 1))
            file = place / f"{number:06}.parquet"
            pq.write_table(batch.slice(first, last - first), file)
            os.utime(file, (OLDEST + number, OLDEST + number))
            number += 1


def stream(spark: SparkSession, place: Path, files: int = 1) -> DataFrame:
    """The stream that has been written there."""
    schema = spark.read.parquet(str(next(place.glob("*.parquet")))).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(place))
