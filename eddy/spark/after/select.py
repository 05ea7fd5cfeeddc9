"""Does what a statement leaves to Spark, on the answer of the eddy."""

from __future__ import annotations

from pyspark.sql import DataFrame

from eddy.query.statements.after import After


def select_after(answer: DataFrame, after: After | None) -> DataFrame:
    """Select, group and compute as the statement says; the same frame where it says nothing more."""
    return answer if after is None else answer.sparkSession.sql(after.text, answer=answer)
