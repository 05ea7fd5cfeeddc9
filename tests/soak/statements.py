"""Random statements, through Spark's own SQL and through the eddy: the same text, the same rows."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import eddy
from eddy.query.existence import NO_COLUMNS
from tests import reference
from tests.eddy.spark import feeds
from tests.soak.hunt import Hunt
from tests.statement_parts import DAY, END, LENGTH, SECOND, TIME, Asked, make_table
from tests.statements import statements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLICIES = ("auto", "source", "lottery", "content", "random", "fixed")

WORDS = 70
"""Letters of what Spark says, by which its refusals are counted."""

LAST = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=DAY + END * SECOND)
"""Groups from here on are of the rows that close all others."""


@contextmanager
def views(spark: SparkSession, asked: Asked, place: Path) -> Iterator[dict[str, DataFrame]]:
    """The views that a statement names."""
    frames = {}
    for view, batches in asked.feeds.items():
        tables, first = [], 0
        for rows in batches:
            tables.append(make_table(view, rows, first))
            first += len(rows)
        frames[view] = _lengthen(feeds.stream(spark, place / view, tables))
    for view, rows in asked.tables.items():
        pq.write_table(make_table(view, rows), place / f"{view}.parquet")
        frames[view] = _lengthen(spark.read.parquet(str(place / f"{view}.parquet")))
    for view, frame in frames.items():
        frame.createOrReplaceTempView(view)
    try:
        yield frames
    finally:
        for view in frames:
            spark.catalog.dropTempView(view)


@contextmanager
def watermarked(asked: Asked, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """The views as Spark needs them where the text has no watermark: here it is said beside the text."""
    for view, delay in asked.told.items():
        frames[view].withWatermark(TIME, f"{delay} seconds").createOrReplaceTempView(view)
    yield
    for view in asked.told:
        frames[view].createOrReplaceTempView(view)


def _lengthen(frame: DataFrame) -> DataFrame:
    """The frame with lengths of time in the place of their numbers."""
    made = f"timestamp_micros({LENGTH}) - timestamp_micros(0L) AS {LENGTH}"
    return frame.selectExpr(*(made if name == LENGTH else f"`{name}`" for name in frame.columns))


def attach(asked: Asked, number: int) -> DataFrame:
    """The same through the eddy; cases take turns in how."""
    streams = [eddy.Stream(view, time=TIME, delay=f"{delay} seconds") for view, delay in asked.told.items()]
    statement = eddy.Statement(asked.text, streams=streams)
    return eddy.attach(
        statement,
        policy=POLICIES[number % len(POLICIES)],
        cells=(None, 3)[number // 2 % 2] if streams or "watermark" in asked.text.lower() else None,
        pushdown=number % 2 == 0,
    )


def check(spark: SparkSession, asked: Asked, number: int) -> str:
    """Compare the rows of both; what Spark refuses is counted."""
    from pyspark.errors import PySparkException

    with tempfile.TemporaryDirectory() as folder, views(spark, asked, Path(folder)) as frames:
        place = Path(folder)
        try:
            with watermarked(asked, frames):
                theirs = feeds.answer(spark.sql(asked.joined or asked.text), place / "theirs").results
        except PySparkException as error:
            return _tell_refused(asked, number, str(error))
        try:
            frame = attach(asked, number)
        except eddy.QueryError as error:
            if NO_COLUMNS not in str(error):
                raise
            return "a constant in a semi join, refused by us"
        ours = feeds.answer(frame, place / "ours").results
        if asked.joined:
            theirs = spark.sql(asked.grouped, joined=spark.createDataFrame(theirs)).toArrow()
        return compare(asked, ours, theirs)


def _tell_refused(asked: Asked, number: int, error: str) -> str:
    try:
        attach(asked, number)
    except eddy.QueryError:
        return "refused by both"
    return f"refused by Spark alone ({_shorten(error)})"


def _shorten(error: str) -> str:
    """The words that say why Spark does not run a statement."""
    line = error.splitlines()[0].split("terminated with exception: ")[-1]
    return line[:WORDS]


def compare(asked: Asked, ours: pa.Table, theirs: pa.Table) -> str:
    """Demand the same rows, of the same types and names."""
    if asked.named and theirs.num_columns and ours.num_columns:
        assert ours.schema.names == theirs.schema.names
    if theirs.num_columns and ours.num_columns:
        # Behind a state store Spark takes whatever is in a list for what may be null, and of a batch it knows better.
        assert [*map(_let_be_null, ours.schema.types)] == [*map(_let_be_null, theirs.schema.types)]
    mine, spoken = (_count(asked, one) for one in (ours, theirs))
    assert mine == spoken, f"{mine - spoken} too many, {spoken - mine} too few"
    return f"{asked.kind} with results" if mine else f"{asked.kind} empty"


def _let_be_null(kind: pa.DataType) -> pa.DataType:
    """Give a type whose parts may all be null."""
    if pa.types.is_list(kind):
        return pa.list_(_let_be_null(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _let_be_null(part.type)) for part in kind])
    return kind


def _count(asked: Asked, found: pa.Table) -> Counter[tuple[Any, ...]]:
    """Count the rows; of groups those that are closed. Two columns may have one name."""
    columns = [column.to_pylist() for column in found.columns]
    rows = list(zip(*columns, strict=True))
    if asked.kind != "rows":
        rows = [row for row in rows if _begin(row[0]) < LAST]
    return Counter(tuple(map(reference.plain, row)) for row in rows)


def _begin(time: Any) -> datetime:
    """The time of a group, which may be a window."""
    found: datetime = time["start"] if isinstance(time, dict) else time
    return found


def through(spark: SparkSession) -> Hunt[Asked]:
    """Random statements on a session."""
    return Hunt(name="statements", cases=statements(), check=lambda asked, number: check(spark, asked, number))
