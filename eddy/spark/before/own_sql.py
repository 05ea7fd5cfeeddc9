"""SQL that Spark alone evaluates: asked of Spark, and its mistakes told as ours are.

A filter of such SQL that is not pushed becomes a column that Spark computes before rows are sent to Python. It is true,
false or null, travels with its row, and the eddy routes over it as over any column. It is called as its text is, and
so saved state and reports go by the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from eddy.errors import QueryError, shorten
from eddy.query import Filter

_END = re.compile(r"\s*(?:SQLSTATE: \w+|== SQL|;\s*\n|\n\s*\n).*", re.DOTALL)
"""Where Spark's message is over: its code, the text once more, its plan."""


def add_columns(frame: DataFrame, name: str, columns: Mapping[str, Filter]) -> DataFrame:
    """Add the columns that Spark computes to a frame."""
    found = frame.alias(name)
    for f in columns.values():
        # As a condition, so that Spark refuses here what gives no truth for each row, such as an aggregate.
        ask_spark(partial(found.where, str(f.where)), f'filter "{f.name}"')
    return found.select("*", *(F.expr(str(f.where)).alias(column) for column, f in columns.items()))


def add_to_table(spark: SparkSession, name: str, table: pa.RecordBatch, columns: Mapping[str, Filter]) -> pa.Table:
    """Add the columns that Spark computes to a lookup table."""
    # Left to itself, Spark takes a time without a zone for one of the session's zone.
    spelled = from_arrow_schema(table.schema, True)
    return add_columns(spark.createDataFrame(pa.Table.from_batches([table]), spelled), name, columns).toArrow()


def ask_spark(make: Callable[[], DataFrame], where: str) -> DataFrame:
    """Make a frame, and let Spark look at its expressions now.

    With Spark Connect it would else look at them when the frame is asked for its rows.
    """
    try:
        found = make()
        _ = found.schema
    except (AnalysisException, ParseException) as error:
        raise QueryError(f"{where}: {describe_spark_error(error)}") from error
    return found


def describe_spark_error(error: Exception) -> str:
    r"""Write what Spark says of a text, without its plan.

    >>> describe_spark_error(ValueError("[NO] There is no f. SQLSTATE: 42883; line 1 pos 0;\n'Project"))
    'Spark says: [NO] There is no f.'
    """
    return f"Spark says: {shorten(' '.join(_END.sub('', str(error)).split()))}"
