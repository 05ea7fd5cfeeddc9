"""Runs a query on Spark, over data at hand."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from eddy.errors import QueryError
from eddy.observe.report import Report
from eddy.query import Query
from eddy.spark.attach import attach
from eddy.spark.layout.planning import CELLS
from eddy.spark.progress import report_of
from eddy.spark.session import PARTITIONS
from eddy.wiring import IndexChoice, PolicyChoice

FIRST_FILE_SECONDS = 1_000_000_000
"""Seconds from 1970 to the time of the first file. Spark takes the oldest files first."""


class SparkTrial:
    """Files of the streams in a folder, one per micro-batch, and their runs.

    It takes the session that there is, which must see this machine's files.
    """

    def __init__(self, query: Query, data: Mapping[str, pa.Table], place: Path, *, cells: int | None) -> None:
        self._cells = cells
        self._data = data
        self._query = query
        self._place = place
        self._spark = _session()

    def run(
        self,
        policy: PolicyChoice,
        *,
        batch_rows: int,
        seed: int,
        index: IndexChoice = None,
        cache_memory: int | None = None,
    ) -> tuple[pa.Table, Report, float]:
        """Give the answer, the report, and the seconds of the query.

        All filters stay with the eddy, since what Spark does before it is the same for every policy.
        """
        names = [*self._query.sources, *(table.name for table in self._query.tables)]
        frames = {name: self._frame(name, batch_rows) for name in names}
        before = self._spark.conf.get(PARTITIONS, None)
        self._spark.conf.set(PARTITIONS, str(self._cells or CELLS))
        try:
            frame = attach(
                self._query,
                frames,
                policy=policy,
                index=index,
                cache_memory=cache_memory,
                cells=self._cells,
                pushdown=False,
                seed=seed,
            )
            return self._drain(frame)
        finally:
            if before is None:
                self._spark.conf.unset(PARTITIONS)
            else:
                self._spark.conf.set(PARTITIONS, before)

    def _drain(self, frame: DataFrame) -> tuple[pa.Table, Report, float]:
        name = f"eddy_trial_{uuid.uuid4().hex}"
        checkpoint = self._place / name
        writer = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(checkpoint))
        started = time.perf_counter()
        job = writer.outputMode("append").trigger(availableNow=True).start()
        try:
            job.awaitTermination()
            seconds = time.perf_counter() - started
            return self._spark.table(name).toArrow(), report_of(job), seconds
        finally:
            job.stop()
            self._spark.catalog.dropTempView(name)

    def _frame(self, name: str, batch_rows: int) -> DataFrame | pa.Table:
        table = self._data[name]
        if name not in self._query.sources:
            return table
        place = self._place / f"{batch_rows}" / name
        if not place.exists():
            _write(place, table, batch_rows)
        schema = self._spark.read.parquet(str(place)).schema
        return self._spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(place))


def _session() -> SparkSession:
    found = SparkSession.getActiveSession()
    if found is None:
        raise QueryError(
            'compare: runner="spark": expected a session of Spark, got none; start one first, for example with '
            'SparkSession.builder.master("local[2]").getOrCreate()'
        )
    return found


def _write(place: Path, table: pa.Table, batch_rows: int) -> None:
    """Write a stream's micro-batches, a file each, oldest first."""
    place.mkdir(parents=True)
    for number, start in enumerate(range(0, max(table.num_rows, 1), batch_rows)):
        file = place / f"{number:06}.parquet"
        pq.write_table(table.slice(start, batch_rows), file)
        os.utime(file, (FIRST_FILE_SECONDS + number, FIRST_FILE_SECONDS + number))
