"""Topics of Kafka, through Spark's own connector."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddy.errors import QueryError, unknown_name
from eddy.jobs.config.config import text_of
from eddy.jobs.config.connectors import BYTES
from eddy.jobs.config.references import read_schema as schema_of
from eddy.jobs.sources.files import ddl, quote
from eddy.jobs.sources.source import JobSource, SourceValues
from eddy.sql.values import types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXT = "make_valid_utf8(cast(value as string))"
"""Bytes that are no text become signs that say so: what is no UTF-8 would fail the job where Python takes it."""

MESSAGE_COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "key": ("make_valid_utf8(cast(key as string))", types.STRING),
    "topic": ("topic", types.STRING),
    "partition": ("partition", types.INT),
    "offset": ("offset", types.BIGINT),
    "timestamp": ("timestamp", types.TIMESTAMP),
    "malformed": (
        f"if(parsed is null or length(value) = 0, coalesce({TEXT}, ''), parsed.kafka_malformed)",
        types.STRING,
    ),
}
"""The columns of a message that may be added, as SQL, and their types.

`malformed` is the text of a value that does not fit the schema, in whole or in part. It is empty where there is no
value at all, and null where all is well.
"""

OWN_COLUMNS = pa.schema(
    {
        "key": types.BINARY,
        "value": types.BINARY,
        "topic": types.STRING,
        "partition": types.INT,
        "offset": types.BIGINT,
        "timestamp": types.TIMESTAMP,
        "timestampType": types.INT,
    }
)
"""The columns that the connector gives."""


class Kafka(JobSource):
    """Messages with a value in JSON or CSV, or in bytes that nobody reads here.

    What cannot be read of a value is null.
    """

    def __init__(self, name: str, values: SourceValues) -> None:
        self._values = values
        for added in values["add"]:
            if added not in MESSAGE_COLUMNS:
                raise unknown_name("column", added, MESSAGE_COLUMNS, where=f'source of "{name}": add')

    def schema(self) -> pa.Schema | None:
        """Give the columns of the value, and those that are added."""
        if self._values["value"] == BYTES:
            return OWN_COLUMNS
        if not self._values["schema"]:
            return None
        schema = schema_of(self._values["schema"], where="schema")
        for name in self._values["add"]:
            schema = schema.append(pa.field(f"kafka_{name}", MESSAGE_COLUMNS[name][1]))
        return schema

    def options(self) -> dict[str, str]:
        """Give the options of the connector."""
        limit = {"maxOffsetsPerTrigger": text_of(self._values["per_trigger"])} if self._values["per_trigger"] else {}
        return {
            "kafka.bootstrap.servers": self._values["servers"],
            "subscribe": self._values["topic"],
            "startingOffsets": self._values["starting"],
            **limit,
            **{name: text_of(value) for name, value in self._values["options"].items()},
        }

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read the messages as columns."""
        return self.columns(spark.readStream.format("kafka").options(**self.options()).load())

    def read(self, rows: int, spark: Callable[[], SparkSession]) -> pa.Table | DataFrame:
        """Read the messages that there are."""
        return self.columns(spark().read.format("kafka").options(**self.options_now()).load())

    def options_now(self) -> dict[str, str]:
        """Give the options to read what there is.

        "latest" would be nothing, so it begins at the earliest.
        """
        options = self.options()
        starts = "earliest" if options["startingOffsets"] == "latest" else options["startingOffsets"]
        return {**options, "startingOffsets": starts, "endingOffsets": options.get("endingOffsets", "latest")}

    def columns(self, messages: DataFrame) -> DataFrame:
        """Give the columns of messages, as the connector gives them or out of their values."""
        if self._values["value"] == BYTES:
            return messages
        columns = [f"parsed.{quote(name)}" for name in self._values["schema"]]
        added = [f"{MESSAGE_COLUMNS[name][0]} as kafka_{name}" for name in self._values["add"]]
        return messages.selectExpr("*", self._parse()).selectExpr(*columns, *added)

    def _parse(self) -> str:
        """Parse the value into columns.

        A value that does not fit is kept only where it is asked for, since that costs a copy.
        """
        kept = {"kafka_malformed": "string"} if "malformed" in self._values["add"] else {}
        schema = ddl({**self._values["schema"], **kept}).replace("\\", r"\\").replace("'", r"\'")
        options = ", map('columnNameOfCorruptRecord', 'kafka_malformed')" if kept else ""
        return f"from_{self._values['value']}({TEXT}, '{schema}'{options}) as parsed"

    def table(self, spark: SparkSession) -> Any:
        """A topic never ends, so it is no table."""
        raise QueryError("source: a topic is no table; make it a stream")
