"""Clocks of real time: the engine reads those that it is given.

On a busy machine a thread waits for its turn, and the wall says that an operator was slow. Its own processor seconds do
not, but they leave out what it waits for by itself: a service, a file, threads of its own. Linux counts for each thread
how often it gave the processor away by itself. Between two readings without that, all waiting was for the machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from eddy.contracts import Clock

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

LONG = 1e-3
"""Seconds between two readings from which on the thread may have waited for its turn: a shorter part is hardly ever cut
in two, and to ask what a thread did takes as long as ten readings."""

MOST_UNASKED = 1e-3
"""Seconds of short parts after which it is asked all the same, so that what is off in them does not add up."""

Usage = Callable[[], tuple[float, int]]
"""Seconds for which this thread was at work, and how often it gave the processor away by itself."""


def make_work_clock() -> Clock:
    """A clock for what steps take in this thread; that of the wall, where the system does not say more."""
    return leave_out_turns(time.perf_counter, read_usage) if sys.platform == "linux" else time.perf_counter


def leave_out_turns(wall: Clock, read: Usage) -> Clock:
    """Make a clock that stands still while the thread waits for its turn, and for nothing else.

    >>> walls, usages = iter([0.0, 0.02, 0.04]), iter([(0.0, 0), (0.005, 0), (0.01, 1)])
    >>> clock = leave_out_turns(walls.__next__, usages.__next__)
    >>> clock(), clock()
    (0.005, 0.025)
    """
    last, (worked, waits) = wall(), read()
    now = unasked = 0.0

    def clock() -> float:
        nonlocal last, worked, waits, now, unasked
        reading = wall()
        passed, last = reading - last, reading
        if passed < LONG:
            now, unasked = now + passed, unasked + passed
            if unasked < MOST_UNASKED:
                return now
            passed = 0.0
        work, given = read()
        # Short parts are taken to be all work. Another thread has a usage of its own, which may be less.
        if given == waits and work >= worked:
            passed = min(passed, max(work - worked - unasked, 0.0))
        now, worked, waits, unasked = now + passed, work, given, 0.0
        return now

    return clock


def read_usage() -> tuple[float, int]:
    """Read what this thread has used; nothing, where the system does not say."""
    if sys.platform != "linux":
        return 0.0, 0
    # What `getrusage` says of the seconds is as of the last tick, which may be milliseconds ago.
    return time.thread_time(), getrusage(RUSAGE_THREAD).ru_nvcsw
