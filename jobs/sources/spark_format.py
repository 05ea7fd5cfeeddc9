"""Whatever Spark reads, by the name that Spark has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddy.jobs.config.config import text_of
from eddy.jobs.config.references import read_schema as schema_of
from eddy.jobs.sources.files import ddl
from eddy.jobs.sources.source import JobSource, SourceValues

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkFormat(JobSource):
    """A format, or a table of a catalog."""

    def __init__(self, name: str, values: SourceValues) -> None:
        self._name = name
        self._values = values

    def schema(self) -> pa.Schema | None:
        """Give the columns that the file says; Spark alone knows any others."""
        if not self._values["schema"]:
            return None
        return schema_of(self._values["schema"], where=f'source of "{self._name}"')

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read a streaming DataFrame."""
        return self._load(spark.readStream)

    def table(self, spark: SparkSession) -> Any:
        """Read the rows that there are."""
        return self._load(spark.read)

    def _load(self, reader: Any) -> DataFrame:
        values = self._values
        reader = reader.options(**{key: text_of(value) for key, value in values["options"].items()})
        reader = reader.format(values["name"]) if values["name"] else reader
        reader = reader.schema(ddl(values["schema"])) if values["schema"] else reader
        found: DataFrame = reader.table(values["table"]) if values["table"] else reader.load(values["path"])
        return found
