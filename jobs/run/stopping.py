"""Ctrl-C and SIGTERM end a query between two micro-batches."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from eddy.jobs.run.error_text import INTERRUPTED
from eddy.jobs.run.progress_line import is_over

SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM}

NOT_BEGUN = "stopped before the first micro-batch"

AGAIN = 1.0
"""Seconds after which a second signal means impatience: one Ctrl-C reaches us by two ways, within a moment."""


class Stop:
    """A request to stop, and the right moment for it."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._now = False
        self._batch: int | None = None

    @property
    def asked(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._first is not None

    def ask(self, *_: object) -> None:
        """Ask to stop.

        It is a signal handler, here and, through `handle`, in the JVM.
        """
        now = time.monotonic()
        if self._first is None:
            self._first = now
        elif now - self._first > AGAIN:
            self._now = True

    def may_stop(self, *, done: int, active: bool) -> bool:
        """Tell whether the query may stop now.

        It may when the micro-batch under way is over, or at once when asked a second time.

        `done` is the number of the last micro-batch that is over, and `active` says whether another one is under way.

        >>> stop = Stop()
        >>> [stop.may_stop(done=done, active=True) for done in (3, 3, 4)], Stop().may_stop(done=3, active=False)
        ([False, False, True], True)
        """
        if self._batch is None:
            self._batch = done
        return self._now or done > self._batch or not active

    def expect(self) -> None:
        """Leave at once when asked, until Spark is there.

        Before that there is nothing to finish.
        """
        signal.signal(signal.SIGINT, _leave)

    def listen(self, spark: SparkSession) -> None:
        """Hear signals from now on.

        Where spark-submit has started us, the JVM is our parent. Its own way with a signal is to tear everything down
        at once, so it is told to hand signals to us.
        """
        for one in SIGNALS.values():
            signal.signal(one, self.ask)
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            gateway: Any = spark.sparkContext._gateway
            start: Any = ensure_callback_server_started
            start(gateway)
            misc: Any = gateway.jvm.sun.misc
            for name in SIGNALS:
                misc.Signal.handle(misc.Signal(name), _Handler(self))


def _leave(*_: object) -> None:
    """End at once, not by a way back through Spark's work.

    That would be told line by line.
    """
    print(NOT_BEGUN, file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


class _Handler:
    """A handler of signals in the JVM, written in Python."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop

    def handle(self, _: object) -> None:
        """Handle a signal; Java calls it."""
        self._stop.ask()

    class Java:
        """For py4j."""

        implements = ("sun.misc.SignalHandler",)


def last_batch(query: StreamingQuery) -> int:
    """Find the micro-batch that was over last.

    It is -1 before there is any.
    """
    progress = query.lastProgress
    return -1 if progress is None else is_over(progress)
