"""What differs between the versions of Spark that we run on.

Spark's own module of Arrow types is private: its functions change their arguments from version to version.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.pandas import functions, types
from pyspark.sql.types import StructType

from eddy.errors import QueryError
from eddy.query import Query
from eddy.requirements import read_numbers

KNOWS_ZONES = "timezone" in inspect.signature(types.to_arrow_schema).parameters
"""Spark's Python spells times with the session's zone, as its Java does. Before 4.1 it spells all of them with UTC."""

HAS_ARROW_UDF = hasattr(functions, "arrow_udf")
"""Spark has functions of Arrow arrays, as it does from 4.1 on."""

HAS_READ_LIMITS = find_spec("pyspark.sql.streaming.datasource") is not None
"""A source in Python says how much of it a micro-batch takes, as it does from 4.2 on."""

DOUBLES_QUOTES = read_numbers(pyspark.__version__) >= (4, 1)
"""In Spark's SQL a quote that is written twice stands for one, as it does from 4.1 on. Before, `'it''s'` is "its"."""

UTC = "UTC"
"""The zone of times of which Spark's Python does not know the session's."""


def find_arrow_schema(fields: StructType, spark: SparkSession) -> pa.Schema:
    """Find how columns of Spark are spelled in the Arrow batches that Python gets."""
    large = spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    # Its stubs are those of one version.
    spell: Callable[..., pa.Schema] = types.to_arrow_schema
    if KNOWS_ZONES:
        return spell(fields, timezone=zone, prefers_large_types=large)
    found = spell(fields, prefers_large_types=large)
    return pa.schema([set_zone(field, zone) for field in found])


def set_zone(field: pa.Field, zone: str) -> pa.Field:
    """Give the times in a column another zone, however deep they stand.

    >>> set_zone(pa.field("at", pa.list_(pa.timestamp("us", "UTC"))), "Asia/Tokyo").type
    ListType(list<item: timestamp[us, tz=Asia/Tokyo]>)
    """
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.tz == UTC:
        return field.with_type(pa.timestamp(kind.unit, zone))
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([set_zone(part, zone) for part in kind.fields]))
    if pa.types.is_map(kind):
        return field.with_type(pa.map_(set_zone(kind.key_field, zone), set_zone(kind.item_field, zone)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return field.with_type(make(set_zone(kind.value_field, zone)))
    return field


STRING = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*\"""", re.DOTALL)


def check_quotes(query: Query) -> None:
    """Refuse literals that this Spark reads in another way than we do."""
    if DOUBLES_QUOTES:
        return
    texts = {f'filter "{one.name}"': one.where for one in query.filters if isinstance(one.where, str)}
    texts |= {f'join "{one}"': one for one in query.joins if isinstance(one, str)}
    for where, text in texts.items():
        for literal in find_doubled(text):
            raise QueryError(
                f"{where}: {literal}: expected no quote that is written twice, since Spark {pyspark.__version__} "
                "leaves both out, and Spark 4.1 and newer do not; write a backslash before it"
            )


def find_doubled(text: str) -> Iterator[str]:
    r"""Find the literals in which a quote is written twice.

    >>> list(find_doubled("a = '' and b = 'it''s' and c = \"''\""))
    ["'it''s'"]
    """
    for literal in STRING.findall(text):
        if literal[0] * 2 in literal[1:-1]:
            yield literal


def find_arrow_udf() -> Callable[..., Any]:
    """Find Spark's functions of Arrow arrays."""
    if not HAS_ARROW_UDF:
        raise QueryError(
            f"filters without a state: expected Spark 4.1 or newer, got {pyspark.__version__}; on this one eddy.attach "
            'filters streams with state="store"'
        )
    found: Callable[..., Any] = functions.arrow_udf
    return found
