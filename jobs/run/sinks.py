"""Sinks: the answer of a job is written to one of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import eddy
from eddy.errors import unknown_name
from eddy.jobs.config.config import Job, text_of
from eddy.jobs.config.connectors import SINK_GROUP
from eddy.jobs.config.query.together import TOGETHER
from eddy.jobs.sources.files import quote
from eddy.jobs.sources.select import select_columns
from eddy.plug_ins import PlugIns
from eddy.query.together.queries import QUERY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

WHOLE = """map('timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")"""
"""Times down to the microsecond; left to itself, Spark writes milliseconds, and rows that differ would have one key."""


MEMORY = "memory"
"""The sink whose name is that of a table."""

KAFKA = "kafka"
"""The sink that has topics."""


class Sink(NamedTuple):
    """A way to write a stream of rows, and one to write all rows of a batch."""

    stream: Callable[[DataFrame, Mapping[str, Any]], DataStreamWriter]
    batch: Callable[[DataFrame, Mapping[str, Any]], None]


class Startable(Protocol):
    """A prepared stream, which only has to be started."""

    def start(self) -> StreamingQuery:
        """Start it."""


@dataclass(frozen=True)
class IntoTable:
    """A stream into a table of a catalog, which Spark starts by another name."""

    writer: DataStreamWriter
    table: str

    def start(self) -> StreamingQuery:
        """Start it."""
        return self.writer.toTable(self.table)


def write_answer(frame: DataFrame, job: Job, place: str = "sink") -> Startable:
    """Write the answer, or what is put aside, to its sink.

    In append mode, named, triggered, with a checkpoint if there is one.
    """
    frame, values = _pick_columns(frame, job, place)
    writer = _write(frame, values, job, place)
    return IntoTable(writer, values["table"]) if values.get("table") else writer


def _write(frame: DataFrame, values: Mapping[str, Any], job: Job, place: str) -> DataStreamWriter:
    writer = ALL_SINKS[values["format"]].stream(frame, values).outputMode("append").queryName(_name_query(job, place))
    if job.checkpoint:
        # The checkpoint of what is put aside is in that of the job, so that both begin anew together.
        location = job.checkpoint if place == "sink" else f"{job.checkpoint.rstrip('/')}/{place}"
        writer = writer.option("checkpointLocation", location)
    if job.trigger["available_now"]:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=job.trigger["every"]) if job.trigger["every"] else writer


def write_batch(frame: DataFrame, job: Job, place: str = "sink") -> None:
    """Write all rows of the answer, or of what is put aside, to its sink."""
    frame, values = _pick_columns(frame, job, place)
    if values["format"] == MEMORY:
        values = {**values, "name": _name_query(job, place)}
    ALL_SINKS[values["format"]].batch(frame, values)


def _name_query(job: Job, place: str) -> str:
    """Name Spark's query, which is the name of a table in memory as well."""
    values = job.values[place]
    if values["format"] == MEMORY and values["name"]:
        return str(values["name"])
    return job.name if place == "sink" else f"{job.name}_{place}"


def _pick_columns(frame: DataFrame, job: Job, place: str) -> tuple[DataFrame, Mapping[str, Any]]:
    """Give the columns that are written, and the values of a sink, whose columns must be there."""
    values: Mapping[str, Any] = job.values[place]
    if values.get("per_query"):
        values = {**values, "partition_by": [QUERY, *values["partition_by"]]}
    if values["format"] == KAFKA and place == "sink" and job.members:
        said = job.values[TOGETHER]
        values = {**values, "topics": {name: said[name]["topic"] or values["topic"] for name in said}}
    if values.get("select"):
        frame = select_columns(frame, values["select"], where=f"{job.at((place, 'select'))}: select")
    for key in ("key", "partition_by"):
        for name in _to_list(values.get(key)):
            if name not in frame.columns:
                raise unknown_name("output column", name, frame.columns, where=job.at((place, key)))
    return frame, values


def _stream_to_console(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    options = {"numRows": text_of(sink["rows"]), "truncate": text_of(sink["truncate"])}
    return frame.writeStream.format("console").options(**options)


def _show(frame: DataFrame, sink: Mapping[str, Any]) -> None:
    """Print the first rows, when all have been computed; what is shown of them is kept meanwhile."""
    kept = frame.persist()
    try:
        kept.count()
        kept.show(sink["rows"], truncate=sink["truncate"])
    finally:
        kept.unpersist()


def _stream_to_parquet(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    writer = frame.writeStream.format("parquet").option("path", sink["path"]).options(**_options(sink))
    return writer.partitionBy(*sink["partition_by"]) if sink["partition_by"] else writer


def _write_parquet(frame: DataFrame, sink: Mapping[str, Any]) -> None:
    # Into a new folder, which Spark checks: nobody knows whether rows that are there are of an earlier pass.
    writer = frame.write.options(**_options(sink))
    (writer.partitionBy(*sink["partition_by"]) if sink["partition_by"] else writer).parquet(sink["path"])


def _make_messages(frame: DataFrame, sink: Mapping[str, Any]) -> DataFrame:
    columns = [f"to_{sink['value']}(struct(*), {WHOLE}) as value"]
    if isinstance(sink["key"], list):
        columns.append(f"to_json(struct({', '.join(map(quote, sink['key']))}), {WHOLE}) as key")
    elif sink["key"]:
        columns.append(f"cast({quote(sink['key'])} as string) as key")
    if topics := sink.get("topics"):
        listed = ", ".join(f"'{name}', {_write_text(topic)}" for name, topic in topics.items())
        columns.append(f"map({listed})[{QUERY}] as topic")
    return frame.selectExpr(*columns)


def _write_text(text: str) -> str:
    r"""Write a text as SQL of Spark's, whatever is in it.

    >>> print(_write_text("it's"))
    'it\U00000027s'
    """
    return "'" + "".join(one if one.isalnum() or one in "._-" else f"\\U{ord(one):08x}" for one in text) + "'"


def _list_kafka_options(sink: Mapping[str, Any]) -> dict[str, str]:
    # A topic among the options would win over that of a row.
    topic = {} if sink.get("topics") else {"topic": sink["topic"]}
    return {"kafka.bootstrap.servers": sink["servers"], **topic, **_options(sink)}


def _stream_to_kafka(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    return _make_messages(frame, sink).writeStream.format("kafka").options(**_list_kafka_options(sink))


def _write_kafka(frame: DataFrame, sink: Mapping[str, Any]) -> None:
    _make_messages(frame, sink).write.format("kafka").options(**_list_kafka_options(sink)).save()


def _stream_to_spark(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    writer: DataStreamWriter = _set_format(frame.writeStream, sink)
    return writer.option("path", sink["path"]) if sink["path"] else writer


def _write_spark(frame: DataFrame, sink: Mapping[str, Any]) -> None:
    writer = _set_format(frame.write.mode(sink["existing"] or "error"), sink)
    if sink["table"]:
        writer.saveAsTable(sink["table"])
    else:
        writer.save(sink["path"])


def _set_format(writer: Any, sink: Mapping[str, Any]) -> Any:
    writer = writer.options(**_options(sink))
    writer = writer.format(sink["name"]) if sink["name"] else writer
    return writer.partitionBy(*sink["partition_by"]) if sink["partition_by"] else writer


def _find_function(sink: Mapping[str, Any]) -> Callable[[DataFrame, int], Any]:
    """Find the function of a sink, or make one that gives each query's rows to its own."""
    if sink.get("functions"):
        return eddy.each({name: _import(text) for name, text in sink["functions"].items()})
    return _import(sink["function"])


def _import(text: str) -> Callable[[DataFrame, int], Any]:
    module, _, name = text.partition(":")
    function: Callable[[DataFrame, int], Any] = getattr(importlib.import_module(module), name)
    return function


def _write_memory(frame: DataFrame, sink: Mapping[str, Any]) -> None:
    frame.sparkSession.createDataFrame(frame.toArrow()).createOrReplaceTempView(sink["name"])


SINKS: dict[str, Sink] = {
    "console": Sink(_stream_to_console, _show),
    "parquet": Sink(_stream_to_parquet, _write_parquet),
    KAFKA: Sink(_stream_to_kafka, _write_kafka),
    "spark": Sink(_stream_to_spark, _write_spark),
    MEMORY: Sink(lambda frame, _: frame.writeStream.format("memory"), _write_memory),
    "noop": Sink(
        lambda frame, _: frame.writeStream.format("noop"),
        lambda frame, _: frame.write.format("noop").mode("overwrite").save(),
    ),
    "foreach_batch": Sink(
        lambda frame, sink: frame.writeStream.foreachBatch(_find_function(sink)),
        lambda frame, sink: _find_function(sink)(frame, 0),
    ),
}
"""Every kind of sink; a new one is its functions, its section in `eddy.jobs.config.connectors`, and one line here."""

ALL_SINKS = PlugIns(SINKS, group=SINK_GROUP, kind="sink")
"""Those above, and those of other packages: each has `section`, `stream`, `batch`, and `lasting` if it needs a
checkpoint."""


def _options(sink: Mapping[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in sink["options"].items()}


def _to_list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value or []
