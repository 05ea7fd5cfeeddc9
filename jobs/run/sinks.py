"""Sinks: the answer of a job is written to one of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from eddy.errors import unknown_name
from eddy.jobs.config.config import Job, text_of
from eddy.jobs.sources.files import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    Write = Callable[["DataFrame", Mapping[str, Any]], "DataStreamWriter"]


WHOLE = """map('timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")"""
"""Times down to the microsecond; left to itself, Spark writes milliseconds, and rows that differ would have one key."""


def write_answer(frame: DataFrame, job: Job) -> DataStreamWriter:
    """Write the answer to the sink.

    In append mode, named, triggered, with a checkpoint if there is one.
    """
    for key in ("key", "partition_by"):
        for name in _to_list(job.sink.get(key)):
            if name not in frame.columns:
                raise unknown_name("output column", name, frame.columns, where=job.at(("sink", key)))
    writer = SINKS[job.sink["format"]](frame, job.sink).outputMode("append")
    writer = writer.queryName(job.sink.get("name") or job.query.name)
    if job.checkpoint:
        writer = writer.option("checkpointLocation", job.checkpoint)
    if job.trigger["available_now"]:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=job.trigger["every"]) if job.trigger["every"] else writer


def _console(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    options = {"numRows": text_of(sink["rows"]), "truncate": text_of(sink["truncate"])}
    return frame.writeStream.format("console").options(**options)


def _parquet(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    writer = frame.writeStream.format("parquet").option("path", sink["path"]).options(**_options(sink))
    return writer.partitionBy(*sink["partition_by"]) if sink["partition_by"] else writer


def _kafka(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    columns = [f"to_{sink['value']}(struct(*), {WHOLE}) as value"]
    if isinstance(sink["key"], list):
        columns.append(f"to_json(struct({', '.join(map(quote, sink['key']))}), {WHOLE}) as key")
    elif sink["key"]:
        columns.append(f"cast({quote(sink['key'])} as string) as key")
    options = {"kafka.bootstrap.servers": sink["servers"], "topic": sink["topic"], **_options(sink)}
    return frame.selectExpr(*columns).writeStream.format("kafka").options(**options)


def _foreach_batch(frame: DataFrame, sink: Mapping[str, Any]) -> DataStreamWriter:
    module, _, name = sink["function"].partition(":")
    return frame.writeStream.foreachBatch(getattr(importlib.import_module(module), name))


SINKS: dict[str, Write] = {
    "console": _console,
    "parquet": _parquet,
    "kafka": _kafka,
    "memory": lambda frame, _: frame.writeStream.format("memory"),
    "noop": lambda frame, _: frame.writeStream.format("noop"),
    "foreach_batch": _foreach_batch,
}
"""Every kind of sink; a new one is its function, its section in `eddy.jobs.config.connectors`, and one line here."""


def _options(sink: Mapping[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in sink["options"].items()}


def _to_list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value or []
