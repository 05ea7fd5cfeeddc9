"""A call that takes too long is ended in the call, and nowhere else."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from types import FrameType
from typing import Any

import pytest

from eddy.predicates import time_limit
from eddy.predicates.time_limit import LOOKS_PER_LIMIT, SHORTEST_LIMIT, Expired, call_limited
from tests.house import ROOT

# What ends a test that hangs must not use the timer that is tested here.
pytestmark = pytest.mark.timeout(300, method="thread")

CALLS = 1_500

LONG_ENOUGH = 0.1
"""Seconds: with the least limit the timer would go off again before a traced look at it is over."""


@pytest.fixture
def ignored() -> Iterator[list[str]]:
    """What Python says of exceptions that nobody can be told of; and the timer is as it was."""
    told: list[str] = []
    before, hook = signal.signal(signal.SIGALRM, lambda *_: None), sys.unraisablehook
    sys.unraisablehook = lambda one: told.append(repr(one.exc_value))
    mine = signal.getsignal(signal.SIGALRM), sys.unraisablehook
    yield told
    assert (signal.getsignal(signal.SIGALRM), sys.unraisablehook) == mine
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    signal.signal(signal.SIGALRM, before)
    sys.unraisablehook = hook


def still() -> int:
    """Progress that is none."""
    return 0


def go_off_at_every_step(rounds: int) -> None:
    """Let the timer go off as many times as make a limit, at every instruction around the call, and in the call."""
    gone_off: list[str] = []

    def go_off(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code not in (time_limit._by_signal.__code__, call.__code__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            gone_off.append(frame.f_code.co_name)
            for _ in range(LOOKS_PER_LIMIT):
                signal.raise_signal(signal.SIGALRM)
        return go_off

    def call() -> int:
        return sum(range(rounds))

    for seconds in (1_000.0, LONG_ENOUGH):
        ended = False
        sys.settrace(go_off)
        try:
            call_limited(seconds, still, call)
        except Expired:
            ended = True
        finally:
            sys.settrace(None)
        assert ended
    assert {"_by_signal", "call"} <= set(gone_off)


@pytest.mark.process
def test_the_timer_may_go_off_at_every_step() -> None:
    """In a process of its own, since an interpreter that has done much else does not always bear to be traced so."""
    code = (
        "import signal; signal.signal(signal.SIGALRM, lambda *_: None); from tests.eddy import test_limit as t; "
        "[t.go_off_at_every_step(rounds) for rounds in (0, 1, 3)]; print('done')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_calls_with_the_least_limit_end_or_give_their_answer(ignored: list[str]) -> None:
    """Some are far below the limit, some far above, and many end when the timer goes off."""
    ends = {True: 0, False: 0}

    def work(steps: int) -> int:
        made = 0
        for step in range(steps):
            made += step
        return made

    for number in range(CALLS):
        steps = number * number % 100_003
        try:
            assert call_limited(SHORTEST_LIMIT, still, partial(work, steps)) == steps * (steps - 1) // 2
        except Expired:
            ends[True] += 1
        else:
            ends[False] += 1
    assert all(ends.values())
    assert not ignored


class Noisy:
    """Takes its time when it is let go of."""

    def __del__(self) -> None:
        for _ in range(20_000):
            pass


def test_what_a_finalizer_swallows_comes_again(ignored: list[str]) -> None:
    def call() -> None:
        while True:
            Noisy()
            for _ in range(20_000):
                pass

    with pytest.raises(Expired):
        call_limited(SHORTEST_LIMIT, still, call)
    assert not ignored


def test_outside_of_the_main_thread_it_is_the_call_that_is_ended() -> None:
    ends: list[str] = []

    def count(steps: float) -> int:
        made = 0
        while made < steps:
            made += 1
        return made

    def ask() -> None:
        for steps in (*range(0, 100_000, 4_000), math.inf):
            try:
                call_limited(SHORTEST_LIMIT, still, partial(count, steps))
            except Expired:
                ends.append("ended")
            else:
                ends.append("answered")

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(ends) == 26
    assert ends[-1] == "ended"


def test_one_limit_within_another(ignored: list[str]) -> None:
    def forever() -> None:
        while True:
            pass

    def inner() -> str:
        with pytest.raises(Expired):
            call_limited(SHORTEST_LIMIT, still, forever)
        return "inside"

    def both() -> None:
        inner()
        forever()

    assert call_limited(1_000, still, inner) == "inside"
    with pytest.raises(Expired):
        call_limited(SHORTEST_LIMIT * 20, still, both)
    assert not ignored
