"""ROUND, FLOOR and CEIL."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels.casts import coerce, to_number
from eddy.sql.kernels.decimals import WIDE_CONTEXT, shift, to_decimals, to_whole_numbers
from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, build, map_values, nulls, on_arrays, physical
from eddy.sql.values.faults import unfit
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, Refused, apply
from eddy.tuples.arrays import Numbers

_ROUNDED = {"floor": np.floor, "ceil": np.ceil}
_TOP = 2.0**63
# No double has a digit farther from its point: the last of the smallest is at 324, and spelled with 17 of them.
_FARTHEST = 400


def whole(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind FLOOR and CEIL, which give a bigint or a decimal."""
    arg = to_number(args[0], f"{name.upper()} takes a number", session)
    if types.is_integer(arg.type):
        return coerce(arg, types.BIGINT, session)
    if types.is_floating(arg.type):
        return apply(_whole_floats(name), (coerce(arg, types.DOUBLE, session),), types.BIGINT, fails=True)
    source = types.decimal(arg.type)
    type = types.bound_digits(source.precision - source.scale + 1, 0)
    return apply(_whole_decimals(name, type), (arg,), type, fails=True)


def _whole_floats(name: str) -> Kernel:
    def kernel(array: pa.Array) -> pa.Array:
        values, mask = _ROUNDED[name](physical(array)), nulls(array)
        # NaN is no number too large: as in Java it becomes zero.
        values = np.where(np.isnan(values) if mask is None else np.isnan(values) | mask, 0, values)
        if not ((values >= -_TOP) & (values < _TOP)).all():
            raise unfit("a number", "bigint")
        return build(values.astype(np.int64), mask, types.BIGINT)

    return on_arrays(kernel)


def _whole_decimals(name: str, type: pa.Decimal128Type) -> Kernel:
    def kernel(array: pa.Array) -> pa.Array:
        numbers, size = (
            to_whole_numbers(array, types.decimal(array.type).precision),
            10 ** types.decimal(array.type).scale,
        )
        made = numbers // size if name == "floor" else -(-numbers // size)
        return to_decimals(made, nulls(array), type)

    return on_arrays(kernel)


def round_half_up(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind ROUND; ties go away from zero."""
    arg, digits = to_number(args[0], "ROUND takes a number", session), _digits(args[1:])
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
    def kernel(array: pa.Array) -> pa.Array:
        numbers = shift(
            to_whole_numbers(array, types.decimal(array.type).precision),
            min(digits - types.decimal(array.type).scale, 0),
        )
        return to_decimals(shift(numbers.astype(object), max(-digits, 0)), nulls(array), type)

    return on_arrays(kernel)


def _round_integers(digits: int, type: pa.DataType) -> Kernel:
    def kernel(array: pa.Array) -> pa.Array:
        numbers: Numbers = shift(shift(physical(array).astype(object), digits), -digits)
        mask, limits = nulls(array), np.iinfo(type.to_pandas_dtype())
        numbers = numbers if mask is None else np.where(mask, 0, numbers)
        if len(numbers) and not limits.min <= numbers.min() <= numbers.max() <= limits.max:
            raise unfit("a number", types.name(type))
        return build(numbers.astype(limits.dtype), mask, type)

    return on_arrays(kernel)


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
            float(value.quantize(step, rounding="ROUND_HALF_UP", context=WIDE_CONTEXT) if value.is_finite() else value)
            + 0.0
        )

    convert = map_values(one, type)
    return lambda value: convert(pc.cast(pc.cast(value, types.DOUBLE), types.STRING))
