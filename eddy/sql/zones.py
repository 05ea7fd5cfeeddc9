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
from eddy.sql.step import Kernel, Value

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


def convert(source: pa.DataType, target: pa.DataType, zone: str) -> Kernel:
    """Give the kernel between two of date, timestamp and timestamp_ntz."""
    if types.is_timestamp(source):
        if types.is_timestamp(target):
            return lambda value: value.cast(target)
        return lambda value: _from_local(localize(value, zone), target)
    if types.is_timestamp(target):
        return lambda value: instants(_to_local(value), zone)
    return lambda value: _from_local(_to_local(value), target)


def _to_local(value: Value) -> Value:
    return value.cast(types.TIMESTAMP_NTZ)


def _from_local(value: Value, target: pa.DataType) -> Value:
    return days(value) if target == types.DATE else value


@on_arrays
def days(local: pa.Array) -> pa.Array:
    """Give the dates of local times."""
    return build(np.floor_divide(physical(local), DAY).astype(np.int32), nulls(local), types.DATE)
