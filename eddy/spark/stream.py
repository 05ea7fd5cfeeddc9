"""The driver's side: DataFrames in, one DataFrame out.

Everything here is the DataFrame API: Spark Connect has no `sparkContext`, no broadcasts and no accumulators.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from eddy.engine.remembered import check_folder
from eddy.errors import QueryError, check_flag, check_whole, write_repr
from eddy.observe.frame_notes import find_note, note_frame
from eddy.query import Query
from eddy.query.shorthand import find_free, strip_query
from eddy.query.state_need import NOT_KEPT, choose_state, list_store_options
from eddy.query.statements.result_time import find_span
from eddy.query.together.queries import LONE
from eddy.spark import session, workers
from eddy.spark.before.frames import Frames, make_readable, read
from eddy.spark.cell_plan import CellPlan
from eddy.spark.plan import AttachPlan, Options, count_delay, plan_query
from eddy.spark.progress import OBSERVED
from eddy.spark.stateless.frames import WherePlan, column, make_step
from eddy.spark.versions import HAS_ARROW_UDF, check_quotes
from eddy.wiring import (
    check_cache_state,
    check_index,
    check_memory,
    list_read_columns,
)


def attach(query: Query, given: Mapping[str, Any], options: Options) -> DataFrame:
    """Check all that can be checked here, and make the steps."""
    _check_arguments(query, given, options)
    frames = read(query, given)
    session.check(frames.spark)
    check_quotes(query)
    plan = plan_query(query, frames, options)
    if _choose_state(query, frames, options) == NOT_KEPT:
        with workers.suit_workers(frames.spark):
            return _answer_without_state(plan, options)
    session.look_at_partitions(frames.spark, plan.layout.cells)
    with workers.suit_workers(frames.spark):
        return _declare_time(plan, CellPlan({LONE: plan}).answer(options))


def _declare_time(plan: AttachPlan, answer: DataFrame) -> DataFrame:
    """Declare the watermark of an answer, if it has one."""
    if plan.time is None:
        return answer
    longest = max(count_delay(plan, stream) for stream in plan.query.streams)
    return plan.time.declare(answer, find_span(plan.binding, plan.time.name, plan.time.stream), longest)


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


def _check_arguments(query: object, given: object, options: Options) -> None:
    if not isinstance(query, Query):
        raise QueryError(f"attach: expected a Query(...), a statement or Queries([...]), got {query!r}")
    check_options(given, options)
    check_index(options.index, query)


def check_options(given: object, options: Options) -> None:
    """Check what is said beside a query, or several."""
    if not isinstance(given, Mapping):
        raise QueryError(f'attach: expected frames as {{"stream": DataFrame, ...}}, got {type(given).__name__}')
    for name, told, example in (("sizes", options.sizes, '{"a": 1000}'), ("heavy", options.heavy, '{"a.k": [0]}')):
        if told is not None and not isinstance(told, Mapping):
            raise QueryError(f"attach: {name}: expected a dict such as {example}, got {write_repr(told)}")
    check_flag(options.pushdown, "pushdown", where="attach")
    check_whole(options.seed, "seed", 0, where="attach")
    check_memory(options.cache_memory)
    check_cache_state(options.cache_state)
