"""Between instants, local times and dates.

A local time that happens twice means the earlier instant; one that a clock change skips is moved on by the change.

Arrow's tables of zones end in 2037. Later times are converted by the rules of Python's `zoneinfo`, in a cycle of 400
years.
"""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, Value, build, nulls, on_arrays, physical
from eddy.sql.values.calendar import DAY
from eddy.sql.values.faults import unfit
from eddy.tuples.arrays import Integers

_FIXED = re.compile(r"(UTC|GMT|Etc/UTC|Etc/GMT|Z)|[+-]\d\d:?\d\d")
_SECOND = 1_000_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_CYCLE = 146_097 * 86_400 * _SECOND


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
    return found if is_fixed(zone) else _convert_late(value, found, local_within, zone)


def instants(local: Value, zone: str) -> Value:
    """Give the instants of local times."""
    found = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
    if is_fixed(zone):
        return found
    back = pc.local_timestamp(found)
    if isinstance(found, pa.Scalar):
        found = _move_on(pa.array([local]), pa.array([found]), pa.array([back]))[0]
    elif not back.equals(local):
        found = _move_on(local, found, back)
    return _convert_late(local, found, instants_within, zone)


def _convert_late(source: Value, found: Value, convert: Callable[[Integers, str], Integers], zone: str) -> Value:
    """Convert late times anew.

    Arrow converted them by the wrong clock.
    """
    return on_arrays(lambda times, made: _renew(times, made, convert, zone))(source, found)


def _renew(times: pa.Array, made: pa.Array, convert: Callable[[Integers, str], Integers], zone: str) -> pa.Array:
    late = physical(times) >= HORIZON
    if not late.any():
        return made
    micros = physical(made).copy()
    micros[late] = convert(physical(times)[late], zone)
    return build(micros, nulls(made), made.type)


def _move_on(local: pa.Array, found: pa.Array, back: pa.Array) -> pa.Array:
    """Move skipped local times on.

    They move by the offset from before the change.
    """
    offset = physical(back) - physical(found)
    micros = np.where(physical(back) == physical(local), physical(found), physical(local) - offset)
    return build(micros, nulls(local), found.type)


def to_local(target: pa.DataType, zone: str) -> Kernel:
    """Give the kernel from timestamps to dates or local times."""
    return lambda value: _to_target(localize(value, zone), target)


def from_local(zone: str) -> Kernel:
    """Give the kernel from dates or local times to timestamps."""
    return lambda value: instants(_midnight(value), zone)


def between_locals(target: pa.DataType) -> Kernel:
    """Give the kernel between dates and local times."""
    return lambda value: _to_target(_midnight(value), target)


def _midnight(value: Value) -> Value:
    """Turn dates into local times, of which there are not as many."""
    try:
        return value.cast(types.TIMESTAMP_NTZ)
    except pa.ArrowInvalid:
        raise unfit("a date", "timestamp") from None


def _to_target(local: Value, target: pa.DataType) -> Value:
    return days(local) if target == types.DATE else local


@on_arrays
def days(local: pa.Array) -> pa.Array:
    """Give the dates of local times."""
    return build(np.floor_divide(physical(local), DAY).astype(np.int32), nulls(local), types.DATE)


# Arrow's tables end with 2036. A day early, so that local times are on the same side of it as the instants they mean.
HORIZON = (2_114_380_800 - 86_400) * _SECOND
_REPEATED = 4_102_444_800 * _SECOND
"""The beginning of 2100; from then on any 400 years have the same clocks, and Python knows no year after 9999."""


def local_within(instants: Integers, zone: str) -> Integers:
    """Give the local times of instants behind the horizon."""
    known = zoneinfo.ZoneInfo(zone)
    return instants + _find_offsets(instants, lambda moment: moment.astimezone(known))


def instants_within(local: Integers, zone: str) -> Integers:
    """Give the instants of local times behind the horizon.

    A time that comes twice is the earlier; one that is skipped moves on: both keep the offset from before the change.
    """
    known = zoneinfo.ZoneInfo(zone)
    return local - _find_offsets(local, lambda moment: moment.replace(tzinfo=known))


def _find_offsets(micros: Integers, place: Callable[[datetime.datetime], datetime.datetime]) -> Integers:
    """Ask Python for the offset of each moment, once for all that are equal."""
    folded = np.where(micros >= _REPEATED, (micros - _REPEATED) % _CYCLE + _REPEATED, micros)
    moments, rows = np.unique(folded, return_inverse=True)
    zero, microsecond = datetime.timedelta(), datetime.timedelta(microseconds=1)
    placed = (place(_EPOCH + int(moment) * microsecond) for moment in moments)
    return np.array([(one.utcoffset() or zero) // microsecond for one in placed], np.int64)[rows]
