"""Arithmetic on dates and timestamps, with intervals.

Arguments that are not about time go on to the arithmetic of numbers. In a zone whose clocks change, the whole days of
an interval are days of the calendar, and the difference of two timestamps is that of their local times: as in Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels import arithmetic, time_parts
from eddy.sql.kernels.casts import cast, coerce
from eddy.sql.values import types, zones
from eddy.sql.values.arrays import Kernel, build, nulls, on_arrays, physical
from eddy.sql.values.calendar import DAY
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, Refused, apply, strict

_SMALL = (types.TINYINT, types.SMALLINT, types.INT)


def part(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind YEAR, HOUR and their kin: parts of a date or of a local time."""
    (arg,) = args
    if arg.type in (types.STRING, types.NULL):
        arg = coerce(arg, types.TIMESTAMP if time_parts.is_of_day(name) else types.DATE, session)
    if arg.type == types.DATE and time_parts.is_of_day(name):
        arg = coerce(arg, types.TIMESTAMP, session)
    if not types.is_temporal(arg.type):
        raise Refused(f"{name.upper()} takes a date or a timestamp, got {types.names([arg.type])}")
    local = cast(arg, types.TIMESTAMP_NTZ, session) if types.is_timestamp(arg.type) else arg
    return apply(time_parts.kernel(name), (local,), types.INT)


def add(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind `+`."""
    left, right = args
    if types.is_temporal(right.type) and not types.is_temporal(left.type):
        left, right = right, left
    if types.is_temporal(left.type):
        return _later(left, right, session, 1, args)
    return arithmetic.binary("+", session, args)


def subtract(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind `-`."""
    left, right = args
    if types.is_temporal(left.type) and right.type in (types.DURATION, *_SMALL):
        return _later(left, right, session, -1, args)
    if types.is_temporal(left.type) or types.is_temporal(right.type):
        return _difference(session, args)
    return arithmetic.binary("-", session, args)


def _later(left: BoundStep, right: BoundStep, session: Session, sign: int, args: Sequence[BoundStep]) -> BoundStep:
    if left.type == types.DATE and (right.type in _SMALL or right.whole_days):
        return strict(_shift_date(sign, DAY if right.whole_days else 1), (left, right), types.DATE)
    if right.type not in (types.DURATION, types.NULL):
        raise _unlike("+" if sign > 0 else "-", args)
    moment = coerce(left, types.TIMESTAMP, session) if left.type == types.DATE else left
    step = coerce(right, types.DURATION, session)
    zone = None if not types.is_timestamp(moment.type) or session.steady or _is_short(step) else session.zone
    return strict(_shift_time(moment.type, sign, zone), (moment, step), moment.type, fails=True)


def _unlike(name: str, args: Sequence[BoundStep]) -> Refused:
    return Refused(f'"{name}" cannot combine {types.names(arg.type for arg in args)}')


def _is_short(step: BoundStep) -> bool:
    """Tell whether an interval is known to hold no whole days."""
    if step.value is None:
        return False
    return not step.value.is_valid or abs(step.value.cast(types.BIGINT).as_py()) < DAY


def _shift_date(sign: int, unit: int) -> Kernel:
    def kernel(dates: pa.Array, steps: pa.Array) -> pa.Array:
        mask = nulls(dates, steps)
        # Spark keeps the lowest 32 bits of the days, whatever the date.
        made = physical(dates).astype(np.int64) + sign * (physical(steps).astype(np.int64) // unit)
        return build(made.astype(np.int32), mask, types.DATE)

    return on_arrays(kernel)


def _shift_time(type: pa.DataType, sign: int, zone: str | None) -> Kernel:
    """Shift timestamps; in a zone, by days of its calendar."""
    shift = pc.add_checked if sign > 0 else pc.subtract_checked
    if zone is None:
        return shift

    def kernel(moments: pa.Array, steps: pa.Array) -> pa.Array:
        micros = sign * physical(steps)
        # Truncated, not floored: the days and what is left of the interval both have its sign.
        rest = np.fmod(micros, DAY)
        mask = nulls(steps)
        days, rest = (build(part, mask, types.DURATION) for part in (micros - rest, rest))
        moved: pa.Array = zones.instants(pc.add_checked(zones.localize(moments, zone), days), zone)
        made: pa.Array = pc.add_checked(moved, rest).cast(type)
        return made

    return on_arrays(kernel)


def _difference(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    left, right = args
    if any(not types.is_temporal(arg.type) and arg.type not in (types.STRING, types.NULL) for arg in args):
        raise _unlike("-", args)
    type = types.common(left.type, right.type) or types.TIMESTAMP
    left, right = (coerce(arg, type, session) for arg in args)
    if type == types.DATE:
        step = strict(_days_between, (left, right), types.DURATION)
        return BoundStep(step.type, step.run, step.fails, step.value, whole_days=True)
    if types.is_timestamp(type) and not session.steady:
        left, right = (cast(arg, types.TIMESTAMP_NTZ, session) for arg in (left, right))
    return strict(pc.subtract_checked, (left, right), types.DURATION, fails=True)


@on_arrays
def _days_between(left: pa.Array, right: pa.Array) -> pa.Array:
    days = physical(left).astype(np.int64) - physical(right)
    return build(days * DAY, nulls(left, right), types.DURATION)
