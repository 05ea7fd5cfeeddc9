"""Dates and local times to strings, in years of any length."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import parts, types
from eddy.sql.arrays import build, mapped, nulls, on_arrays, physical
from eddy.sql.calendar import DAY

# As many days as four centuries always have: the same dates come again after them.
_FOUR_CENTURIES = 146_097
_LAST_YEAR = 9_999


@on_arrays
def dates(days: pa.Array) -> pa.Array:
    """Write dates; a year of five digits has a sign."""
    far = _far(days)
    return days.cast(types.STRING) if far is None else _respelled(days, far, 1)


@on_arrays
def times(local: pa.Array) -> pa.Array:
    """Write local times, without the zeros at the end of a fraction."""
    far = _far(local)
    texts = _near(local) if far is None else _respelled(local, far, DAY)
    return pc.replace_substring_regex(texts, r"\.?0*$", "") if _has_fraction(texts) else texts


def _near(local: pa.Array) -> pa.Array:
    return pc.strftime(local, format="%Y-%m-%d %H:%M:%S")


def _has_fraction(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(texts, ".")).as_py())


def _far(array: pa.Array) -> pa.Array | None:
    """Give the years, if any has more digits than Arrow writes."""
    years = parts.kernel("year")(array)
    outside = (physical(years) < 0) | (physical(years) > _LAST_YEAR)
    mask = nulls(years)
    return years if (outside if mask is None else outside & ~mask).any() else None


def _respelled(array: pa.Array, years: pa.Array, unit: int) -> pa.Array:
    """Write the same day of a year that Arrow knows, under its own year."""
    mask = nulls(array)
    numbers = physical(array).astype(np.int64)
    centuries = physical(years).astype(np.int64) // 400 - 5
    twins = build((numbers - centuries * _FOUR_CENTURIES * unit).astype(physical(array).dtype), mask, array.type)
    texts = twins.cast(types.STRING) if array.type == types.DATE else _near(twins)
    return pc.binary_join_element_wise(_year(years), pc.utf8_slice_codeunits(texts, start=4), "")


def _spelled(year: int | None) -> str | None:
    if year is None:
        return None
    sign = "-" if year < 0 else "+" if year > _LAST_YEAR else ""
    return f"{sign}{abs(year):04d}"


_year = mapped(_spelled, types.STRING)
