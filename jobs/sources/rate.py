"""Rows that Spark makes at a steady rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eddy.errors import QueryError
from eddy.jobs.config.config import text_of
from eddy.jobs.sources.source import JobSource, SourceValues
from eddy.sql.values import types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SECOND = 1_000_000
"""Microseconds, in which Spark counts event times."""


class Rate(JobSource):
    """The columns `timestamp` and `value`, which counts from 0."""

    def __init__(self, name: str, values: SourceValues) -> None:
        self._values = values

    def schema(self) -> pa.Schema | None:
        """It is known."""
        return pa.schema({"timestamp": types.TIMESTAMP, "value": types.BIGINT})

    def read(self, rows: int, spark: Callable[[], SparkSession]) -> pa.Table | DataFrame:
        """The rows that Spark would make, as if it had begun in 1970."""
        numbers = np.arange(rows, dtype=np.int64)
        times = pa.array(numbers * SECOND // int(self._values["per_second"]), types.TIMESTAMP)
        return pa.table({"timestamp": times, "value": numbers})

    def stream(self, spark: SparkSession) -> DataFrame:
        """Rows for ever."""
        partitions = self._values["partitions"]
        options = {
            "rowsPerSecond": text_of(self._values["per_second"]),
            **({"numPartitions": text_of(partitions)} if partitions else {}),
            **{name: text_of(value) for name, value in self._values["options"].items()},
        }
        return spark.readStream.format("rate").options(**options).load()

    def table(self, spark: SparkSession) -> Any:
        """It never ends, so it is no table."""
        raise QueryError("source: rows made at a rate are no table; make them a stream")
