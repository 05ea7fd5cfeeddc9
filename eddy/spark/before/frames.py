"""The user's frames: streams, and tables read into memory.

What the engine would complain of is left to it (`eddy.query.binding`). Here is what only Spark can be asked.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Set
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from eddy.errors import QueryError, quote, read_message
from eddy.local import make_table
from eddy.query import Query, Statement
from eddy.query.inputs import arrange_sources, spread_sources
from eddy.query.state_need import find_state_need
from eddy.spark.versions import find_arrow_schema
from eddy.sql import Column
from eddy.sql.values.name_case import fold_case
from eddy.tuples.arrow import one_batch

LARGEST_TABLE = 256 << 20
"""Bytes of a lookup table: every worker holds it, and each of its cells holds a copy with indexes."""

WATERMARK = re.compile(r"^[\s:|+'~-]*EventTimeWatermark ", re.MULTILINE)
"""The line of a plan that Spark writes for a `withWatermark`."""

MAY_REDEFINE = "spark.sql.streaming.statefulOperator.allowMultiple"
"""Where it is "false", Spark takes a watermark above another one."""


Needed = Set[tuple[str, tuple[str, int]]] | None
"""Inputs and columns, as `folded` has them; None for every one."""


@dataclass(frozen=True, kw_only=True)
class Frames:
    """The inputs of a query, with the columns for Python."""

    spark: SparkSession
    streams: Mapping[str, DataFrame]
    tables: Mapping[str, pa.RecordBatch]
    fields: Mapping[str, Mapping[str, StructField]]
    schemas: Mapping[str, pa.Schema]
    case_sensitive: bool


def read(query: Query, given: Mapping[str, Any]) -> Frames:
    """Check the frames, and read the tables."""
    given = spread_sources(query.streams, arrange_sources(query.streams, given))
    streams = {
        stream.name: _check_stream(stream.name, given[stream.name], find_state_need(query))
        for stream in query.streams
        if stream.name in given
    }
    if not streams:
        raise QueryError(f"frames: expected a streaming DataFrame for {quote(s.name for s in query.streams)}, got none")
    spark = next(iter(streams.values())).sparkSession
    names = {table.name for table in query.tables}
    tables = {name: read_table(spark, name, value) for name, value in given.items() if name in names}
    fields = {name: list(frame.schema) for name, frame in streams.items()}
    # Tables go through Spark's types too, so that a column of a table compares as Spark's own would.
    fields |= {name: list(from_arrow_schema(table.schema, True)) for name, table in tables.items()}
    # A frame for something that the query does not have is no stream and no table: the engine says so, by its name.
    schemas = {name: pa.schema([]) for name in given if name not in fields}
    needed = _find_needed(query)
    schemas |= {name: read_schema(spark, needed, name, parts) for name, parts in fields.items()}
    known = {name: {field.name: field for field in parts} for name, parts in fields.items()}
    case_sensitive = spark.conf.get("spark.sql.caseSensitive", "false") == "true"
    return Frames(
        spark=spark, streams=streams, tables=tables, fields=known, schemas=schemas, case_sensitive=case_sensitive
    )


def check_watermark(name: str, frame: DataFrame) -> None:
    """Refuse a frame with a watermark of its own, where the query declares its own above it.

    Spark would refuse it when the query runs. The plan tells, since columns may keep the mark of a watermark that is
    gone, and lose that of one that is there.
    """
    written = io.StringIO()
    with redirect_stdout(written):
        frame.explain("extended")  # of a view Spark has a logical plan alone
    if WATERMARK.search(written.getvalue()) and frame.sparkSession.conf.get(MAY_REDEFINE, "true") != "false":
        raise QueryError(
            f'frame "{name}": expected one without a watermark, since Spark takes one only, and the query declares '
            "it; got one from withWatermark; leave it out of the frame or view, and say in the query alone how late "
            f'rows may be: Stream("{name}", time="at", delay="1 minute"), or WATERMARK at DELAY OF INTERVAL 1 MINUTE '
            "in a statement"
        )


def make_readable(frame: DataFrame) -> tuple[DataFrame, Mapping[str, str]]:
    """Rename columns that Spark does not tell apart.

    Spark finds none of several columns that differ in case only, unless it is told to mind the case. Gives the
    frame, and the new names.
    """
    alike = Counter(fold_case(name) for name in frame.columns)
    new = {name: f"{place} {name}" for place, name in enumerate(frame.columns) if alike[fold_case(name)] > 1}
    return (frame.toDF(*(new.get(name, name) for name in frame.columns)) if new else frame), new


def _check_stream(name: str, frame: object, need: str) -> DataFrame:
    """Check the frame of a stream; a query that needs no state may be over a batch frame."""
    if not isinstance(frame, DataFrame):
        raise QueryError(f'frame "{name}": expected a streaming DataFrame, got {type(frame).__name__}')
    if need and not frame.isStreaming:
        raise QueryError(
            f'frame "{name}": expected a streaming DataFrame, since {need}, got a batch one; read it with '
            f'spark.readStream, or make "{name}" a Table of the query'
        )
    return frame


def read_schema(spark: SparkSession, needed: Needed, name: str, fields: list[StructField]) -> pa.Schema:
    """Read the columns as they will arrive in Python.

    Columns of a type that has no way there must not be needed.
    """
    found = []
    for field in fields:
        try:
            found += list(find_arrow_schema(StructType([field]), spark))
        except PySparkException as error:
            if needed is None or (name, fold_case(field.name)) in needed:
                raise QueryError(
                    f'frame "{name}": column "{field.name}": Spark cannot hand values of type '
                    f"{field.dataType.simpleString()} to Python; cast the column, for example to string, or select "
                    "others"
                ) from error
    return pa.schema([field.remove_metadata() for field in found])


def _find_needed(query: Query) -> Needed:
    """Find the columns that the query names; None for all."""
    if query.outputs is None:
        return None
    parts = (*query.conditions, *(f.predicate for f in query.filters))
    read = [*(c for part in parts for c in part.columns), *(c for c, _ in query.outputs)]
    read += [Column(s.name, name) for s in query.streams for name in (s.time, s.malformed, s.arrived) if name]
    return {(str(c.stream), fold_case(c.name)) for c in read}


def read_table(spark: SparkSession, name: str, given: object) -> pa.RecordBatch:
    """Read a lookup table as Spark would spell its types.

    It must not be larger than a worker can hold.
    """
    table = _to_arrow(name, given)
    if table.nbytes > LARGEST_TABLE:
        raise QueryError(
            f'table "{name}": expected at most {LARGEST_TABLE >> 20} MB, since every worker holds it, got '
            f"{table.nbytes >> 20} MB; select only the columns and rows that are looked up, or make it a stream"
        )
    try:
        spelled = find_arrow_schema(from_arrow_schema(table.schema, True), spark)
        return one_batch(name, table.cast(spelled))
    except (PySparkException, pa.ArrowException) as error:
        raise QueryError(
            f'table "{name}": Spark has no way to hold it: {read_message(error)}; cast the column'
        ) from error


def _to_arrow(name: str, given: object) -> pa.Table:
    if isinstance(given, DataFrame):
        if given.isStreaming:
            raise QueryError(
                f'table "{name}": expected a batch DataFrame, got a streaming one; read it with spark.read, or make '
                f'"{name}" a Stream of a query and give that to eddy.attach'
            )
        try:
            return given.toArrow()
        # Such as structs that may be null with fields that may not.
        except pa.ArrowException as error:
            raise QueryError(
                f'table "{name}": Spark cannot hand its rows over: {read_message(error)}; leave the column out'
            ) from error
    if isinstance(given, pa.Table | pa.RecordBatch | pd.DataFrame):
        return make_table(name, given)
    raise QueryError(
        f'table "{name}": expected a batch DataFrame of Spark or pandas, or a pyarrow Table or RecordBatch, got '
        f"{type(given).__name__}"
    )


def read_statement(statement: Statement, given: Mapping[str, Any] | None) -> tuple[Statement, dict[str, Any]]:
    """Find the frame of each input of a statement, and give the statement to which their columns are known.

    Those that nobody gives are the session's views and tables, as for `spark.sql`.
    """
    frames = statement.arrange(_open_all(statement) if given is None else given)
    for one in statement.tree.sources:
        if getattr(frames[one.alias], "isStreaming", False) and not statement.is_stream(one):
            raise statement.tree.place.error(f'"{one.name}" is a stream; write STREAM {one.name}', one.span)
    columns = {alias: _list_columns(frame) for alias, frame in frames.items()}
    return statement.with_columns(columns), frames


def _list_columns(frame: Any) -> list[str]:
    names = frame.schema.names if hasattr(frame, "schema") else frame.columns
    return [str(name) for name in names]


def _open_all(statement: Statement) -> dict[str, DataFrame]:
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise QueryError("attach: expected frames, or a session of Spark that has the statement's views, got neither")
    # One frame for all aliases of a source, which is then one source to Spark as well.
    asked = {one.alias: (one.name, one.is_stream) for one in statement.tree.sources}
    found = {told: _open(spark, told[0], is_stream=told[1]) for told in dict.fromkeys(asked.values())}
    return {alias: found[told] for alias, told in asked.items()}


def _open(spark: SparkSession, name: str, *, is_stream: bool) -> DataFrame:
    """Open a view or a table; a table of a catalog is a stream only if it is read as one."""
    way_out = ""
    try:
        frame = spark.table(name)
        if not is_stream or frame.isStreaming:
            return frame
        way_out = "; leave STREAM out, or make the view from spark.readStream"
        return spark.readStream.table(name)
    except Exception as error:
        raise QueryError(f'attach: "{name}" cannot be read: {read_message(error)}{way_out}') from error
