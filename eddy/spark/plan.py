"""Plans how a query is run on Spark: what Spark evaluates before, what is left for the eddy, and in which cells."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DoubleType, LongType, StructField, TimestampType

from eddy.errors import QueryError, quote
from eddy.query import Filter, Query, Rows, Stream
from eddy.query.binding import Binding, bind
from eddy.query.statements.result_time import MICROSECONDS
from eddy.spark.after.beats import ResultTime, plan_time
from eddy.spark.before.frames import Frames, read_table
from eddy.spark.before.own_sql import add_columns, add_to_table
from eddy.spark.before.pushdown import Computed, divide, divide_columns, leave_to_spark, push, pushable
from eddy.spark.layout.layout import Layout
from eddy.spark.layout.planning import CELLS, plan_layout
from eddy.wiring import IndexChoice, PolicyChoice, list_read_columns


@dataclass(frozen=True, kw_only=True)
class Options:
    """The user's settings of a run."""

    policy: PolicyChoice
    index: IndexChoice
    cells: int | None
    pushdown: bool
    seed: int
    sizes: Mapping[str, float] | None
    heavy: Mapping[str, Sequence[Any]] | None = None
    cache_memory: int | None = None
    cache_state: str | None = None
    state: str | None = None
    remember: object = None
    time: str | None = None


@dataclass(frozen=True, kw_only=True)
class AttachPlan:
    """A query as it is run: the part that is left for the eddy."""

    frames: Frames
    query: Query
    pushed: Sequence[Filter]
    computed: Computed
    binding: Binding
    layout: Layout
    time: ResultTime | None

    @property
    def watermarked(self) -> bool:
        """There is a watermark.

        A stream without a delay never says how far it has come.
        """
        return all(stream.delay is not None for stream in self.query.streams)

    @property
    def tells(self) -> bool:
        """Every cell hears in each micro-batch how far the streams have come."""
        return self.time is not None or self.query.own_time is not None

    @property
    def ticks_per_ms(self) -> int:
        """The engine's ticks in one of Spark's watermark.

        A number of a numeric time column stands for a millisecond.
        """
        stream = self.query.streams[0]
        time_type = self.binding.schemas[stream.name].field(str(stream.time)).type
        return MICROSECONDS if pa.types.is_timestamp(time_type) else 1

    def find_frame(self, name: str) -> DataFrame:
        """Give the frame of a stream behind what Spark evaluates."""
        return add_columns(push(self.frames.streams[name], name, self.pushed), name, self.computed.get(name, {}))


def plan_query(query: Query, frames: Frames, options: Options, *, is_one_of_several: bool = False) -> AttachPlan:
    """Divide the work between Spark and the eddy, and lay it out.

    A query that is one of several must not read a source by itself: the sources of all are for life.
    """
    bound = bind(replace(query, case_sensitive=frames.case_sensitive), frames.schemas)
    query, result_time = (bound.query, None) if options.time is None else plan_time(bound, options.time)
    query = leave_to_spark(query, frames.schemas)
    spoken_of = _texts(options.policy)
    may = pushable(query, frames.schemas, frames.spark) if options.pushdown else []
    pushed, left = divide(query, may, spoken_of)
    left, schemas, computed = divide_columns(left, frames.schemas)
    tables = {
        name: read_table(frames.spark, name, add_to_table(frames.spark, name, table, computed[name]))
        if name in computed
        else table
        for name, table in frames.tables.items()
    }
    frames = replace(frames, schemas=schemas, tables=tables)
    binding = bind(left, list_read_columns(left, schemas, options.policy, time.thread_time))
    layout = plan_layout(binding, options.cells, default=CELLS, sizes=options.sizes, heavy=options.heavy)
    if parted := [streams for streams in left.sources.values() if _must_part(streams, layout)]:
        if is_one_of_several:
            raise QueryError(
                f"streams {quote(s.name for s in parted[0])} are one source, count its rows in their windows, and need "
                "other cells for them; ask for one cell, use windows by time, or attach the query apart"
            )
        apart = [replace(s, source=None) if left.sources[s.origin] in parted else s for s in left.streams]
        left = replace(left, streams=apart)
        binding = bind(left, list_read_columns(left, schemas, options.policy, time.thread_time))
        layout = plan_layout(binding, options.cells, default=CELLS, sizes=options.sizes, heavy=options.heavy)
    return AttachPlan(
        frames=frames, query=left, pushed=pushed, computed=computed, binding=binding, layout=layout, time=result_time
    )


def _must_part(streams: Sequence[Stream], layout: Layout) -> bool:
    """Tell whether streams of one source are read by themselves.

    The newest rows of a stream are counted in each cell, and rows that are there under other names alone are not its
    own.
    """
    counts = any(isinstance(stream.window, Rows) for stream in streams)
    ways = {layout.find_way(stream.name) for stream in streams}
    alike = len(streams) == 1 or (len(ways) == 1 and None not in ways)
    return counts and not alike


def _texts(value: Any) -> set[str]:
    """Collect every text in a user's choice of policy.

    A filter that the policy speaks of stays with the eddy.
    """
    if isinstance(value, str):
        return {value}
    if isinstance(value, Mapping):
        return _texts([*value, *value.values()])
    return {text for part in value for text in _texts(part)} if isinstance(value, list | tuple) else set()


def count_delay(plan: AttachPlan, stream: Stream) -> int:
    """Round the delay to whole milliseconds, as Spark counts.

    No more rows are late for it than without rounding. If times are whole numbers of milliseconds, no fewer are late
    either.
    """
    # A delay of 1.5 ms becomes 2 ms: a row may be kept for longer than needed, and none is late that would not be.
    delay = (stream.delay_ticks or 0) / plan.ticks_per_ms
    whole = plan.ticks_per_ms == 1 and plan.binding.tick_type is np.int64
    return math.floor(delay) if whole else math.ceil(delay)


def list_fields(plan: AttachPlan) -> list[StructField]:
    """List the columns of an answer, in the types that the frames have."""
    fields = plan.frames.fields
    found = [StructField(name, fields[str(c.stream)][c.name].dataType, True) for c, name in plan.binding.outputs]
    own = plan.binding.own_time
    if own is not None:
        found.append(StructField(own.name, _find_own_type(plan, own.type), True))
    return found if plan.time is None else [*found, StructField(plan.time.moment, TimestampType(), True)]


def _find_own_type(plan: AttachPlan, own: pa.DataType) -> DataType:
    """Find the type of the answer's own time: that of the first stream, or of all numbers."""
    first = plan.query.streams[0]
    if pa.types.is_timestamp(own):
        kind: DataType = plan.frames.fields[first.name][str(first.time)].dataType
        return kind
    return LongType() if plan.binding.tick_type is np.int64 else DoubleType()
