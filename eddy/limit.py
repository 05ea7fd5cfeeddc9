"""Ends a call that takes too long.

In the main thread, where Spark's workers call functions too, a timer of the operating system interrupts Python code and
whatever waits: `time.sleep`, a socket, a lock. In another thread a watchdog raises at the next step of Python code, so
that what waits is not interrupted until it is done waiting. Neither interrupts native code that does not return to
Python: the end of a numpy or Arrow kernel, or of a library's own loop, has to be waited for.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TICKS = 4
"""Looks at how far a call has come, in a time limit: a call is ended after the limit, and a quarter of it at most."""

SHORTEST = 0.001
"""Seconds: a timer of someone else that would have come during a call comes so soon after it."""

Progress = Callable[[], int]


class Expired(BaseException):
    """A call has taken too long; no `except Exception` of the function's catches it."""


class _Watch:
    """Counts the looks since there was progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._seen = progress()
        self._still = 0

    def expired(self) -> bool:
        """Has the same call been under way for the whole limit."""
        now = self._progress()
        self._still = self._still + 1 if now == self._seen else 0
        self._seen = now
        return self._still >= TICKS


@contextmanager
def limited(seconds: float, progress: Progress) -> Iterator[None]:
    """Raise `Expired` in the body once `progress()` has been the same for so long."""
    in_main = threading.current_thread() is threading.main_thread()
    with (_by_signal if in_main else _by_thread)(seconds / TICKS, _Watch(progress)):
        yield


@contextmanager
def _by_signal(tick: float, watch: _Watch) -> Iterator[None]:
    ticks, over = 0, False

    def look(*_: object) -> None:
        nonlocal ticks
        ticks += 1
        if not over and watch.expired():
            raise Expired

    handler = signal.signal(signal.SIGALRM, look)
    left, interval = signal.setitimer(signal.ITIMER_REAL, tick, tick)
    try:
        yield
    finally:
        over = True
        remaining, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        if left:
            passed = ticks * tick + (tick - remaining)
            signal.setitimer(signal.ITIMER_REAL, max(left - passed, SHORTEST), interval)


@contextmanager
def _by_thread(tick: float, watch: _Watch) -> Iterator[None]:
    over, lock = threading.Event(), threading.Lock()
    caller = ctypes.c_ulong(threading.get_ident())

    def look() -> None:
        while not over.wait(tick):
            with lock:
                if not over.is_set() and watch.expired():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, ctypes.py_object(Expired))
                    return

    threading.Thread(target=look, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            over.set()
            # What was raised too late must not come up later on, in code that has no limit.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, None)
