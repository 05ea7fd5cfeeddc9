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
from typing import Any

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
# No change of the clocks is undone within a week.
_STRIDE = 7 * 86_400
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


def _start(year: int) -> int:
    return int((datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) - _EPOCH).total_seconds())


# A day early, so that local times are on the same side of it as the instants that they mean.
HORIZON = (_start(2037) - 86_400) * _SECOND

_REPEATED, _LAST = _start(2100) * _SECOND, _start(2510)


def local_within(instants: Integers, zone: str) -> Integers:
    """Give the local times of instants behind the horizon."""
    changes, _, offsets = _changes_of(zone)
    return instants + offsets[np.searchsorted(changes, _fold(instants), side="right")]


def instants_within(local: Integers, zone: str) -> Integers:
    """Give the instants of local times behind the horizon.

    A time that comes twice is the earlier; one that is skipped moves on: both keep the offset from before the change.
    """
    _, walls, offsets = _changes_of(zone)
    return local - offsets[np.searchsorted(walls, _fold(local), side="right")]


def _fold(micros: Integers) -> Integers:
    late = micros >= _REPEATED + _CYCLE
    return np.where(late, (micros - _REPEATED) % _CYCLE + _REPEATED, micros)


@functools.lru_cache(maxsize=64)
def _changes_of(zone: str) -> tuple[Integers, Integers, Integers]:
    """Find the changes of a zone.

    With them come the local times that follow, and the offsets around them.
    """
    known = zoneinfo.ZoneInfo(zone)

    def offset(at: int) -> int:
        moment = (_EPOCH + datetime.timedelta(seconds=at)).astimezone(known)
        return int((moment.utcoffset() or datetime.timedelta()).total_seconds())

    changes: list[int] = []
    first = HORIZON // _SECOND
    offsets, low = [offset(first)], first
    for high in range(first + _STRIDE, _LAST, _STRIDE):
        if offset(high) != offsets[-1]:
            changes.append(_change_at(offset, low, high))
            offsets.append(offset(high))
        low = high
    at, around = np.array(changes, np.int64), np.array(offsets, np.int64)
    walls = at + np.maximum(around[:-1], around[1:])
    return at * _SECOND, walls * _SECOND, around * _SECOND


def _change_at(offset: Any, low: int, high: int) -> int:
    """Find the second of the change between two, by halves."""
    before = offset(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle) == before else (low, middle)
    return high
