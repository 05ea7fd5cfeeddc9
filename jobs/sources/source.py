"""The contract of a source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SourceValues = Mapping[str, Any]
"""The values that the file gives for a source."""


class JobSource(Protocol):
    """A kind of source.

    It is made of what the file says and of the name of the stream or table. The first two need no Spark, so that `eddy
    validate` can ask for them.
    """

    def schema(self) -> pa.Schema | None:
        """Give the columns, if they can be known without Spark."""

    def sample(self, rows: int) -> pa.Table | None:
        """Read the first rows, if they can be had without Spark."""
        return None

    def read(self, rows: int, spark: Callable[[], SparkSession]) -> pa.Table | DataFrame:
        """Read the rows that are there now.

        Or so many of a source that never ends; a session is asked for where needed.

        Nothing that the job has left in a checkpoint counts, and nothing is left anywhere.
        """
        rows_now: pa.Table | DataFrame = self.table(spark())
        return rows_now

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read a streaming DataFrame."""

    def table(self, spark: SparkSession) -> Any:
        """Read a lookup table, as `attach` takes it."""
