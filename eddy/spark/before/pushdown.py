"""Filters that Spark evaluates before the eddy.

A `where` on one stream is Spark's own SQL, and Spark evaluates it in compiled code, before rows are sent to Python and
through the shuffle: there is nothing that routing could gain. Rows that it drops are never seen by the eddy, so they do
not count in reports, nor for how far the stream has come; the same holds in Spark, which moves filters below
watermarks.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from eddy.query import Filter, Query, Rows, fingerprint
from eddy.query.binding import bind
from eddy.query.fingerprint import spell_parts
from eddy.query.pushed_filter import PushedFilter, SparkText
from eddy.query.shorthand import find_free
from eddy.sql import Column, Expression, backtick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Computed = Mapping[str, Mapping[str, Filter]]
"""The columns that Spark computes of each input, with the filters that they stand for."""


LONGEST_PUSHED = 10_000
"""Characters of a filter. Spark's planner takes minutes for one of 5,000 terms, or gives up; here it takes a second."""


def leave_to_spark(query: Query, schemas: Mapping[str, pa.Schema]) -> Query:
    """Leave filters to Spark that our SQL has not for columns of such types."""
    types = {Column(name, field.name): field.type for name, schema in schemas.items() for field in schema}
    filters = [f.leave_to_spark(types) for f in query.filters]
    return query if filters == [*query.filters] else replace(query, filters=filters)


def pushable(query: Query, schemas: Mapping[str, pa.Schema], spark: SparkSession) -> list[Filter]:
    """List the filters that mean the same to Spark."""
    ansi = spark.conf.get("spark.sql.ansi.enabled") == "true"
    return find_pushable(query, schemas, ansi=ansi, zone=str(spark.conf.get("spark.sql.session.timeZone")))


def find_pushable(query: Query, schemas: Mapping[str, pa.Schema], *, ansi: bool, zone: str) -> list[Filter]:
    """List them for known settings.

    These are the mode of Spark's SQL, and the session's time zone.
    """
    # A window of rows has the newest ones, whatever filters say of them: Spark would take rows out of it.
    streams = {stream.name for stream in query.streams if not isinstance(stream.window, Rows)}

    def is_pushable(f: Filter) -> bool:
        if f.where is None or len(f.on) != 1 or f.on[0] not in streams:
            return False
        # What Spark alone evaluates means in every session what it means there, and an error in it is the same one.
        return isinstance(f.predicate, SparkText) or (
            # Our SQL is that of Spark in ANSI mode: in the other one, what cannot be computed is null and no error.
            ansi
            and len(f.where) <= LONGEST_PUSHED
            and not _fails(f, schemas[f.on[0]])
            and _same_zone(schemas[f.on[0]], zone)
            and _distinct(schemas[f.on[0]].names)
        )

    return [f for f in query.filters if is_pushable(f)]


def divide(query: Query, able: Sequence[Filter], spoken_of: Container[str]) -> tuple[list[Filter], Query]:
    """Divide the filters of a query between Spark and the eddy.

    Gives those that Spark evaluates, each after those that it waits for, and the query that is left.
    """
    # A filter that the policy speaks of has to stay, since the policy would not find it; one that waits for a filter of
    # the eddy's has to stay as well. What Spark has evaluated nobody has to wait for.
    pushed: dict[str, Filter] = {}
    may = [f for f in able if f.name not in spoken_of]
    while more := {f.name: f for f in may if f.name not in pushed and pushed.keys() >= set(f.after or ())}:
        pushed |= more
    left = [f for f in query.filters if f.name not in pushed]
    filters = [f.pin([name for name in f.after or () if name not in pushed] or None) for f in left]
    return list(pushed.values()), replace(query, filters=filters)


class Divided(NamedTuple):
    """A query that our SQL knows whole, and what Spark has to compute for it."""

    query: Query
    schemas: Mapping[str, pa.Schema]
    computed: Computed


def divide_columns(query: Query, schemas: Mapping[str, pa.Schema]) -> Divided:
    """Replace filters that Spark alone evaluates by columns that it computes."""
    computed: dict[str, dict[str, Filter]] = {}
    filters = []
    for f in query.filters:
        if isinstance(f.predicate, SparkText):
            name = f.on[0]
            # The columns of all names of a source are in one frame.
            added = [column for one in query.list_names(name) for column in computed.get(one, ())]
            column = find_free(f.predicate.text, [*schemas[name].names, *added])
            computed.setdefault(name, {})[column] = f
            f = replace(f, where=f"{name}.{backtick(column)}")  # noqa: PLW2901
        filters.append(f)
    if not computed:
        return Divided(query, schemas, {})
    # Who selects every column does not mean ours.
    outputs = bind(query, schemas).outputs
    select = [f"{one.stream}.{backtick(one.name)} AS {backtick(name)}" for one, name in outputs]
    own = {name: [c for one in query.list_names(name) for c in computed.get(one, ())] for name in schemas}
    wider = {
        name: pa.schema([*schema, *(pa.field(column, pa.bool_()) for column in own[name])])
        for name, schema in schemas.items()
    }
    return Divided(replace(query, filters=filters, select=select), wider, computed)


def push(frame: DataFrame, name: str, filters: Sequence[Filter]) -> DataFrame:
    """Apply the filters on one stream.

    Its columns may be spelled with its name, as in `a.v`.
    """
    from eddy.spark.before.own_sql import ask_spark  # noqa: PLC0415  so that validate needs no Spark

    for f in filters:
        if f.on == (name,):
            frame = ask_spark(partial(frame.alias(name).where, str(f.where)), f'filter "{f.name}"')
    return frame


def mark_pushed(frame: DataFrame, marks: Mapping[str, str], filters: Sequence[Filter]) -> DataFrame:
    """Apply the filters on the streams of one source, each to the rows of its own.

    `marks` are names of new columns by streams; each says which rows pass the filters of its stream.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415, N812

    from eddy.spark.before.own_sql import ask_spark  # noqa: PLC0415  so that validate needs no Spark

    for name, mark in marks.items():
        passes = F.lit(True)
        for f in filters:
            if f.on == (name,):
                ask_spark(partial(frame.alias(name).where, str(f.where)), f'filter "{f.name}"')
                passes = passes & F.expr(str(f.where))
        frame = frame.alias(name).select("*", F.coalesce(passes, F.lit(False)).alias(mark))
    return frame


def describe_pushed(filters: Sequence[Filter]) -> dict[str, str]:
    """Describe the filters that Spark evaluates.

    They are a part of the query that its saved state depends on. Stored rows cannot be asked about what Spark alone
    evaluates: it stands there as a column, which rows that came before it have not.
    """
    told = {fingerprint.name_filter(f.name): f"on {f.on[0]}, evaluated by Spark: {f.where}" for f in filters}
    own = [f for f in filters if isinstance(f.predicate, SparkText)]
    return {**spell_parts(told), **{fingerprint.name_column(f.on[0], str(f.where)): "evaluated by Spark" for f in own}}


def make_pushed_filters(filters: Sequence[Filter], schemas: Mapping[str, pa.Schema]) -> list[PushedFilter]:
    """Give the same filters for rows that are stored, in case that one of them is added on a restart."""
    return [
        PushedFilter(name=f.name, stream=f.on[0], where=f.predicate, schema=schemas[f.on[0]])
        for f in filters
        if isinstance(f.predicate, Expression)
    ]


def _fails(asked: Filter, schema: pa.Schema) -> bool:
    """Tell whether a filter may have no answer for some row.

    Spark would fail, though another predicate drops the row.
    """
    types = {Column(asked.on[0], field.name): field.type for field in schema}
    return isinstance(asked.predicate, Expression) and asked.predicate.bind(types).fails


def _same_zone(schema: pa.Schema, zone: str) -> bool:
    """Tell whether Spark and the eddy use one time zone.

    Our SQL takes it from the columns, and UTC where none of them has one; Spark takes it from the session.
    """
    return zone == "UTC" or any(pa.types.is_timestamp(field.type) and field.type.tz for field in schema)


def _distinct(names: list[str]) -> bool:
    """Tell whether Spark tells all columns apart.

    It does not if they differ in case only.
    """
    return len({name.lower() for name in names}) == len(names)
