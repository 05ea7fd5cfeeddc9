"""Listens to every micro-batch of a session's queries."""

from __future__ import annotations

import atexit
import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakSet

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.utils import is_remote

from eddy.spark.progress import collect

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQueryManager

LISTENED_TO: WeakSet[SparkSession] = WeakSet()

MOST_HEARING_MILLISECONDS = 2_000
"""How long the end of a program waits for an event that is being heard: a report is taken in milliseconds."""


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
        """Nothing is forgotten: reports can still be asked for."""


def listen(spark: SparkSession) -> None:
    """Listen to a session, once."""
    if spark in LISTENED_TO:
        return
    streams, listener = spark.streams, Listener()
    streams.addListener(listener)
    LISTENED_TO.add(spark)
    # Only Connect's client has a thread that would keep the process alive.
    if is_remote():
        threading.Thread(target=_leave_first, args=(streams, listener), daemon=True).start()
    else:
        atexit.register(_leave, streams, listener)


def _leave_first(streams: StreamingQueryManager, listener: Listener) -> None:
    """Stop listening when the job's main thread ends.

    Through Spark Connect the client hears in a thread that is no daemon: a job that fails, or forgets to stop its
    session, would never end for our listener's sake.
    """
    threading.main_thread().join()
    streams.removeListener(listener)


def _leave(streams: StreamingQueryManager, listener: Listener) -> None:
    """Stop listening before Python ends.

    The JVM lives a little longer than a program that does not stop its session. It would still tell the listener of
    the last micro-batch, find nobody, and print a screenful of its own code.
    """
    from pyspark import SparkContext  # noqa: PLC0415  a client of Connect alone has none

    context = SparkContext._active_spark_context
    if context is None:  # a session that is stopped has told all
        return
    with suppress(Exception):  # the JVM may be gone, or have no such bus
        streams.removeListener(listener)
        context._jsc.sc().listenerBus().waitUntilEmpty(MOST_HEARING_MILLISECONDS)
