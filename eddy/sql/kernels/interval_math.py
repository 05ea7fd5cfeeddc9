"""Arithmetic on intervals, with each other and with numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels.casts import coerce, to_number
from eddy.sql.kernels.decimals import refuse_zeros, shift, to_whole_numbers
from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, build, nulls, on_arrays, physical
from eddy.sql.values.faults import too_long
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, Refused, strict
from eddy.tuples.arrays import Numbers

_SHIFTS: dict[str, Kernel] = {"+": pc.add_checked, "-": pc.subtract_checked}
_LIMIT = 2.0**63


def combine(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind `+` and `-` between two intervals."""
    if any(arg.type not in (types.DURATION, types.NULL) for arg in args):
        raise unlike(name, args)
    left, right = (coerce(arg, types.DURATION, session) for arg in args)
    step = strict(_SHIFTS[name], (left, right), types.DURATION, fails=True)
    return BoundStep(step.type, step.run, step.fails, step.value, whole_days=left.whole_days and right.whole_days)


def unlike(name: str, args: Sequence[BoundStep]) -> Refused:
    """Build the error for values that nothing combines."""
    return Refused(f'"{name}" cannot combine {types.names(arg.type for arg in args)}')


def scale(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind `*` between an interval and a number."""
    interval, factor = args if args[0].type == types.DURATION else args[::-1]
    factor = to_number(factor, '"*" takes an interval and a number', session)
    if types.is_integer(factor.type):
        factor = coerce(factor, types.BIGINT, session)
        return strict(_times_integer, (interval, factor), types.DURATION, fails=True)
    kernel = _times_decimal if types.is_decimal(factor.type) else _times_float
    return strict(on_arrays(kernel), (interval, factor), types.DURATION, fails=True)


def divide(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind `/` between an interval and a number."""
    interval, divisor = args[0], to_number(args[1], '"/" takes an interval and a number', session)
    exact = types.is_integer(divisor.type) or types.is_decimal(divisor.type)
    if types.is_integer(divisor.type):
        divisor = coerce(divisor, types.as_decimal(divisor.type), session)
    kernel = _over_decimal if exact else _over_float
    return strict(on_arrays(kernel), (interval, divisor), types.DURATION, fails=True)


def _times_integer(interval: pa.Array, factor: pa.Array) -> pa.Array:
    return pc.multiply_checked(interval.cast(types.BIGINT), factor).cast(types.DURATION)


def _times_decimal(interval: pa.Array, factor: pa.Array) -> pa.Array:
    product = physical(interval).astype(object) * to_whole_numbers(factor, types.MAX_DIGITS)
    return _whole(shift(product, -types.decimal(factor.type).scale), interval, factor)


def _times_float(interval: pa.Array, factor: pa.Array) -> pa.Array:
    return _round(physical(interval) * physical(factor).astype(np.float64), interval, factor)


def _over_decimal(interval: pa.Array, divisor: pa.Array) -> pa.Array:
    mask, bottom = nulls(interval, divisor), to_whole_numbers(divisor, types.MAX_DIGITS)
    bottom = refuse_zeros(bottom, mask)
    top = physical(interval).astype(object) * 10 ** types.decimal(divisor.type).scale
    quotient = (2 * np.abs(top) + np.abs(bottom)) // (2 * np.abs(bottom))
    return _whole(np.sign(top) * np.sign(bottom) * quotient, interval, divisor)


def _over_float(interval: pa.Array, divisor: pa.Array) -> pa.Array:
    bottom = refuse_zeros(physical(divisor).astype(np.float64), nulls(interval, divisor))
    return _round(physical(interval) / bottom, interval, divisor)


def _round(micros: Numbers, *sources: pa.Array) -> pa.Array:
    """Round half away from zero; what is no number must not be."""
    mask = nulls(*sources)
    size = np.floor(np.abs(micros))
    size += np.abs(micros) - size >= 0.5
    fits = size < _LIMIT
    if not (fits if mask is None else fits | mask).all():
        raise too_long()
    return build(np.where(fits, np.copysign(size, micros), 0).astype(np.int64), mask, types.DURATION)


def _whole(micros: Numbers, *sources: pa.Array) -> pa.Array:
    mask = nulls(*sources)
    known = micros if mask is None else np.where(mask, 0, micros)
    if len(known) and not -(1 << 63) <= known.min() <= known.max() < 1 << 63:
        raise too_long()
    return build(known.astype(np.int64), mask, types.DURATION)
