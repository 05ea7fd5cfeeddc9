"""Between instants, local times and dates.

A local time that happens twice means the earlier instant; one that a clock change skips is moved on by the change.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import horizon, types
from eddy.sql.arrays import build, nulls, on_arrays, physical
from eddy.sql.calendar import DAY
from eddy.sql.faults import unfit
from eddy.sql.horizon import Micros
from eddy.sql.value import Kernel, Value

_FIXED = re.compile(r"(UTC|GMT|Etc/UTC|Etc/GMT|Z)|[+-]\d\d:?\d\d")


def is_fixed(zone: str) -> bool:
    """Tell whether a zone never changes its clocks.

    >>> is_fixed("+02:00"), is_fixed("Europe/Oslo")
    (True, False)
    """
    return _FIXED.fullmatch(zone) is not None


@functools.lru_cache(maxsize=256)
def is_known(zone: str) -> bool:
    """Tell whether the clocks of a zone are known here.

    >>> is_known("Europe/Oslo"), is_known("Nowhere/X")
    (True, False)
    """
    try:
        pc.local_timestamp(pa.scalar(0, pa.timestamp("us", zone)))
    except pa.ArrowInvalid:
        return False
    return True


def localize(value: Value, zone: str) -> Value:
    """Give the local time of instants, as its clocks show it."""
    found = pc.local_timestamp(value.cast(pa.timestamp("us", zone)))
    return found if is_fixed(zone) else _beyond(value, found, horizon.local, zone)


def instants(local: Value, zone: str) -> Value:
    """Give the instants of local times."""
    found = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
    if is_fixed(zone):
        return found
    back = pc.local_timestamp(found)
    if isinstance(found, pa.Scalar):
        found = _moved_on(pa.array([local]), pa.array([found]), pa.array([back]))[0]
    elif not back.equals(local):
        found = _moved_on(local, found, back)
    return _beyond(local, found, horizon.instants, zone)


def _beyond(source: Value, found: Value, convert: Callable[[Micros, str], Micros], zone: str) -> Value:
    """Convert the late times anew, which Arrow converted by the wrong clock."""
    return on_arrays(lambda times, made: _renewed(times, made, convert, zone))(source, found)


def _renewed(times: pa.Array, made: pa.Array, convert: Callable[[Micros, str], Micros], zone: str) -> pa.Array:
    late = physical(times) >= horizon.HORIZON
    if not late.any():
        return made
    micros = physical(made).copy()
    micros[late] = convert(physical(times)[late], zone)
    return build(micros, nulls(made), made.type)


def _moved_on(local: pa.Array, found: pa.Array, back: pa.Array) -> pa.Array:
    """Move skipped local times on, by the offset from before the change."""
    offset = physical(back) - physical(found)
    micros = np.where(physical(back) == physical(local), physical(found), physical(local) - offset)
    return build(micros, nulls(local), found.type)


def to_local(target: pa.DataType, zone: str) -> Kernel:
    """Give the kernel from timestamps to dates or local times."""
    return lambda value: _dated(localize(value, zone), target)


def from_local(zone: str) -> Kernel:
    """Give the kernel from dates or local times to timestamps."""
    return lambda value: instants(_midnight(value), zone)


def between_locals(target: pa.DataType) -> Kernel:
    """Give the kernel between dates and local times."""
    return lambda value: _dated(_midnight(value), target)


def _midnight(value: Value) -> Value:
    """Turn dates into local times, of which there are not as many."""
    try:
        return value.cast(types.TIMESTAMP_NTZ)
    except pa.ArrowInvalid:
        raise unfit("a date", "timestamp") from None


def _dated(local: Value, target: pa.DataType) -> Value:
    return days(local) if target == types.DATE else local


@on_arrays
def days(local: pa.Array) -> pa.Array:
    """Give the dates of local times."""
    return build(np.floor_divide(physical(local), DAY).astype(np.int32), nulls(local), types.DATE)
