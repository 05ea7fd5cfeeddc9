"""ROUND, FLOOR and CEIL."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels import decimals
from eddy.sql.kernels.casts import coerce
from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, Value, build, map_values, nulls, on_arrays, physical
from eddy.sql.values.faults import unfit
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, Refused, apply

_ROUNDED = {"floor": np.floor, "ceil": np.ceil}
_DIRECTIONS = {"floor": "down", "ceil": "up"}
_TOP = 2.0**63
# No double has a digit farther from its point: the last of the smallest is at 324, and spelled with 17 of them.
_FARTHEST = 400


def whole(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind FLOOR and CEIL, which give a bigint or a decimal."""
    arg = _to_number(args[0], name.upper(), session)
    if types.is_integer(arg.type):
        return coerce(arg, types.BIGINT, session)
    if types.is_floating(arg.type):
        return apply(_whole_floats(name), (coerce(arg, types.DOUBLE, session),), types.BIGINT, fails=True)
    source, mode = types.decimal(arg.type), _DIRECTIONS[name]
    if not source.scale:
        return arg
    type = types.bound_digits(source.precision - source.scale + 1, 0)
    return apply(lambda value: decimals.fit(decimals.round_to(value, 0, mode), type), (arg,), type, fails=True)


def _to_number(step: BoundStep, name: str, session: Session) -> BoundStep:
    if step.type in (types.STRING, types.NULL):
        return coerce(step, types.DOUBLE, session)
    if not types.is_numeric(step.type):
        raise Refused(f"{name} takes a number, got {types.names([step.type])}")
    return step


def _whole_floats(name: str) -> Kernel:
    def kernel(array: pa.Array) -> pa.Array:
        values, mask = _ROUNDED[name](physical(array)), nulls(array)
        # NaN is no number too large: as in Java it becomes zero.
        values = np.where(np.isnan(values) if mask is None else np.isnan(values) | mask, 0, values)
        if not ((values >= -_TOP) & (values < _TOP)).all():
            raise unfit("a number", "bigint")
        return build(values.astype(np.int64), mask, types.BIGINT)

    return on_arrays(kernel)


def round_half_up(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind ROUND; ties go away from zero."""
    arg, digits = _to_number(args[0], "ROUND", session), _digits(args[1:])
    if types.is_decimal(arg.type):
        type = _rounded_type(arg.type, digits)
        return apply(_round_decimals(digits, type), (arg,), type, fails=True)
    if types.is_floating(arg.type):
        return apply(_round_floats(digits, arg.type), (arg,), arg.type)
    return apply(_round_integers(digits, arg.type), (arg,), arg.type, fails=True) if digits < 0 else arg


def _digits(args: Sequence[BoundStep]) -> int:
    if not args:
        return 0
    if args[0].value is None or not types.is_integer(args[0].type) or not args[0].value.is_valid:
        raise Refused("ROUND takes a whole number, and no column, as its second argument")
    digits = int(args[0].value.as_py())
    # Beyond these every number is itself, or zero.
    return max(-_FARTHEST, min(digits, _FARTHEST))


def _rounded_type(type: pa.Decimal128Type, digits: int) -> pa.Decimal128Type:
    integral = type.precision - type.scale + 1
    if digits < 0:
        return pa.decimal128(min(max(integral, 1 - digits), types.MAX_DIGITS), 0)
    scale = min(type.scale, digits)
    return pa.decimal128(min(integral + scale, types.MAX_DIGITS), scale)


def _round_decimals(digits: int, type: pa.Decimal128Type) -> Kernel:
    def kernel(value: Value) -> Value:
        # All numbers are zero by one digit more than they have before the point, and Arrow knows no farther one.
        nearest = value.type.scale - value.type.precision - 1
        return decimals.fit(decimals.round_half_up(value, max(digits, nearest)), type)

    return kernel


def _round_integers(digits: int, type: pa.DataType) -> Kernel:
    exact = types.as_decimal(type)
    from_integers, to_integers = decimals.from_integers(exact), decimals.to_integers(type)
    convert = _round_decimals(digits, _rounded_type(exact, digits))
    return lambda value: to_integers(convert(from_integers(value)))


def _round_floats(digits: int, type: pa.DataType) -> Kernel:
    """Round a float by its shortest spelling as a double.

    Spark sees this spelling.
    """
    step = Decimal(1).scaleb(-digits)

    def one(text: str | None) -> float | None:
        if text is None:
            return None
        value = Decimal(text)
        # Adding zero turns -0.0 into 0.0: a rounded number has lost its sign on the way through Java's decimals.
        return (
            float(
                value.quantize(step, rounding="ROUND_HALF_UP", context=decimals.WIDE_CONTEXT)
                if value.is_finite()
                else value
            )
            + 0.0
        )

    convert = map_values(one, type)
    return lambda value: convert(pc.cast(pc.cast(value, types.DOUBLE), types.STRING))
