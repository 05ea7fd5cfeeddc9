"""What Spark does with the answer behind the eddy, as far as its progress tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddy.errors import warn

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


def drops(progress: StreamingQueryProgress) -> bool:
    """Has an aggregate found results below the watermark; the eddy's own operator never drops a row in this way."""
    return any(operator.numRowsDroppedByWatermark for operator in progress.stateOperators)


def warn_of_drops(progress: StreamingQueryProgress) -> None:
    """Say that the answer of a query is not whole, and what makes it so."""
    warn(
        f'query "{progress.name or progress.id}": micro-batch {progress.batchId}: what comes behind the eddy has '
        "dropped results as late, since withWatermark is on the time of one of their rows; declare it on the newest "
        "time in each result, or with a longer delay: print(eddy.explain(query)) says what to write"
    )
