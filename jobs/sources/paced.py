"""A workload's rows, so many in each micro-batch, from Spark 4.2 on.

It says that it supports `availableNow`: otherwise Spark would ask for everything at once, in one giant micro-batch, and
nothing could be learned from one to the next.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from eddy.jobs.sources.replay import ReplayReader


class PacedReader(ReplayReader, SupportsTriggerAvailableNow):
    """Goes through the rows, so many in each micro-batch."""

    def __init__(self, recipe: str, name: str, limit: int) -> None:
        super().__init__(recipe, name)
        self._limit = limit

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Give the rows of a micro-batch."""
        return ReadMaxRows(self._limit)

    def latestOffset(self, *asked: Any) -> dict[str, int]:  # noqa: N802
        """As far as the limit allows, and not past the end."""
        start, limit = asked
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.rows()
        return {"row": min(start["row"] + most, self.rows())}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The end is known: no row is ever added."""
