"""Does what a statement leaves to Spark, on the answer of the eddy."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame

from eddy.errors import LONGEST_NAME, shorten
from eddy.query.statements.after import ANSWER, After
from eddy.spark.before.own_sql import ask_spark


def select_after(answer: DataFrame, after: After | None) -> DataFrame:
    """Select, group and compute as the statement says; the same frame where it says nothing more."""
    if after is None:
        return answer
    told = shorten(after.text.replace(ANSWER, "answer"), LONGEST_NAME)
    return ask_spark(partial(answer.sparkSession.sql, after.text, answer=answer), f"statement: after the eddy, {told}")
