"""Hears of every micro-batch of a session's queries."""

from __future__ import annotations

from weakref import WeakSet

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from eddy.spark.progress import collect


class Listener(StreamingQueryListener):
    """Collects the reports of queries that have an eddy in them."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  Spark's names
        """Nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Take what the cells report."""
        collect(event.progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing has happened."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """What is known can still be asked for."""


HEARD: WeakSet[SparkSession] = WeakSet()


def listen(spark: SparkSession) -> None:
    """Listen to a session, once."""
    if spark not in HEARD:
        spark.streams.addListener(Listener())
        HEARD.add(spark)
