"""Exact decimals, by Arrow's kernels.

Spark rounds half away from zero, and a result with too many digits is an error. A result whose digits after the
point Spark would cut, to have it in 38 digits, is left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, Value, buffer, build, map_values, nulls, on_arrays
from eddy.sql.values.faults import unfit, zero_divisor
from eddy.sql.values.step import OnlySpark

# The digits of Scala's usual decimals, to which Spark rounds where it changes the sign.
KEPT_DIGITS = 34
# Arrow's decimals are 128-bit integers in two's complement; of few digits the lower half is the number.
_PAIR = np.dtype([("low", "<i8"), ("high", "<i8")])
# Decimals of so many digits are quotients of two doubles that are exact, and rounded once.
_EXACT_DIGITS = 15
# More digits than any double or decimal has, so that only the wanted rounding happens.
WIDE_CONTEXT = Context(prec=800)
# Spark divides to this many digits after the point, then rounds again to the scale of the result.
_QUOTIENT_SCALE = 39
# Spark looks at the divisor first, and where it is null at nothing else.
DIVIDING = ("/", "%", "div")
# So many digits are below 2^63 whatever they are; decimals of more are no longs to Spark.
_BIGINT_DIGITS = 18
# Arrow divides by less than 2^32 exactly. By more it is off by one now and then, and rounding is dividing to it.
_EXACT_DIVISOR_DIGITS = 9


def fit(value: Value, type: pa.Decimal128Type) -> Value:
    """Convert decimals to a type that must hold them exactly."""
    more = type.scale - value.type.scale
    try:
        if more > 0 and types.MAX_DIGITS >= value.type.precision > types.MAX_DIGITS - more:
            # Arrow does not notice that a number with more zeros is beyond 128 bits.
            value = value.cast(pa.decimal256(value.type.precision + more, type.scale))
        return value.cast(type)
    except pa.ArrowInvalid:
        raise unfit("a number", types.name(type)) from None


def round_to(value: Value, digits: int, mode: str) -> Value:
    """Leave so many digits after the point, or before it if they are negative, in one of Arrow's directions.

    Few are taken away at a time: the next step goes on in the same direction from what the one before has left.
    """
    while (more := value.type.scale - digits) > 0:
        step = min(more, _EXACT_DIVISOR_DIGITS)
        scale, most = value.type.scale - step, max(value.type.precision, step)
        # Where rounding needs two more digits, Arrow gives a wrong number without.
        roomy = value.cast(_decimal(most + 2, value.type.scale))
        value = pc.round(roomy, scale, mode).cast(_decimal(most + 2 - step, scale))
    return value


def _decimal(precision: int, scale: int) -> pa.DataType:
    return (pa.decimal128 if precision <= types.MAX_DIGITS else pa.decimal256)(precision, scale)


def round_half_up(value: Value, digits: int) -> Value:
    """Round to digits after the point, or before it if they are negative."""
    return round_to(round_to(value, digits + 1, "towards_zero"), digits, "half_towards_infinity")


def rescale(type: pa.Decimal128Type) -> Kernel:
    """Convert decimals to another precision and scale."""
    return lambda value: fit(value if value.type.scale <= type.scale else round_half_up(value, type.scale), type)


def from_integers(type: pa.Decimal128Type) -> Kernel:
    """Convert whole numbers to decimals."""
    return lambda value: fit(value.cast(types.as_decimal(value.type)), type)


def from_floats(type: pa.Decimal128Type) -> Kernel:
    """Convert floats to decimals, by their shortest spelling."""
    step = Decimal(1).scaleb(-type.scale)

    def one(value: float | None) -> Decimal | None:
        return None if value is None else quantize(Decimal(repr(value)), step, type)

    convert = map_values(one, type)
    return lambda value: convert(value.cast(types.DOUBLE))


def quantize(value: Decimal, step: Decimal, type: pa.Decimal128Type) -> Decimal:
    """Round a decimal to a type, which must hold it."""
    if value.is_finite() and (not value or value.adjusted() < type.precision - type.scale + 1):
        made = value.quantize(step, rounding="ROUND_HALF_UP", context=WIDE_CONTEXT)
        if len(made.as_tuple().digits) <= type.precision or not made:
            return made
    raise unfit(f"the number {value}", types.name(type))


def to_floats(type: pa.DataType) -> Kernel:
    """Convert decimals to the nearest floats."""
    one_by_one = map_values(lambda number: None if number is None else float(number), types.DOUBLE)

    def by_quotients(array: pa.Array) -> pa.Array:
        made = np.ascontiguousarray(buffer(array, _PAIR)["low"]) / 10.0 ** types.decimal(array.type).scale
        return build(made.astype(type.to_pandas_dtype()), nulls(array), type)

    def kernel(array: pa.Array) -> pa.Array:
        exact = types.decimal(array.type).precision <= _EXACT_DIGITS
        return by_quotients(array) if exact else pc.cast(one_by_one(array), type, safe=False)

    return on_arrays(kernel)


def to_integers(type: pa.DataType) -> Kernel:
    """Convert decimals to whole numbers, cutting off the rest."""
    to_doubles = to_floats(types.DOUBLE)

    def kernel(value: Value) -> Value:
        if type != types.BIGINT and value.type.precision > _BIGINT_DIGITS:
            # Spark takes the nearest double of such a decimal, which may be the next whole number.
            value = pc.trunc(to_doubles(value))
        else:
            value = round_to(value, 0, "towards_zero")
        try:
            return value.cast(type)
        except pa.ArrowInvalid:
            raise unfit("a number", types.name(type)) from None

    return kernel


def bind_operation(name: str, left: pa.Decimal128Type, right: pa.Decimal128Type) -> tuple[Kernel, pa.DataType]:
    """Give the kernel of an operator on two decimal types, and the type of what it gives."""
    type = _RESULTS[name](left, right)
    convert = rescale(type) if types.is_decimal(type) else to_integers(type)
    narrow = _OPERATIONS[name]
    # In more than 38 digits Arrow cuts some quotients to a whole number that is one too small.
    for operation in (narrow,) if name in ("%", "div") else (narrow, _in_room(narrow)):
        try:
            # Arrow says of no rows as well whether it can hold all digits on the way.
            convert(operation(pa.nulls(0, left), pa.nulls(0, right)))
        except ValueError:
            continue
        return _chain(operation, convert), type
    raise _too_wide(left, right)


def _chain(operation: Kernel, convert: Kernel) -> Kernel:
    def kernel(left: Value, right: Value) -> Value:
        try:
            made = operation(left, right)
        except pa.ArrowInvalid:
            raise zero_divisor() from None
        return convert(made)

    return kernel


def _too_wide(left: pa.Decimal128Type, right: pa.Decimal128Type) -> OnlySpark:
    got = f"got {types.names([left, right])}"
    return OnlySpark(f"a result of so many digits is not supported, {got}; cast to fewer, as in decimal(18,2)")


def _in_room(operation: Kernel) -> Kernel:
    """Compute in decimals of up to 76 digits."""
    return lambda *values: operation(*(one.cast(pa.decimal256(one.type.precision, one.type.scale)) for one in values))


def _exact(precision: int, scale: int, left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    """Give the type of a result of which no digit after the point is cut."""
    type = types.bound_digits(precision, scale)
    if type.scale < scale:
        raise _too_wide(left, right)
    return type


def _sum(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(left.scale, right.scale)
    return _exact(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale, left, right)


def _product(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    return _exact(left.precision + right.precision + 1, left.scale + right.scale, left, right)


def _quotient(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(types.MIN_SCALE, left.scale + right.precision + 1)
    return types.bound_digits(left.precision - left.scale + right.scale + scale, scale)


def _remainder(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    _check_divisor(left, right)
    scale = max(left.scale, right.scale)
    return _exact(min(left.precision - left.scale, right.precision - right.scale) + scale, scale, left, right)


def _whole(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    _check_divisor(left, right)
    # Of a longer quotient Spark keeps the lowest 64 bits, even under ANSI's rules.
    if left.precision - left.scale + right.scale > _BIGINT_DIGITS:
        raise _too_wide(left, right)
    return types.BIGINT


def _check_divisor(left: pa.Decimal128Type, right: pa.Decimal128Type) -> None:
    if right.precision > _EXACT_DIVISOR_DIGITS:
        got = f"got {types.names([left, right])}"
        most = f'"%" and "div" by a decimal of more than {_EXACT_DIVISOR_DIGITS} digits are not supported'
        raise OnlySpark(f"{most}, {got}; cast it to fewer, as in decimal({_EXACT_DIVISOR_DIGITS},2)")


@on_arrays
def _divide(left: pa.Array, right: pa.Array) -> pa.Array:
    """Divide one by one: Arrow is wrong about some quotients of so many digits."""
    first, second = types.decimal(left.type), types.decimal(right.type)
    kind = types.decimal(_quotient(first, second))
    up, size = 10 ** (_QUOTIENT_SCALE + second.scale - first.scale), 10 ** (_QUOTIENT_SCALE - kind.scale)

    def one(a: Decimal, b: Decimal) -> Decimal:
        top = abs(int(a.scaleb(first.scale, WIDE_CONTEXT))) * up
        bottom = abs(int(b.scaleb(second.scale, WIDE_CONTEXT)))
        # Twice the dividend and the divisor once more: floor((2a + b) / 2b) rounds a / b half up.
        quotient = ((2 * top + bottom) // (2 * bottom) + size // 2) // size
        return Decimal(quotient if a.is_signed() == b.is_signed() else -quotient).scaleb(-kind.scale, WIDE_CONTEXT)

    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    try:
        found = [None if a is None or b is None else one(a, b) for a, b in pairs]
    except ZeroDivisionError:
        raise zero_divisor() from None
    try:
        return pa.array(found, kind)
    except pa.ArrowInvalid:
        raise unfit("a number", types.name(kind)) from None


def _divide_whole(left: Value, right: Value) -> Value:
    whole = max(1, left.type.precision - left.type.scale + right.type.scale)
    cut = round_to(pc.divide(left, right), 0, "towards_zero")
    return cut.cast(pa.decimal128(whole, 0))


def _remain(left: Value, right: Value) -> Value:
    return pc.subtract(left, pc.multiply(_divide_whole(left, right), right))


_RESULTS: dict[str, Callable[[pa.Decimal128Type, pa.Decimal128Type], pa.DataType]] = {
    "+": _sum,
    "-": _sum,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    "div": _whole,
}
_OPERATIONS: dict[str, Kernel] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": _divide,
    "%": _remain,
    "div": _divide_whole,
}
