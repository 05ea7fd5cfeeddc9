"""Samples of a job: streams of the same time, whole tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from eddy.errors import QueryError, quote, unknown_name
from eddy.jobs.config.config import Job
from eddy.jobs.sources.source import JobSource
from eddy.query.exact_names import Names
from eddy.sql import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    SourceRows = pa.Table | DataFrame

ALL_ROWS = 1 << 40
"""Rows of a table: without the whole of it hardly anything would join."""

DATED = ("timestamp", "timestamp_ntz", "date")
"""Spark's types of a column whose values are points in time; others are numbers."""


def sample(
    job: Job, sources: Mapping[str, JobSource], rows: int, spark: Callable[[], SparkSession]
) -> dict[str, pa.Table]:
    """Take some rows of each stream, and whole tables.

    A stream without a time is filtered alone, and its first rows are taken. Rows drawn by chance would join with
    nothing. So all streams begin where the last of them begins, and end where the first of them ends that has more rows
    than were asked for. Rows without a time take part in no answer.
    """
    tables = {table.name for table in job.query.tables}
    # The rows of a source are read once, under the first of its names.
    firsts_of = {one.name: several[0].name for several in job.query.sources.values() for one in several}
    own = {name: source for name, source in sources.items() if firsts_of.get(name, name) == name}
    found = _sample_own(job, own, rows, spark, tables)
    return {name: found[firsts_of.get(name, name)] for name in sources}


def _sample_own(
    job: Job, sources: Mapping[str, JobSource], rows: int, spark: Callable[[], SparkSession], tables: Collection[str]
) -> dict[str, pa.Table]:
    """Take the rows of sources, by one name for each."""
    read = {name: source.read(ALL_ROWS if name in tables else rows, spark) for name, source in sources.items()}
    times = _times(job, read)
    if not times:
        return {name: _first(part, rows) for name, part in read.items()}
    firsts = {name: _earliest(read[name], name, time, rows) for name, time in times.items()}
    missing = [name for name, table in firsts.items() if not table.num_rows]
    if missing:
        raise QueryError(f"there are no rows with a time in the source of {quote(missing)}; there must be some already")
    begins = max(_ticks(table, times[name])[0].as_py() for name, table in firsts.items())
    for name, time in times.items():
        if _ticks(firsts[name], time)[0].as_py() < begins:
            firsts[name] = _earliest(read[name], name, time, rows, begins)
    _check_some(firsts, " from where all streams have begun")
    streams = _cut_together(firsts, times, rows)
    return {name: streams[name] if name in streams else _read_whole(read[name]) for name in sources}


def _times(job: Job, read: Mapping[str, SourceRows]) -> dict[str, str]:
    """Find the time column of each stream, as its source has it.

    Only streams with a time are in it.
    """
    names = Names(job.query, {name: part.schema.names for name, part in read.items()})
    return {
        stream.name: names.resolve(Column(stream.name, stream.time), f'stream "{stream.name}": time')
        for stream in job.query.streams
        if stream.time is not None and stream.name in read
    }


def _check_some(found: Mapping[str, pa.Table], when: str) -> None:
    missing = [name for name, table in found.items() if not table.num_rows]
    if missing:
        raise QueryError(
            f"expected rows that are there already, got no rows with a time in the source of {quote(missing)}{when}"
        )


def _cut_together(found: Mapping[str, pa.Table], times: Mapping[str, str], rows: int) -> dict[str, pa.Table]:
    """Keep rows up to where the first stream was cut.

    Later rows of the others would meet nothing.
    """
    ends = [_ticks(table, times[name])[-1].as_py() for name, table in found.items() if table.num_rows == rows]
    if not ends:
        return dict(found)
    cut = {name: t.filter(pc.less_equal(_ticks(t, times[name]), min(ends))) for name, t in found.items()}
    _check_some(cut, f" before another one has had its {rows:,} rows; ask for more with --rows")
    return cut


def _earliest(read: SourceRows, name: str, time: str, rows: int, begins: float | None = None) -> pa.Table:
    """Give the first rows by time, from some time on."""
    names = read.schema.names
    if time not in names:
        raise unknown_name("column", time, names, where=f'stream "{name}": time')
    if isinstance(read, pa.Table):
        there = read.filter(pc.is_valid(read[time]))
        later = there if begins is None else there.filter(pc.greater_equal(_ticks(there, time), begins))
        return later.take(pc.sort_indices(_ticks(later, time))).slice(0, rows)
    frame = read.where(read[time].isNotNull())
    if begins is not None:
        dated = read.schema[time].dataType.typeName() in DATED
        frame = frame.where((_micros(frame, time) if dated else frame[time]) >= begins)
    return frame.orderBy(time).limit(rows).toArrow()


def _micros(frame: DataFrame, time: str) -> Any:
    from pyspark.sql import functions  # noqa: PLC0415  there is Spark only where a source needs it

    return functions.unix_micros(frame[time].cast("timestamp"))


def _ticks(table: pa.Table, time: str) -> pa.ChunkedArray:
    """Times as numbers, points in time as microseconds."""
    column = table[time]
    if pa.types.is_temporal(column.type):
        zone = getattr(column.type, "tz", None)
        return column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return column


def _first(read: SourceRows, rows: int) -> pa.Table:
    """Rows as their source has them."""
    return read.slice(0, rows) if isinstance(read, pa.Table) else read.limit(rows).toArrow()


def _read_whole(read: SourceRows) -> pa.Table:
    return read if isinstance(read, pa.Table) else read.toArrow()
