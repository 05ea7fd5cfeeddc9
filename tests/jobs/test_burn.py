"""Operators that cost what they are told to."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from eddy.jobs.experiments.workloads.burn import add_work, burn

ASKED_US = 5_000


def test_the_work_takes_about_as_long_as_asked() -> None:
    burn(1)  # the first call finds out what the machine can do
    taken = min(_seconds() for _ in range(5))
    assert ASKED_US / 3e6 < taken < ASKED_US * 3e-6


def _seconds() -> float:
    started = time.thread_time()
    burn(ASKED_US)
    return time.thread_time() - started


def test_no_work_is_the_same_function() -> None:
    def even(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.asarray(values % 2 == 0, np.bool_)

    assert add_work(even, 0) is even
    assert add_work(even, 1)(np.arange(4)).tolist() == [True, False, True, False]
