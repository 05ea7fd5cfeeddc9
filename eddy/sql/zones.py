"""Between instants, local times and dates.

A local time that happens twice means the earlier instant; one that a clock change skips is moved on by the change.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import types
from eddy.sql.arrays import build, nulls, on_arrays, physical
from eddy.sql.calendar import DAY
from eddy.sql.value import Kernel, Value

_FIXED = re.compile(r"(UTC|GMT|Etc/UTC|Etc/GMT|Z)|[+-]\d\d:?\d\d")


def is_fixed(zone: str) -> bool:
    """Tell whether a zone never changes its clocks.

    >>> is_fixed("+02:00"), is_fixed("Europe/Oslo")
    (True, False)
    """
    return _FIXED.fullmatch(zone) is not None


def localize(value: Value, zone: str) -> Value:
    """Give the local time of instants, as its clocks show it."""
    return pc.local_timestamp(value.cast(pa.timestamp("us", zone)))


def instants(local: Value, zone: str) -> Value:
    """Give the instants of local times."""
    found = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
    if is_fixed(zone):
        return found
    back = pc.local_timestamp(found)
    if isinstance(found, pa.Scalar):
        return _moved_on(pa.array([local]), pa.array([found]), pa.array([back]))[0]
    return found if back.equals(local) else _moved_on(local, found, back)


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
    return lambda value: instants(value.cast(types.TIMESTAMP_NTZ), zone)


def between_locals(target: pa.DataType) -> Kernel:
    """Give the kernel between dates and local times."""
    return lambda value: _dated(value.cast(types.TIMESTAMP_NTZ), target)


def _dated(local: Value, target: pa.DataType) -> Value:
    return days(local) if target == types.DATE else local


@on_arrays
def days(local: pa.Array) -> pa.Array:
    """Give the dates of local times."""
    return build(np.floor_divide(physical(local), DAY).astype(np.int32), nulls(local), types.DATE)
