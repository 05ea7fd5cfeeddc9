"""Arithmetic between intervals, and of intervals with numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import types
from eddy.sql.arrays import build, nulls, on_arrays, physical
from eddy.sql.casts import coerce
from eddy.sql.decimals import Numbers, shifted, unscaled
from eddy.sql.place import Fault
from eddy.sql.step import Kernel, Refused, Session, Step, apply

_SHIFTS: dict[str, Kernel] = {"+": pc.add_checked, "-": pc.subtract_checked}
_LIMIT = 2.0**63


def combine(name: str, session: Session, args: Sequence[Step]) -> Step:
    """Bind `+` and `-` between two intervals."""
    if any(arg.type not in (types.DURATION, types.NULL) for arg in args):
        got = " and ".join(f'"{types.name(arg.type)}"' for arg in args)
        raise Refused(f'"{name}" cannot combine {got}')
    left, right = (coerce(arg, types.DURATION, session) for arg in args)
    step = apply(_SHIFTS[name], (left, right), types.DURATION, fails=True)
    return Step(step.type, step.run, step.fails, step.value, whole_days=left.whole_days and right.whole_days)


def scale(session: Session, args: Sequence[Step]) -> Step:
    """Bind `*` between an interval and a number."""
    interval, factor = args if args[0].type == types.DURATION else args[::-1]
    factor = _number(factor, "*", session)
    if types.is_integer(factor.type):
        factor = coerce(factor, types.BIGINT, session)
        return apply(_times_integer, (interval, factor), types.DURATION, fails=True)
    kernel = _times_decimal if types.is_decimal(factor.type) else _times_float
    return apply(on_arrays(kernel), (interval, factor), types.DURATION, fails=True)


def divide(session: Session, args: Sequence[Step]) -> Step:
    """Bind `/` between an interval and a number."""
    interval, divisor = args[0], _number(args[1], "/", session)
    exact = types.is_integer(divisor.type) or types.is_decimal(divisor.type)
    if types.is_integer(divisor.type):
        divisor = coerce(divisor, types.as_decimal(divisor.type), session)
    kernel = _over_decimal if exact else _over_float
    return apply(on_arrays(kernel), (interval, divisor), types.DURATION, fails=True)


def _number(step: Step, name: str, session: Session) -> Step:
    if step.type in (types.STRING, types.NULL):
        return coerce(step, types.DOUBLE, session)
    if not types.is_numeric(step.type):
        raise Refused(f'"{name}" takes an interval and a number, got "{types.name(step.type)}"')
    return step


def _times_integer(interval: pa.Array, factor: pa.Array) -> pa.Array:
    return pc.multiply_checked(interval.cast(types.BIGINT), factor).cast(types.DURATION)


def _times_decimal(interval: pa.Array, factor: pa.Array) -> pa.Array:
    product = physical(interval).astype(object) * unscaled(factor, types.MAX_DIGITS)
    return _whole(shifted(product, -types.decimal(factor.type).scale), interval, factor)


def _times_float(interval: pa.Array, factor: pa.Array) -> pa.Array:
    return _rounded(physical(interval) * physical(factor).astype(np.float64), interval, factor)


def _over_decimal(interval: pa.Array, divisor: pa.Array) -> pa.Array:
    mask, bottom = nulls(interval, divisor), unscaled(divisor, types.MAX_DIGITS)
    bottom = _divisor(bottom, mask)
    top = physical(interval).astype(object) * 10 ** types.decimal(divisor.type).scale
    quotient = (2 * np.abs(top) + np.abs(bottom)) // (2 * np.abs(bottom))
    return _whole(np.sign(top) * np.sign(bottom) * quotient, interval, divisor)


def _over_float(interval: pa.Array, divisor: pa.Array) -> pa.Array:
    bottom = _divisor(physical(divisor).astype(np.float64), nulls(interval, divisor))
    return _rounded(physical(interval) / bottom, interval, divisor)


def _divisor(values: Numbers, mask: Numbers | None) -> Numbers:
    zero = values == 0
    if (zero if mask is None else zero & ~mask).any():
        raise Fault("division by zero")
    return np.where(zero, values.dtype.type(1) if values.dtype != object else 1, values)


def _rounded(micros: Numbers, *sources: pa.Array) -> pa.Array:
    """Round half away from zero; what is no number must not be."""
    mask = nulls(*sources)
    size = np.floor(np.abs(micros))
    size += np.abs(micros) - size >= 0.5
    fits = size < _LIMIT
    if not (fits if mask is None else fits | mask).all():
        raise Fault("the interval does not fit 64 bits of microseconds")
    return build(np.where(fits, np.copysign(size, micros), 0).astype(np.int64), mask, types.DURATION)


def _whole(micros: Numbers, *sources: pa.Array) -> pa.Array:
    mask = nulls(*sources)
    known = micros if mask is None else np.where(mask, 0, micros)
    if len(known) and not -(1 << 63) <= known.min() <= known.max() < 1 << 63:
        raise Fault("the interval does not fit 64 bits of microseconds")
    return build(known.astype(np.int64), mask, types.DURATION)
