"""The inputs of a statement that names views and tables of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from eddy.errors import QueryError, read_message
from eddy.query import Query, Statement


def read_statement(statement: Statement, given: Mapping[str, Any] | None) -> tuple[Query, dict[str, Any]]:
    """Make the query of a statement, and find the frame of each of its inputs.

    Those that nobody gives are the session's views and tables, as for `spark.sql`.
    """
    frames = statement.arrange(_open_all(statement) if given is None else given)
    streams = {one.alias for one in statement.tree.sources if one.is_stream}
    for one in statement.tree.sources:
        if getattr(frames[one.alias], "isStreaming", False) and one.alias not in streams | _list_told(statement):
            raise statement.error(f'"{one.name}" is a stream; write STREAM {one.name}', one.span)
    columns = {alias: _list_columns(frame) for alias, frame in frames.items()}
    return statement.with_columns(columns).query, frames


def _list_told(statement: Statement) -> set[str]:
    """List the aliases of inputs of which `streams` says that they are streams."""
    told = {one.name for one in statement.streams}
    return {alias for alias, name in statement.sources.items() if told & {alias, name}}


def _list_columns(frame: Any) -> list[str]:
    names = frame.schema.names if hasattr(frame, "schema") else frame.columns
    return [str(name) for name in names]


def _open_all(statement: Statement) -> dict[str, DataFrame]:
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise QueryError("attach: expected frames, or a session of Spark that has the statement's views, got neither")
    return {one.alias: _open(spark, one.name, is_stream=one.is_stream) for one in statement.tree.sources}


def _open(spark: SparkSession, name: str, *, is_stream: bool) -> DataFrame:
    """Open a view or a table; a table of a catalog is a stream only if it is read as one."""
    try:
        frame = spark.table(name)
        return spark.readStream.table(name) if is_stream and not frame.isStreaming else frame
    except Exception as error:
        raise QueryError(f'attach: "{name}" cannot be read: {read_message(error)}') from error
