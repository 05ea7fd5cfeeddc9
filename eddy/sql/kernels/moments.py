"""Parts of dates and local times, and their spelling.

Years have any length here. Arrow writes four digits; the others are written as a year in the same place of the
calendar's cycle of 400 years.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels import decimals
from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, build, map_values, nulls, on_arrays, physical
from eddy.sql.values.calendar import DAY
from eddy.tuples.arrays import Numbers

# As many days as four centuries always have: the same dates come again after them.
_CYCLE_YEARS = 146_097
_LAST_YEAR = 9_999
_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
# 1970 began on a Thursday, which Spark counts as day 5 of a week.
_THURSDAY = 4
SECONDS, _MICROS = pa.decimal128(8, 6), pa.decimal128(8, 0)
_MICROSECOND = pa.scalar(Decimal("0.000001"))
_OF_DAY: dict[str, Callable[[Numbers], Numbers]] = {
    "hour": lambda micros: micros // (60 * _MINUTE) % 24,
    "minute": lambda micros: micros // _MINUTE % 60,
    "second": lambda micros: micros // _SECOND % 60,
}


@on_arrays
def dates(days: pa.Array) -> pa.Array:
    """Write dates; a year of five digits has a sign."""
    far = _find_far(days)
    return days.cast(types.STRING) if far is None else _respell(days, far, 1)


@on_arrays
def times(local: pa.Array) -> pa.Array:
    """Write local times, without zeros at a fraction's end."""
    far = _find_far(local)
    texts = _write_near(local) if far is None else _respell(local, far, DAY)
    return pc.replace_substring_regex(texts, r"\.?0*$", "") if _has_fraction(texts) else texts


def _write_near(local: pa.Array) -> pa.Array:
    return pc.strftime(local, format="%Y-%m-%d %H:%M:%S")


def _has_fraction(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(texts, ".")).as_py())


def _find_far(array: pa.Array) -> pa.Array | None:
    """Give the years, if any has more digits than Arrow writes."""
    years = kernel("year")(array)
    outside = (physical(years) < 0) | (physical(years) > _LAST_YEAR)
    mask = nulls(years)
    return years if (outside if mask is None else outside & ~mask).any() else None


def _respell(array: pa.Array, years: pa.Array, unit: int) -> pa.Array:
    """Write days of years that Arrow cannot write.

    The same day of a year that it knows is put under its own year.
    """
    mask = nulls(array)
    numbers = physical(array).astype(np.int64)
    centuries = physical(years).astype(np.int64) // 400 - 5
    twins = build((numbers - centuries * _CYCLE_YEARS * unit).astype(physical(array).dtype), mask, array.type)
    texts = twins.cast(types.STRING) if array.type == types.DATE else _write_near(twins)
    return pc.binary_join_element_wise(_year(years), pc.utf8_slice_codeunits(texts, start=4), "")


def _spell(year: int | None) -> str | None:
    if year is None:
        return None
    sign = "-" if year < 0 else "+" if year > _LAST_YEAR else ""
    return f"{sign}{abs(year):04d}"


_year = map_values(_spell, types.STRING)


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


@on_arrays
def seconds(local: pa.Array) -> pa.Array:
    """Give the seconds of local times, with their fraction."""
    micros = build(physical(local) % _MINUTE, nulls(local), types.BIGINT)
    made: pa.Array = pc.multiply(decimals.from_integers(_MICROS)(micros), _MICROSECOND).cast(SECONDS)
    return made
