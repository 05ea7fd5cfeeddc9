"""Ends a call that takes too long.

In the main thread, where Spark's workers call functions too, a timer of the operating system interrupts Python code and
whatever waits: `time.sleep`, a socket, a lock. In another thread a watchdog raises at the next step of Python code, so
that what waits is not interrupted until it is done waiting. Neither interrupts native code that does not return to
Python: the end of a numpy or Arrow kernel, or of a library's own loop, has to be waited for.

The timer may go off anywhere, also between two steps of this file. So its handler raises only while the call itself is
on the stack: then `Expired` comes out of the call, and never out of the lines that start and stop the timer. A call in
which something swallows it, as finalizers do, is interrupted again at the next look.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TypeVar

Result = TypeVar("Result")

SHORTEST_LIMIT = 0.001
"""Seconds of the least time limit. A look takes some microseconds, and there are four in a limit."""

LOOKS_PER_LIMIT = 4
"""Looks at how far a call has come, in a time limit: a call is ended after the limit, and a quarter of it at most."""

SHORTEST_TIMER = 0.001
"""Seconds after which a foreign timer goes off that was due during a call."""

RowsDone = Callable[[], int]


class Expired(BaseException):
    """A call has taken too long.

    No `except Exception` of the function's catches it.
    """


def call_limited(seconds: float, progress: RowsDone, call: Callable[[], Result]) -> Result:
    """Call something, and raise `Expired` in it after the limit.

    The limit begins anew whenever `progress()` changes.
    """
    # Python lets only the main thread handle signals.
    in_main = threading.current_thread() is threading.main_thread()
    return (_by_signal if in_main else _by_thread)(seconds / LOOKS_PER_LIMIT, _Watch(progress), call)


class _Watch:
    """Counts the looks since there was progress."""

    def __init__(self, progress: RowsDone) -> None:
        self._progress = progress
        self._seen = progress()
        self._still = 0

    def has_expired(self) -> bool:
        """Tell whether one call has lasted for the whole limit."""
        now = self._progress()
        self._still = self._still + 1 if now == self._seen else 0
        self._seen = now
        return self._still >= LOOKS_PER_LIMIT


def _by_signal(tick: float, watch: _Watch, call: Callable[[], Result]) -> Result:
    ticks, own = 0, id(sys._getframe())

    def body() -> Result:
        return call()

    def look(_signal: int, frame: FrameType | None) -> None:
        nonlocal ticks
        ticks += 1
        if watch.has_expired() and _is_inside(frame, own, body.__code__):
            raise Expired

    handler, hook = signal.getsignal(signal.SIGALRM), sys.unraisablehook
    # Somebody else's timer rests during the call, and goes on with the time that it has left.
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        # A finalizer that swallows `Expired` would print it; the next look raises it again.
        sys.unraisablehook = lambda told: None if told.exc_type is Expired else hook(told)
        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, tick, tick)
        return body()
    finally:
        remaining, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        # The last look, if it is still to come, is taken in here, before the handler changes.
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        sys.unraisablehook = hook
        if left:
            passed = ticks * tick + (tick - remaining)
            signal.setitimer(signal.ITIMER_REAL, max(left - passed, SHORTEST_TIMER), interval)


def _is_inside(frame: FrameType | None, own: int, body: CodeType) -> bool:
    """Tell whether the body is under way.

    A finalizer may be called as well, in the lines around it.
    """
    # From the interrupted frame outwards: the frame right below `_by_signal` is `body` while the call is under way.
    while frame is not None and frame.f_back is not None:
        if id(frame.f_back) == own:
            return frame.f_code is body
        frame = frame.f_back
    return False


def _by_thread(tick: float, watch: _Watch, call: Callable[[], Result]) -> Result:
    over, lock = threading.Event(), threading.Lock()
    caller = ctypes.c_ulong(threading.get_ident())

    def look() -> None:
        while not over.wait(tick):
            with lock:
                if not over.is_set() and watch.has_expired():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, ctypes.py_object(Expired))
                    return

    threading.Thread(target=look, daemon=True).start()
    try:
        return call()
    finally:
        # It raises once at most: what comes in these lines ends them, and there is nothing left to stop then.
        with lock:
            over.set()
            # What was raised too late must not come up later on, in code that has no limit.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, None)
