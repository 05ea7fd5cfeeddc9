"""Parts of dates and local times, and their spelling.

Years have any length here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, Value, build, nulls, on_arrays, physical
from eddy.sql.values.calendar import DAY
from eddy.tuples.arrays import Numbers

_LAST_YEAR = 9_999
_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
# 1970 began on a Thursday, which Spark counts as day 5 of a week.
_THURSDAY = 4
_OF_DAY: dict[str, Callable[[Numbers], Numbers]] = {
    "hour": lambda micros: micros // (60 * _MINUTE) % 24,
    "minute": lambda micros: micros // _MINUTE % 60,
    "second": lambda micros: micros // _SECOND % 60,
}


@on_arrays
def dates(days: pa.Array) -> pa.Array:
    """Write dates; a year of five digits has a sign."""
    return _write_far(days, "D") if _is_far(days) else days.cast(types.STRING)


@on_arrays
def times(local: pa.Array) -> pa.Array:
    """Write local times, without zeros at a fraction's end."""
    texts = _write_far(local, "us") if _is_far(local) else pc.strftime(local, format="%Y-%m-%d %H:%M:%S")
    return pc.replace_substring_regex(texts, r"\.?0*$", "") if _has_fraction(texts) else texts


def _has_fraction(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(texts, ".")).as_py())


def _is_far(array: pa.Array) -> bool:
    """Tell whether a year has more digits than Arrow writes."""
    years, mask = physical(kernel("year")(array)), nulls(array)
    far = (years < 0) | (years > _LAST_YEAR)
    return bool((far if mask is None else far & ~mask).any())


def _write_far(array: pa.Array, unit: str) -> Value:
    """Write dates and times of any year."""
    # numpy writes the years 12024 and -44 as 12024 and -044, where Spark has +12024 and -0044.
    texts = np.datetime_as_string(physical(array).astype(np.int64).astype(f"M8[{unit}]"))
    found: Value = pc.replace_substring(pa.array(texts, mask=nulls(array)), "T", " ")
    return pc.replace_substring_regex(pc.replace_substring_regex(found, r"^(\d{5})", r"+\1"), r"^-(\d{3}-)", r"-0\1")


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


def is_of_day(name: str) -> bool:
    """Tell whether a part is one of the time of day.

    >>> is_of_day("hour"), is_of_day("year")
    (True, False)
    """
    return name not in _OF_DATE


def kernel(name: str) -> Kernel:
    """Give the kernel from dates or local times to a part of them."""
    return on_arrays(lambda array: build(_count_part(name, array).astype(np.int32), nulls(array), types.INT))


def _count_part(name: str, array: pa.Array) -> Numbers:
    numbers = physical(array).astype(np.int64)
    if name in _OF_DAY:
        return _OF_DAY[name](numbers)
    # A null may hold any number, and numpy's calendar does not take the largest.
    days = numbers if array.type == types.DATE else numbers // DAY
    mask = nulls(array)
    return _OF_DATE[name](days if mask is None else np.where(mask, 0, days))
