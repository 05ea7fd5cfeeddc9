"""Operators that cost what an experiment says they cost."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any

import numpy as np

from eddy.errors import QueryError
from eddy.jobs.workloads.parameters import check_number, is_number

MaskFunction = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, np.dtype[np.bool_]]]

BLOCK = bytes(range(256)) * 64
"""The bytes to hash: 16 KiB take some ten microseconds, so a call is not noticed beside them, nor is the last block."""

TRIES = 7
BLOCKS = 200
"""A few milliseconds each, of the thread alone: the quickest of several tries is what the machine does undisturbed."""


def check_costs(cost_us: object, operators: int, where: str) -> list[float]:
    """Read the microseconds of each operator: one for all, or a list.

    In an experiment, where a list stands for several workloads, the list is in a list.
    """
    if isinstance(cost_us, Sequence) and not isinstance(cost_us, str):
        works = list(cost_us[0] if len(cost_us) == 1 and isinstance(cost_us[0], list) else cost_us)
        if len(works) != operators or not all(is_number(work) and work > 0 for work in works):
            raise QueryError(
                f"{where}: expected a cost_us above 0 for each of {operators} operators, or one for all, got {works!r}"
            )
        return works
    return [check_number(cost_us, "cost_us", where=where)] * operators


def add_work(judge: MaskFunction, microseconds: float) -> MaskFunction:
    """Add work for each row to a judgement.

    The work is a number of bytes to hash, found out once per process, so it costs the more when the machine is
    busy, as real work does; its result is thrown away.
    """
    if not microseconds:
        return judge

    @wraps(judge)
    def slow(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        burn(len(values) * microseconds)
        return judge(values)

    return slow


def burn(microseconds: float) -> None:
    """Hash for about as long as that."""
    size = round(microseconds * _bytes_per_microsecond())
    digest = hashlib.sha256()
    for _ in range(size // len(BLOCK)):
        digest.update(BLOCK)
    digest.update(BLOCK[: size % len(BLOCK)])


@cache
def _bytes_per_microsecond() -> float:
    return BLOCKS * len(BLOCK) / min(_hash() for _ in range(TRIES)) / 1e6


def _hash() -> float:
    digest, started = hashlib.sha256(), time.thread_time()
    for _ in range(BLOCKS):
        digest.update(BLOCK)
    return time.thread_time() - started
