"""The driver's side of several queries: each is planned as if it were alone, and they share sources and cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from eddy.engine.cell_inputs import write_place
from eddy.errors import QueryError, Within, unknown_name, write_repr
from eddy.query import Query
from eddy.query.shorthand import find_fold
from eddy.query.together.queries import Queries, check_clocks, merge_schemas, pick_inputs
from eddy.spark import session, workers
from eddy.spark.before.frames import read, read_table
from eddy.spark.cell_plan import CellPlan
from eddy.spark.layout.planning import CELLS
from eddy.spark.plan import AttachPlan, Options, plan_query
from eddy.spark.stream import check_options
from eddy.spark.versions import check_quotes


def attach(queries: Queries, given: Mapping[str, Any], options: Options) -> DataFrame:
    """Check all that can be checked here, and make the steps."""
    check_options(given, options)
    _check_alone(options)
    arranged = queries.arrange(given)
    spark = _check_streams(queries, arranged).sparkSession
    arranged |= {name: read_table(spark, name, arranged[name]) for name in queries.tables}
    _check_sizes(queries, options)
    plans: dict[str, AttachPlan] = {}
    for name, query in queries.named.items():
        with Within(write_place(name)):
            plans[name] = _plan(query, arranged, options)
    check_clocks({name: plan.binding for name, plan in plans.items()})
    is_sensitive = next(iter(plans.values())).frames.case_sensitive
    merge_schemas({name: plan.binding.schema for name, plan in plans.items()}, find_fold(case_sensitive=is_sensitive))
    known = {source for query in queries.members for source in query.sources}
    unread = {name: arranged[name] for name in queries.sources if name not in known}
    cells = CellPlan(plans, unread, options.cells or CELLS)
    session.check(spark)
    session.look_at_partitions(spark, cells.cells)
    with workers.suit_workers(spark):
        return cells.answer(options)


def _plan(query: Query, arranged: Mapping[str, Any], options: Options) -> AttachPlan:
    """Plan a query as it would be alone, of the inputs that it has."""
    check_quotes(query)
    own = replace(
        options,
        sizes={name: size for name, size in (options.sizes or {}).items() if name in query.given},
        heavy={key: values for key, values in (options.heavy or {}).items() if key.partition(".")[0] in query.given},
    )
    return plan_query(query, read(query, pick_inputs(query, arranged)), own, is_one_of_several=True)


def _check_streams(queries: Queries, arranged: Mapping[str, Any]) -> DataFrame:
    """Check that all sources are streaming frames, and give the first."""
    frames = {name: arranged[name] for name in queries.sources}
    for name, frame in frames.items():
        if not isinstance(frame, DataFrame) or not frame.isStreaming:
            kind = "a batch one" if isinstance(frame, DataFrame) else type(frame).__name__
            raise QueryError(
                f'frame "{name}": expected a streaming DataFrame, since queries that are answered together keep state, '
                f"got {kind}; read it with spark.readStream"
            )
    first: DataFrame = next(iter(frames.values()))
    return first


def _check_alone(options: Options) -> None:
    """Refuse what only a query that is alone can have."""
    told = {"time": options.time, "remember": options.remember}
    for name, value in told.items():
        if value is not None:
            raise QueryError(
                f"attach: {name}: expected none for queries that are answered together, got {write_repr(value)}; "
                "attach the query that needs it apart"
            )
    if options.state not in (None, "store"):
        raise QueryError(
            f'attach: state: expected "store" for queries that are answered together, got {write_repr(options.state)}; '
            "they share a state store"
        )


def _check_sizes(queries: Queries, options: Options) -> None:
    """Refuse sizes and heavy values of streams that no query has."""
    known = {name for query in queries.members for name in query.given}
    for where, names in (("sizes", options.sizes or {}), ("heavy", options.heavy or {})):
        for name in names:
            if name.partition(".")[0] not in known:
                raise unknown_name("stream", name.partition(".")[0], sorted(known), where=where)
