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
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from eddy.observe.frame_notes import FrameNote, note_frame
from eddy.observe.report import Report
from eddy.query import Filter, Query, fingerprint
from eddy.query.binding import bind, can_pick
from eddy.query.explain import describe_query
from eddy.query.shorthand import check_distinct, find_free, find_needed, has_rejects, make_query, read_predicates
from eddy.spark import workers
from eddy.spark.frames import read_schema
from eddy.spark.listener import listen
from eddy.spark.progress import metric_name, wait_for_report
from eddy.spark.shipped import Shipped, pack_code
from eddy.spark.stateless import task
from eddy.spark.versions import find_arrow_udf
from eddy.spark.worker_cache import freeze_loaded
from eddy.sql.values.name_case import fold_case
from eddy.wiring import PolicyChoice, check_policy, list_read_columns

NUMBERS = itertools.count(1)
"""Numbers of the steps that this process has made: Spark takes no two observed metrics of one name in a plan."""

TOKEN_CHARACTERS = 32
"""Characters of a digest, of which no two are alike by chance."""


@dataclass(frozen=True, kw_only=True)
class WherePlan:
    """A call as it is run: the frame behind what Spark evaluates, and the query that is left.

    `schema` are the columns that the engine reads, `spelled` what the frame calls those of them that it calls
    otherwise.
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


def where(
    given: DataFrame, predicates: Sequence[Any], *, policy: PolicyChoice, name: str, seed: int, remember: str | None
) -> DataFrame:
    """Check all that can be checked here, and make the step."""
    before = [one for one in predicates if isinstance(one, str | Column)]
    asked = [one for one in predicates if not isinstance(one, str | Column)]
    frame = given
    for one in before:
        frame = frame.where(one)
    spelled = [one if isinstance(one, str) else str(one) for one in before]
    if not asked:
        check_policy(policy)
        lines = [f'query "{name}"', *(f"  evaluated by Spark: {text}" for text in spelled)]
        note_frame(frame, FrameNote("\n".join(lines), lambda: Report([])))
        return frame
    case_sensitive = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    stream, filters = read_predicates(asked, frame.columns, case_sensitive=case_sensitive)
    own = _find_known(filters, frame.columns, case_sensitive=case_sensitive)
    query = make_query(stream, filters, own, name, case_sensitive=case_sensitive)
    schema = _read_schema(frame, query, own)
    plan = WherePlan(
        frame=frame,
        before=spelled,
        query=query,
        schema=list_read_columns(query, {stream: schema}, policy, time.thread_time)[stream],
        policy=policy,
        seed=seed,
        metric=metric_name(next(NUMBERS), name),
        remember=remember,
    )
    with workers.suit_workers(frame.sparkSession, "where"):
        return make_step(plan)


def make_step(plan: WherePlan) -> DataFrame:
    """Give the frame of the rows that pass."""
    frame, observation = plan.frame, None if plan.frame.isStreaming else Observation(plan.metric)
    verdict = find_free("verdict", frame.columns)
    judged = frame.select("*", _ask(plan).alias(verdict))
    reports = F.collect_list(F.col(verdict)["report"]).alias("reports")
    answer = judged.observe(observation or plan.metric, reports).where(F.col(verdict)["passes"]).drop(verdict)
    if observation is None:
        listen(frame.sparkSession)
    note = FrameNote(
        explain_plan(plan),
        lambda: wait_for_report(observation, plan.query.name),
        (lambda: _find_rejected(plan, judged, verdict)) if has_rejects(plan.query.filters) else None,
    )
    note_frame(answer, note)
    return answer


def _find_rejected(plan: WherePlan, judged: DataFrame, verdict: str) -> DataFrame:
    """Give the rows that were put aside, as a frame that asks anew."""
    named = [F.col(verdict)[name].alias(find_free(name, plan.frame.columns)) for name in task.ASIDE]
    return judged.where(F.col(verdict)[task.ASIDE[0]].isNotNull()).select("*", *named).drop(verdict)


def _ask(plan: WherePlan) -> Column:
    """Hand the columns that are read to the engine, for a verdict on each row."""
    shipped, remember, aside = _make_shipped(plan), plan.remember, has_rejects(plan.query.filters)

    def judge(columns: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        yield from freeze_loaded(task.judge(shipped, columns, remember, aside=aside))

    judge.__name__ = plan.query.name
    kind = ", ".join([task.VERDICT, *(f"{name} string" for name in task.ASIDE if aside)])
    asked: Column = find_arrow_udf()(judge, kind)(*(column(plan.spelled.get(name, name)) for name in plan.schema.names))
    return asked


def _make_shipped(plan: WherePlan) -> Shipped:
    """Pack what workers need; the same call again is the same query to them."""
    (stream,) = plan.query.inputs
    code, functions = pack_code(plan.query, plan.policy)
    said = repr((code, plan.schema.to_string(), plan.seed)).encode()
    return Shipped(
        token=hashlib.sha256(said).hexdigest()[:TOKEN_CHARACTERS],
        code=code,
        functions=functions,
        schemas={stream: plan.schema},
        tables={},
        seed=plan.seed,
        parts=fingerprint.of(bind(plan.query, {stream: plan.schema})),
        layout={"cells": 1},
        ticks_per_ms=0,
        flush=0,
    )


def _find_known(filters: Sequence[Filter], columns: Sequence[str], *, case_sensitive: bool) -> list[str]:
    """Find the columns that Spark tells apart by their names, and those that filters read."""
    own = check_distinct(filters, columns)
    if case_sensitive:
        return own
    alike, needed = Counter(map(fold_case, own)), find_needed(filters, own)
    return [name for name in own if alike[fold_case(name)] == 1 or name in needed]


def _read_schema(frame: DataFrame, query: Query, own: Sequence[str]) -> pa.Schema:
    """Read the columns as they arrive in Python, without those that cannot, and that no filter reads."""
    (stream,) = query.inputs
    fields = [field for field in frame.schema if field.name in own]
    needed = find_needed(query.filters, own)
    found = read_schema(frame.sparkSession, {(stream, fold_case(name)) for name in needed}, stream, fields)
    return pa.schema([field for field in found if field.name in needed or can_pick(field.type)])


def explain_plan(plan: WherePlan) -> str:
    """Say in words who evaluates what."""
    lines = ["", "where it runs", "  one step of Spark, without a shuffle and without state"]
    lines += [f"  evaluated by Spark, before: {text}" for text in plan.before]
    lines += [f"  columns that go to Python: {', '.join(plan.schema.names)}"]
    return "\n".join([describe_query(plan.query), *lines])


def column(name: str) -> Column:
    """Give a column by its whole name."""
    return F.col("`" + name.replace("`", "``") + "`")
