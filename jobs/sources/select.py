"""Columns that Spark makes of those of a source, on the way in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddy.jobs.sources.source import JobSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SelectedSource(JobSource):
    """A source whose columns are expressions of Spark over those of another."""

    def __init__(self, name: str, source: JobSource, select: Sequence[str]) -> None:
        self._name = name
        self._source = source
        self._select = select

    def schema(self) -> pa.Schema | None:
        """Spark alone knows what its expressions give."""
        return None

    def read(self, rows: int, spark: Callable[[], SparkSession]) -> pa.Table | DataFrame:
        """Read the rows that there are now, as columns."""
        session = spark()
        return self._pick(self._source.read(rows, lambda: session), session)

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read a streaming DataFrame with these columns."""
        return self._pick(self._source.stream(spark), spark)

    def table(self, spark: SparkSession) -> Any:
        """Read a lookup table with these columns."""
        return self._pick(self._source.table(spark), spark)

    def _pick(self, rows: Any, spark: SparkSession) -> DataFrame:
        frame = spark.createDataFrame(rows) if isinstance(rows, pa.Table) else rows
        return select_columns(frame, self._select, where=f'source of "{self._name}": select')


def select_columns(frame: DataFrame, select: Sequence[str], *, where: str) -> DataFrame:
    """Give columns by Spark's expressions; a mistake in one is told with its place in the file."""
    from eddy.spark.before.own_sql import ask_spark  # noqa: PLC0415  so that validate needs no Spark

    return ask_spark(lambda: frame.selectExpr(*select), where)
