"""The driver's side of `eddy.where`: a DataFrame in, one with the same columns out.

    frame -> texts and Columns, by Spark -> the functions' columns to Python, verdicts back -> observe -> frame

Only columns that predicates or the policy read go to Python, and only a verdict for each row comes back. All others
stay where they are, whatever their type; Spark reads none of them that nothing behind needs. A step by `mapInArrow`
would send every column both ways.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, BooleanType, StringType, StructField, StructType

from eddy.engine.remembered import Remembered
from eddy.errors import QueryError
from eddy.observe.frame_notes import FrameNote, note_frame
from eddy.observe.report import Report
from eddy.query import Filter, Query, fingerprint
from eddy.query.binding import bind, can_pick
from eddy.query.explain.describe import describe_where
from eddy.query.lookups import Lookups, check_apart, name_joined
from eddy.query.pushed_filter import SparkText
from eddy.query.shorthand import Asked, check_distinct, find_free, has_rejects, make_query, read_predicates
from eddy.query.together.queries import LONE
from eddy.spark import workers
from eddy.spark.before.frames import read_schema, read_table
from eddy.spark.before.own_sql import ask_spark
from eddy.spark.before.pushdown import leave_to_spark, push
from eddy.spark.listener import listen
from eddy.spark.parcels import write
from eddy.spark.progress import metric_name, wait_for_report
from eddy.spark.shipped import Shipped, ShippedQuery, pack_code
from eddy.spark.stateless import task
from eddy.spark.stateless.arguments import add_arguments
from eddy.spark.stateless.options import WhereOptions
from eddy.spark.versions import find_arrow_udf
from eddy.spark.worker_cache import freeze_loaded
from eddy.sql import backtick
from eddy.sql.values.name_case import fold_case
from eddy.wiring import IndexChoice, PolicyChoice, check_policy, list_read_columns

NUMBERS = itertools.count(1)
"""Numbers of the steps that this process has made: Spark takes no two observed metrics of one name in a plan."""

TOKEN_CHARACTERS = 32
"""Characters of a digest, of which no two are alike by chance."""


@dataclass(frozen=True, kw_only=True)
class WherePlan:
    """A call as it is run: the frame behind what Spark evaluates, and the query that is left.

    `schema` are the columns that the engine reads, `spelled` what the frame calls those of them that it calls
    otherwise. `tables` are the lookup tables, with the columns that it reads; what the query selects of them stands
    beside the columns of the frame in the answer. `added` are columns of the frame that nobody but functions is to see.
    Without `reports` nothing is told of the work.
    """

    frame: DataFrame
    before: Sequence[str]
    query: Query
    schema: pa.Schema
    policy: PolicyChoice
    seed: int
    metric: str
    remember: str | None = None
    spelled: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, pa.RecordBatch] = field(default_factory=dict)
    added: Sequence[str] = ()
    reports: bool = True
    index: IndexChoice = None
    cache_memory: int | None = None

    @property
    def is_plain(self) -> bool:
        """A verdict is a boolean: nothing else is asked of a row, and nobody wants a report."""
        return not (self.reports or self.is_joined or has_rejects(self.query.filters))

    @property
    def is_joined(self) -> bool:
        """A row of the answer stands there for each of its combinations."""
        return len(self.query.inputs) > 1

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns that are read of all inputs."""
        (stream,) = self.query.streams
        return {stream.name: self.schema, **{name: table.schema for name, table in self.tables.items()}}

    @property
    def found(self) -> StructType:
        """What a combination has of tables, as Spark calls it."""
        return StructType(list(from_arrow_schema(bind(self.query, self.schemas).schema, True)))


def where(given: DataFrame, predicates: Sequence[Any], options: WhereOptions) -> DataFrame:
    """Check all that can be checked here, and make the step."""
    tables = {name: read_table(given.sparkSession, name, table) for name, table in options.given.tables.items()}
    check_apart(tables, given.columns)
    lookups = Lookups(tables={name: t.schema.names for name, t in tables.items()}, conditions=options.given.conditions)
    before = [one for one in predicates if _is_for_spark(one, lookups)]
    asked = [one for one in predicates if not _is_for_spark(one, lookups)]
    frame = given
    spelled = [str(one.where) if isinstance(one, Filter) else str(one) for one in before]
    for one, text in zip(before, spelled, strict=True):
        if isinstance(one, Filter):
            frame = push(frame, one.on[0], [one])
        else:
            frame = ask_spark(partial(frame.where, one), f'where: "{text}"')
    if not asked and not tables:
        return _note_all(frame, spelled, options)
    plan = _plan(frame, asked, spelled, lookups, tables, options)
    if not plan.query.filters and not tables:
        return _note_all(plan.frame, plan.before, options)
    with workers.suit_workers(frame.sparkSession, "where"):
        return make_step(plan)


def _note_all(frame: DataFrame, spelled: Sequence[str], options: WhereOptions) -> DataFrame:
    """Note beside a frame that Spark has evaluated all."""
    check_policy(options.policy)
    lines = [f'query "{options.name}"', *(f"  evaluated by Spark: {text}" for text in spelled)]
    note_frame(frame, FrameNote(options.name, "\n".join(lines), lambda: Report([])))
    return frame


def _is_for_spark(one: Any, lookups: Lookups) -> bool:
    """Tell whether Spark evaluates a predicate: texts and Columns that name no table, and what it alone can."""
    if isinstance(one, Filter):
        return isinstance(one.predicate, SparkText) and one.on[0] not in lookups.tables
    return isinstance(one, Column) or (isinstance(one, str) and not lookups.may_be_about(one))


def _plan(
    frame: DataFrame,
    predicates: Sequence[Any],
    before: Sequence[str],
    lookups: Lookups,
    tables: Mapping[str, pa.RecordBatch],
    options: WhereOptions,
) -> WherePlan:
    """Read what is left for the eddy, with the columns that it reads."""
    case_sensitive = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    frame, predicates, added = add_arguments(frame, predicates, [*tables], case_sensitive=case_sensitive)
    asked = read_predicates(predicates, frame.columns, case_sensitive=case_sensitive, lookups=lookups)
    own = _find_known(asked, frame.columns, case_sensitive=case_sensitive)
    joined = name_joined({name: tables[name].schema.names for name in asked.joined}, frame.columns)
    schema = _read_schema(frame, asked, own)
    # Where nothing is read of the frame, one column has to say how many rows there are: one that Python can have.
    query = make_query(asked, schema.names or own, options.name, _select(joined, tables), case_sensitive=case_sensitive)
    schemas = {asked.stream: schema, **{name: t.schema for name, t in tables.items()}}
    query = leave_to_spark(bind(query, schemas).query, schemas)
    late = [f for f in query.filters if _is_for_spark(f, lookups)]
    query = replace(query, filters=[f for f in query.filters if f not in late]) if late else query
    read = list_read_columns(query, schemas, options.policy, time.thread_time)
    return WherePlan(
        frame=push(frame, asked.stream, late),
        before=[*before, *(str(f.where) for f in late)],
        query=query,
        schema=read[asked.stream],
        policy=options.policy,
        seed=options.seed,
        metric=metric_name(next(NUMBERS), options.name),
        remember=options.remember,
        tables={name: table.select(read[name].names) for name, table in tables.items()},
        added=added,
        reports=options.report,
    )


def _select(joined: Mapping[str, Sequence[str]], tables: Mapping[str, pa.RecordBatch]) -> list[str]:
    """Select all columns of joined tables under their names in the answer."""
    return [
        f"{table}.{backtick(own)} AS {backtick(name)}"
        for table, names in joined.items()
        for own, name in zip(tables[table].schema.names, names, strict=True)
    ]


def make_step(plan: WherePlan) -> DataFrame:
    """Give the frame of the rows that pass."""
    read_rejected, kept = None, None
    if plan.is_plain:
        observation, answer = None, plan.frame.where(_ask(plan)).drop(*plan.added)
    else:
        verdict = find_free("verdict", plan.frame.columns)
        judged = plan.frame.select("*", _ask(plan).alias(verdict))
        if has_rejects(plan.query.filters):
            judged = kept = _leave_out_dropped(judged, F.col(verdict))
            read_rejected = partial(_find_rejected, plan, judged, verdict)  # it is asked for later, or never
        observation, observed = _observe(plan, judged, verdict) if plan.reports else (None, judged)
        passed = observed.where(F.col(verdict)["passes"])
        if plan.is_joined:
            passed = passed.select("*", F.inline(F.col(verdict)["found"]))
        answer = passed.drop(verdict, *plan.added)
    name, text = plan.query.name, explain_plan(plan)
    note_frame(answer, FrameNote(name, text, lambda: _read_report(plan, observation), read_rejected, kept))
    return answer


def _leave_out_dropped(judged: DataFrame, verdict: Column) -> DataFrame:
    """Give the rows that are in the answer or put aside, and those that bring a report."""
    return judged.where(verdict["passes"] | verdict[task.ASIDE[0]].isNotNull() | verdict["report"].isNotNull())


def _observe(plan: WherePlan, judged: DataFrame, verdict: str) -> tuple[Observation | None, DataFrame]:
    """Collect the reports of tasks: by Spark's progress of a stream, or when the first action on a frame is over."""
    reports = F.collect_list(F.col(verdict)["report"]).alias("reports")
    if judged.isStreaming:
        listen(judged.sparkSession)
        return None, judged.observe(plan.metric, reports)
    observation = Observation(plan.metric)
    return observation, judged.observe(observation, reports)


def _read_report(plan: WherePlan, observation: Observation | None) -> Report:
    if not plan.reports:
        raise QueryError(f'report_of: "{plan.query.name}" has no report, since eddy.where was told report=False')
    return wait_for_report(observation, plan.query.name)


def _find_rejected(plan: WherePlan, judged: DataFrame, verdict: str) -> DataFrame:
    """Give the rows that were put aside, as a frame that asks anew, unless somebody keeps what was judged."""
    named = [F.col(verdict)[name].alias(find_free(name, plan.frame.columns)) for name in task.ASIDE]
    return judged.where(F.col(verdict)[task.ASIDE[0]].isNotNull()).select("*", *named).drop(verdict, *plan.added)


def _ask(plan: WherePlan) -> Column:
    """Hand the columns that are read to the engine, for a verdict on each row."""
    shipped, remembered = _make_shipped(plan), _find_remembered(plan)
    aside, plain = has_rejects(plan.query.filters), plan.is_plain

    def judge(columns: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return freeze_loaded(task.judge(shipped, columns, remembered, aside=aside, plain=plain))

    judge.__name__ = plan.query.name
    fields = [StructField("passes", BooleanType()), StructField("report", StringType())]
    fields += [StructField(name, StringType()) for name in task.ASIDE if aside]
    fields += [StructField("found", ArrayType(plan.found))] if plan.is_joined else []
    made = find_arrow_udf()(judge, BooleanType() if plain else StructType(fields))
    # Spark would ask once for a condition about verdicts, and once more for the rows that it lets pass.
    asked: Column = (made.asNondeterministic() if aside else made)(
        *(column(plan.spelled.get(name, name)) for name in plan.schema.names)
    )
    return asked


def _find_remembered(plan: WherePlan) -> Remembered | None:
    """Find where workers remember what they have learned; all of one application take part in one run."""
    if plan.remember is None:
        return None
    return Remembered(Path(plan.remember), plan.frame.sparkSession.conf.get("spark.app.id", "") or "")


def _make_shipped(plan: WherePlan) -> Shipped:
    """Pack what workers need; the same call again is the same query to them."""
    (stream,) = plan.query.streams
    code, functions = pack_code({LONE: plan.query}, plan.policy)
    tables = {name: write(table) for name, table in plan.tables.items()}
    said = hashlib.sha256(repr((code, plan.schema.to_string(), plan.seed, [*tables])).encode())
    for payload in tables.values():
        said.update(payload)
    asked = ShippedQuery(
        schemas={stream.name: plan.schema},
        parts=fingerprint.of(bind(plan.query, plan.schemas)),
        layout={"cells": 1},
        ticks_per_ms=0,
    )
    return Shipped(
        token=said.hexdigest()[:TOKEN_CHARACTERS],
        code=code,
        functions=functions,
        queries={LONE: asked},
        tables=tables,
        seed=plan.seed,
        flush=0,
        index=plan.index,
        cache_memory=plan.cache_memory,
    )


def _find_known(asked: Asked, columns: Sequence[str], *, case_sensitive: bool) -> list[str]:
    """Find the columns that Spark tells apart by their names, and those that are read."""
    own = check_distinct(asked, columns)
    if case_sensitive:
        return own
    alike, needed = Counter(map(fold_case, own)), asked.find_needed(own)
    return [name for name in own if alike[fold_case(name)] == 1 or name in needed]


def _read_schema(frame: DataFrame, asked: Asked, own: Sequence[str]) -> pa.Schema:
    """Read the columns as they arrive in Python, without those that cannot, and that nobody reads."""
    fields = [field for field in frame.schema if field.name in own]
    needed = asked.find_needed(own)
    found = read_schema(frame.sparkSession, {(asked.stream, fold_case(name)) for name in needed}, asked.stream, fields)
    return pa.schema([field for field in found if field.name in needed or can_pick(field.type)])


def explain_plan(plan: WherePlan) -> str:
    """Say in words who evaluates what."""
    lines = ["", "where it runs", "  one step of Spark, without a shuffle and without state"]
    lines += [f"  evaluated by Spark, before: {text}" for text in plan.before]
    lines += [f"  columns that go to Python: {', '.join(plan.schema.names)}"]
    lines += [f"  sent to each worker: table {name}, {t.num_rows:,} rows" for name, t in plan.tables.items()]
    return "\n".join([describe_where(plan.query), *lines])


def column(name: str) -> Column:
    """Give a column by its whole name."""
    return F.col(backtick(name))
