"""The driver's side: DataFrames in, one DataFrame out.

Everything here is the DataFrame API: Spark Connect has no `sparkContext`, no broadcasts and no accumulators.
"""

from __future__ import annotations

import math
import operator
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import DataType, DoubleType, LongType, StructField, StructType, TimestampType

from eddy.engine.remembered import check_folder
from eddy.errors import QueryError, check_flag, check_whole, write_repr
from eddy.observe.frame_notes import find_note, note_frame
from eddy.query import Filter, Query, Rows, Stream, fingerprint
from eddy.query.binding import Binding, bind
from eddy.query.shorthand import find_free, strip_query
from eddy.query.state_need import NOT_KEPT, choose_state, list_store_options
from eddy.query.statements.result_time import MICROSECONDS, find_span
from eddy.spark import cell, checkpoint_guard, session, workers
from eddy.spark.after.beats import Beats, ResultTime, plan_time
from eddy.spark.frames import Frames, check_watermarks, make_readable, read, read_table
from eddy.spark.layout.layout import Layout
from eddy.spark.layout.planning import CELLS, plan_layout
from eddy.spark.listener import listen
from eddy.spark.own_sql import add_columns, add_to_table
from eddy.spark.parcels import MOST_NAMES, PARCELS, RESULTS, Naming, pack, unpack, write
from eddy.spark.progress import OBSERVED
from eddy.spark.pushdown import (
    Computed,
    describe_pushed,
    divide,
    divide_columns,
    leave_to_spark,
    make_pushed_filters,
    mark_pushed,
    push,
    pushable,
)
from eddy.spark.shipped import Shipped, pack_code
from eddy.spark.stateless.frames import WherePlan, column, make_step
from eddy.spark.versions import HAS_ARROW_UDF, check_quotes
from eddy.spark.worker_cache import freeze_loaded
from eddy.wiring import (
    IndexChoice,
    PolicyChoice,
    check_cache_state,
    check_index,
    check_memory,
    list_read_columns,
)


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

    def find_shared(self, streams: Sequence[Stream]) -> tuple[DataFrame, dict[str, str]]:
        """Give the frame of a source with several names, and the columns that mark the rows of some.

        A row that no name needs is left to Spark.
        """
        names = [stream.name for stream in streams]
        frame = self.frames.streams[names[0]]
        for name in names:
            frame = add_columns(frame, name, self.computed.get(name, {}))
        asked = [name for name in names if any(f.on == (name,) for f in self.pushed)]
        marks = {name: find_free(f"{name}>", frame.columns) for name in asked}
        frame = mark_pushed(frame, marks, self.pushed)
        if len(marks) == len(names):
            frame = frame.where(reduce(operator.or_, [column(mark) for mark in marks.values()]))
        return frame, marks


def attach(query: Query, given: Mapping[str, Any], options: Options) -> DataFrame:
    """Check all that can be checked here, and make the steps."""
    _check_arguments(query, given, options)
    frames = read(query, given)
    session.check(frames.spark)
    check_quotes(query)
    plan = _plan(query, frames, options)
    if _choose_state(query, frames, options) == NOT_KEPT:
        with workers.suit_workers(frames.spark):
            return _answer_without_state(plan, options)
    session.look_at_partitions(frames.spark, plan.layout.cells)
    with workers.suit_workers(frames.spark):
        return _answers(plan, options)


def _choose_state(query: Query, frames: Frames, options: Options) -> str:
    """Choose where state is kept; who speaks of cells, or of caches that stay, means those of a state store."""
    # Before Spark 4.1 a stream is filtered in cells; a batch frame cannot be, and is told so by the step without state.
    kept = not HAS_ARROW_UDF and all(frame.isStreaming for frame in frames.streams.values())
    state = choose_state(query, options.state, of_store=list_store_options(vars(options)), kept=kept)
    for stream, frame in frames.streams.items():
        if state != NOT_KEPT and not frame.isStreaming:
            raise QueryError(
                f'frame "{stream}": expected a streaming DataFrame, since state and cells are of one, got a batch one; '
                "leave state, cells, sizes and heavy out, or read it with spark.readStream"
            )
    if state != NOT_KEPT and options.remember is not None:
        raise QueryError(
            "attach: remember: expected none where there is a state store, since the checkpoint has what was learned, "
            f"got {write_repr(options.remember)}; leave it out"
        )
    return state


def _answer_without_state(plan: AttachPlan, options: Options) -> DataFrame:
    """Filter the rows where they are, join those of tables, and select."""
    (stream,) = plan.query.streams
    frame, spelled = make_readable(plan.find_frame(stream.name))
    # Columns of tables stand beside those of the frame under other names, until all are called as the query says.
    outputs = [one for one, _ in plan.binding.outputs]
    own = {one: find_free(f"{place} {one}", frame.columns) for place, one in enumerate(outputs)}
    query = strip_query(plan.query, outputs, lambda one: own.get(one) or find_free("0", frame.columns))
    read = list_read_columns(query, plan.frames.schemas, options.policy, time.thread_time)
    step = WherePlan(
        frame=frame,
        before=[str(f.where) for f in plan.pushed],
        query=query,
        schema=read[stream.name],
        policy=options.policy,
        seed=options.seed,
        metric=OBSERVED,
        spelled=spelled,
        tables={name: table.select(read[name].names) for name, table in plan.frames.tables.items()},
        remember=check_folder(options.remember, "attach"),
        index=options.index,
        cache_memory=options.cache_memory,
    )
    passed = make_step(step)
    own |= {one: spelled.get(one.name, one.name) for one in outputs if one.stream == stream.name}
    answer = passed.select(*(column(own[one]).alias(name) for one, name in plan.binding.outputs))
    # What was noted of the step is true of what is selected from it.
    if (note := find_note(passed)) is not None:
        note_frame(answer, note)
    return answer


def _answers(plan: AttachPlan, options: Options) -> DataFrame:
    """Give the steps, from the frames to the answer."""
    if plan.watermarked:
        check_watermarks({name: plan.frames.streams[one.name] for name, (one, *_) in plan.query.sources.items()})
    shipped = _make_shipped(plan, options)

    def step(key: tuple[Any, ...], parcels: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        return freeze_loaded(cell.run(shipped, key, parcels, state))

    # All streams as one frame of parcels, so that a single operator with one state serves them:
    #
    #     a -> parcels \
    #     b -> parcels  > union -> by cell -> engine -> payloads and reports -> rows
    #     c -> parcels /
    packed = reduce(DataFrame.unionAll, [_pack_source(plan, streams) for streams in plan.query.sources.values()])
    answers = packed.groupBy("cell").applyInPandasWithState(
        step, RESULTS, cell.STATE, "append", GroupStateTimeout.NoTimeout
    )
    listen(plan.frames.spark)
    observed = answers.observe(OBSERVED, F.collect_list("report").alias("reports"))
    answer = observed.mapInArrow(lambda results: freeze_loaded(unpack(results)), _answer(plan))
    if plan.time is None:
        return answer
    longest = max(_count_delay(plan, stream) for stream in plan.query.streams)
    return plan.time.declare(answer, find_span(plan.binding, plan.time.name, plan.time.stream), longest)


def _check_arguments(query: object, given: object, options: Options) -> None:
    if not isinstance(query, Query):
        raise QueryError(f"attach: expected a Query(...), got {query!r}")
    if not isinstance(given, Mapping):
        raise QueryError(f'attach: expected frames as {{"stream": DataFrame, ...}}, got {type(given).__name__}')
    for name, told, example in (("sizes", options.sizes, '{"a": 1000}'), ("heavy", options.heavy, '{"a.k": [0]}')):
        if told is not None and not isinstance(told, Mapping):
            raise QueryError(f"attach: {name}: expected a dict such as {example}, got {write_repr(told)}")
    check_flag(options.pushdown, "pushdown", where="attach")
    check_whole(options.seed, "seed", 0, where="attach")
    check_index(options.index, query)
    check_memory(options.cache_memory)
    check_cache_state(options.cache_state)


def _plan(query: Query, frames: Frames, options: Options) -> AttachPlan:
    """Divide the work between Spark and the eddy, and lay it out."""
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
    if any(_must_part(streams, layout) for streams in left.sources.values()):
        apart = [replace(s, source=None) if _must_part(left.sources[s.origin], layout) else s for s in left.streams]
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
    alike = layout.places_alike([stream.name for stream in streams])
    return len(streams) > MOST_NAMES or (counts and not alike)


def _texts(value: Any) -> set[str]:
    """Collect every text in a user's choice of policy.

    A filter that the policy speaks of stays with the eddy.
    """
    if isinstance(value, str):
        return {value}
    if isinstance(value, Mapping):
        return _texts([*value, *value.values()])
    return {text for part in value for text in _texts(part)} if isinstance(value, list | tuple) else set()


def _make_shipped(plan: AttachPlan, options: Options) -> Shipped:
    query, spark, tables = plan.query, plan.frames.spark, plan.frames.tables
    code, functions = pack_code(query, options.policy)
    rows = int(str(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")))
    return Shipped(
        token=uuid.uuid4().hex,
        code=code,
        functions=functions,
        schemas={stream.name: plan.binding.schemas[stream.name] for stream in query.streams},
        tables={name: write(table.select(plan.binding.schemas[name].names)) for name, table in tables.items()},
        seed=int(options.seed),
        parts={**fingerprint.of(plan.binding), **describe_pushed(plan.pushed)},
        layout=plan.layout.describe(),
        ticks_per_ms=plan.ticks_per_ms if plan.watermarked else 0,
        flush=rows + 1 if rows > 0 else 0,
        pushed=make_pushed_filters(plan.pushed, plan.frames.schemas),
        index=options.index,
        cache_memory=options.cache_memory,
        cache_state=options.cache_state,
        beats=_make_beats(plan),
        sources={source: [stream.name for stream in streams] for source, streams in query.sources.items()},
    )


def _make_beats(plan: AttachPlan) -> Beats | None:
    """Make what cells must know to work out the watermark, where results have one or wait for it."""
    if not plan.tells:
        return None
    delays = {stream.name: _count_delay(plan, stream) for stream in plan.query.streams}
    if plan.time is not None:
        return plan.time.make_beats(delays)
    return Beats(delays=delays, ticks_per_ms=plan.ticks_per_ms)


def _pack_source(plan: AttachPlan, streams: Sequence[Stream]) -> DataFrame:
    """Turn the rows of a source into parcels, and declare the watermark.

    It is on the largest event time of each parcel: declared before `mapInArrow` a watermark is not visible after it.
    The columns go without their names, since Spark does not find one there that has a dot in it.
    """
    layout, tell, (stream, *others) = plan.layout, plan.tells, streams
    found, marks = plan.find_shared(streams) if others else (plan.find_frame(stream.name), {})
    naming = Naming([one.name for one in streams], [*marks]) if others else None
    names = [*plan.binding.schemas[stream.name].names, *marks.values()]

    def packer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        renamed = (batch.rename_columns(names) for batch in batches)
        packed = pack(renamed, stream, layout, tell=tell, naming=naming)
        return freeze_loaded(checkpoint_guard.label_with_state(packed))

    frame, respelled = make_readable(found)
    columns = [column(respelled.get(name, name)).alias(f"c{place}") for place, name in enumerate(names)]
    parcels = frame.select(*columns).mapInArrow(packer, PARCELS)
    if not plan.watermarked:
        return parcels
    return parcels.withWatermark("time", f"{_count_delay(plan, stream)} milliseconds")


def _count_delay(plan: AttachPlan, stream: Stream) -> int:
    """Round the delay to whole milliseconds, as Spark counts.

    No more rows are late for it than without rounding. If times are whole numbers of milliseconds, no fewer are late
    either.
    """
    # A delay of 1.5 ms becomes 2 ms: a row may be kept for longer than needed, and none is late that would not be.
    delay = (stream.delay_ticks or 0) / plan.ticks_per_ms
    whole = plan.ticks_per_ms == 1 and plan.binding.tick_type is np.int64
    return math.floor(delay) if whole else math.ceil(delay)


def _answer(plan: AttachPlan) -> StructType:
    """The schema of the answer, in the types that the frames have."""
    fields = plan.frames.fields
    found = [StructField(name, fields[str(c.stream)][c.name].dataType, True) for c, name in plan.binding.outputs]
    own = plan.binding.own_time
    if own is not None:
        found.append(StructField(own.name, _find_own_type(plan, own.type), True))
    return StructType(found if plan.time is None else [*found, StructField(plan.time.moment, TimestampType(), True)])


def _find_own_type(plan: AttachPlan, own: pa.DataType) -> DataType:
    """Find the type of the answer's own time: that of the first stream, or of all numbers."""
    first = plan.query.streams[0]
    if pa.types.is_timestamp(own):
        kind: DataType = plan.frames.fields[first.name][str(first.time)].dataType
        return kind
    return LongType() if plan.binding.tick_type is np.int64 else DoubleType()
