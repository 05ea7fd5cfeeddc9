"""The parts of local times and dates: year, hour and their kin.

Counted by numpy, whose calendar goes on where Arrow's years of 16 bits end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.sql import decimals, types
from eddy.sql.arrays import build, nulls, on_arrays, physical
from eddy.sql.calendar import DAY
from eddy.sql.value import Kernel

Numbers = np.ndarray[Any, Any]
_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
# 1970 began on a Thursday, which Spark counts as day 5 of a week.
_THURSDAY = 4
SECONDS = pa.decimal128(8, 6)


def _months(days: Numbers) -> Numbers:
    """Count the months since 1970."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def _day(days: Numbers) -> Numbers:
    dates = days.astype("M8[D]")
    first: Numbers = dates.astype("M8[M]").astype("M8[D]")
    return (dates - first).astype(np.int64) + 1


_OF_DATE: dict[str, Callable[[Numbers], Numbers]] = {
    "year": lambda days: _months(days) // 12 + 1970,
    "quarter": lambda days: _months(days) % 12 // 3 + 1,
    "month": lambda days: _months(days) % 12 + 1,
    "day": _day,
    "dayofweek": lambda days: (days + _THURSDAY) % 7 + 1,
}
_OF_DAY: dict[str, Callable[[Numbers], Numbers]] = {
    "hour": lambda micros: micros // (60 * _MINUTE) % 24,
    "minute": lambda micros: micros // _MINUTE % 60,
    "second": lambda micros: micros // _SECOND % 60,
}


def is_of_day(name: str) -> bool:
    """Tell whether a part is one of the time of day.

    >>> is_of_day("hour"), is_of_day("year")
    (True, False)
    """
    return name not in _OF_DATE


def kernel(name: str) -> Kernel:
    """Give the kernel from dates or local times to a part of them."""
    return on_arrays(lambda array: build(_counted(name, array).astype(np.int32), nulls(array), types.INT))


def _counted(name: str, array: pa.Array) -> Numbers:
    numbers = physical(array).astype(np.int64)
    if name in _OF_DAY:
        return _OF_DAY[name](numbers)
    # A null may hold any number, and numpy's calendar does not take the largest.
    days = numbers if array.type == types.DATE else numbers // DAY
    mask = nulls(array)
    return _OF_DATE[name](days if mask is None else np.where(mask, 0, days))


@on_arrays
def seconds(local: pa.Array) -> pa.Array:
    """Give the seconds of local times, with their fraction."""
    return decimals.scaled(physical(local) % _MINUTE, nulls(local), SECONDS)
