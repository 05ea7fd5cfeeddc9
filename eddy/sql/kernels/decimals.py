"""Exact decimals, as whole numbers of their last digit.

Up to 18 digits these are numpy's 64-bit integers, beyond that numpy arrays of Python's own; the same lines of
arithmetic serve both. Spark rounds half away from zero, and a result with too many digits is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, buffer, build, map_values, nulls, on_arrays, physical
from eddy.sql.values.faults import unfit, zero_divisor
from eddy.tuples.arrays import Numbers

# Arrow's decimals are 128-bit integers in two's complement, the lower half first. As decimal(4, 2):
#
#     1.25    125    low = 125            high = 0
#     -0.01    -1    low = 2^64 - 1       high = -1
#
# Up to 18 digits the lower half, read as a signed integer, is the whole number, and the upper half repeats its sign.

# The digits that every 64-bit integer can hold.
NATIVE_DIGITS = 18
# The digits of Scala's usual decimals, which Spark asks for the sign.
KEPT_DIGITS = 34
_PAIR = np.dtype([("low", "<u8"), ("high", "<i8")])
_WORD = 1 << 64
# Powers of ten up to this one are exact as doubles.
_EXACT_POWER = 22
# More digits than any double or decimal has, so that only the wanted rounding happens.
WIDE_CONTEXT = Context(prec=800)


def to_whole_numbers(array: pa.Array, digits: int) -> Numbers:
    """Give the whole numbers behind decimals.

    They are wide enough for `digits`.
    """
    pairs = buffer(array, 1, _PAIR)
    if types.decimal(array.type).precision <= NATIVE_DIGITS:
        numbers = np.ascontiguousarray(pairs["low"]).view(np.int64)
    else:
        numbers = pairs["high"].astype(object) * _WORD + pairs["low"].astype(object)
    numbers = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, numbers) if array.null_count else numbers
    return numbers if digits <= NATIVE_DIGITS else numbers.astype(object)


def to_decimals(numbers: Numbers, mask: Numbers | None, type: pa.Decimal128Type) -> pa.Array:
    """Build decimals from whole numbers, all of which must fit."""
    if mask is not None:
        numbers = np.where(mask, 0, numbers)
    limit = 10**type.precision
    if len(numbers) and not (numbers.max() < limit and numbers.min() > -limit):
        raise unfit("a number", types.name(type))
    pairs = np.empty(len(numbers), _PAIR)
    pairs["low"] = (numbers & (_WORD - 1)).astype(np.uint64) if numbers.dtype == object else numbers.view(np.uint64)
    # A shift by 63 leaves the sign alone: 0, or -1, which is what the upper half of a 64-bit number is.
    pairs["high"] = (numbers >> (64 if numbers.dtype == object else 63)).astype(np.int64)
    valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(type, len(numbers), [valid, pa.py_buffer(pairs)])


def shift(numbers: Numbers, by: int) -> Numbers:
    """Multiply by a power of ten, or divide and round half up."""
    if by >= 0:
        return numbers * 10**by if by else numbers
    size = 10**-by
    # So many digits are cut off that nothing is left; and 10^19 has no place in 64 bits.
    if numbers.dtype != object and -by > NATIVE_DIGITS:
        return np.zeros(len(numbers), np.int64)
    rounded: Numbers = (np.abs(numbers) + size // 2) // size
    return np.sign(numbers) * rounded


def refuse_zeros(divisor: Numbers, mask: Numbers | None) -> Numbers:
    """Refuse zeros in the rows that count, and put ones elsewhere."""
    zero = divisor == 0
    if not zero.any():
        return divisor
    if (zero if mask is None else zero & ~mask).any():
        raise zero_divisor()
    return np.where(zero, divisor.dtype.type(1) if divisor.dtype != object else 1, divisor)


def rescale(type: pa.Decimal128Type) -> Kernel:
    """Convert decimals to another precision and scale."""

    def kernel(array: pa.Array) -> pa.Array:
        by = type.scale - types.decimal(array.type).scale
        numbers = shift(to_whole_numbers(array, types.decimal(array.type).precision + max(by, 0)), by)
        return to_decimals(numbers, nulls(array), type)

    return on_arrays(kernel)


def negate(array: pa.Array) -> pa.Array:
    """Change the sign of decimals, as Spark does.

    It keeps 34 digits of a decimal that has more.
    """
    type = types.decimal(array.type)
    return to_decimals(-_round_to_kept(to_whole_numbers(array, type.precision)), nulls(array), type)


def magnitude(array: pa.Array) -> pa.Array:
    """Make decimals positive by changing signs below zero."""
    type = types.decimal(array.type)
    numbers = to_whole_numbers(array, type.precision)
    return to_decimals(np.where(numbers < 0, -_round_to_kept(numbers), numbers), nulls(array), type)


def _round_to_kept(numbers: Numbers) -> Numbers:
    """Round a sum to the digits that Java's decimals keep.

    Halves go to the even digit.
    """
    if numbers.dtype != object:
        return numbers
    # `sizes` has the powers of ten by which 34 to 38 digits exceed 34; each number is cut by the one that fits it.
    sizes = np.array([10**lost for lost in range(types.MAX_DIGITS - KEPT_DIGITS + 1)], object)
    size = sizes[sum((np.abs(numbers) >= 10**KEPT_DIGITS * one).astype(int) for one in sizes[:-1])]
    whole, rest = np.abs(numbers) // size, np.abs(numbers) % size
    up = (rest * 2 > size) | ((rest * 2 == size) & (whole % 2 == 1))
    kept: Numbers = np.sign(numbers) * (whole + up) * size
    return kept


def from_integers(type: pa.Decimal128Type) -> Kernel:
    """Convert whole numbers to decimals."""

    def kernel(array: pa.Array) -> pa.Array:
        wide = types.as_decimal(array.type).precision + type.scale > NATIVE_DIGITS
        numbers = physical(array).astype(object if wide else np.int64)
        return to_decimals(numbers * 10**type.scale, nulls(array), type)

    return on_arrays(kernel)


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

    def kernel(array: pa.Array) -> pa.Array:
        # Both sides of the division are exact below these bounds, so that it rounds once.
        exact = types.decimal(array.type).precision <= 15 and types.decimal(array.type).scale <= _EXACT_POWER
        numbers = to_whole_numbers(array, 0 if exact else types.MAX_DIGITS)
        made = (numbers / 10 ** types.decimal(array.type).scale).astype(np.float64)
        return build(made.astype(type.to_pandas_dtype()), nulls(array), type)

    return on_arrays(kernel)


def to_integers(type: pa.DataType) -> Kernel:
    """Convert decimals to whole numbers, cutting off the rest."""
    bound = 1 << (type.bit_width - 1)

    def kernel(array: pa.Array) -> pa.Array:
        numbers = to_whole_numbers(array, types.decimal(array.type).precision)
        whole = np.sign(numbers) * (np.abs(numbers) // 10 ** types.decimal(array.type).scale)
        if len(whole) and not (whole.max() < bound and whole.min() >= -bound):
            raise unfit("a number", types.name(type))
        return build(whole.astype(type.to_pandas_dtype()), nulls(array), type)

    return on_arrays(kernel)


# Spark divides to this many digits after the point, then rounds again to the scale of the result.
_QUOTIENT_SCALE = 39
# Spark looks at the divisor first, and where it is null at nothing else.
DIVIDING = ("/", "%", "div")


def _sum(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(left.scale, right.scale)
    return types.bound_digits(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def _product(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    return types.bound_digits(left.precision + right.precision + 1, left.scale + right.scale)


def _quotient(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(types.MIN_SCALE, left.scale + right.precision + 1)
    return types.bound_digits(left.precision - left.scale + right.scale + scale, scale)


def _remainder(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(left.scale, right.scale)
    return types.bound_digits(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def _whole_type(_: pa.Decimal128Type, __: pa.Decimal128Type) -> pa.DataType:
    return types.BIGINT


RESULTS: dict[str, Callable[[pa.Decimal128Type, pa.Decimal128Type], pa.DataType]] = {
    "+": _sum,
    "-": _sum,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    "div": _whole_type,
}


def kernel(name: str, left: pa.Decimal128Type, right: pa.Decimal128Type) -> Kernel:
    """Give the kernel of an operator on two decimal types."""
    result = RESULTS[name](left, right)
    compute = _COMPUTE[name]

    def run(first: pa.Array, second: pa.Array) -> pa.Array:
        mask = nulls(first, second)
        a, b = _operands(name, first, second)
        if name in DIVIDING:
            b = refuse_zeros(b, mask)
        numbers, scale = compute(a, b, left.scale, right.scale)
        if result == types.BIGINT:
            return _whole(numbers, mask)
        exact = types.decimal(result)
        return to_decimals(shift(numbers, exact.scale - scale), mask, exact)

    return on_arrays(run)


def _operands(name: str, first: pa.Array, second: pa.Array) -> tuple[Numbers, Numbers]:
    left, right = types.decimal(first.type), types.decimal(second.type)
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    # The digits decide how wide the integers must be: the largest number on the way must fit, not the result alone.
    digits = {"*": left.precision + right.precision, "/": types.MAX_DIGITS}.get(name, digits)
    wide = digits > NATIVE_DIGITS
    return to_whole_numbers(first, types.MAX_DIGITS if wide else 0), to_whole_numbers(
        second, types.MAX_DIGITS if wide else 0
    )


def _whole(numbers: Numbers, mask: Numbers | None) -> pa.Array:
    # Spark keeps the lowest 64 bits here, even under ANSI's rules.
    numbers = numbers if mask is None else np.where(mask, 0, numbers)
    wrapped = (numbers + (1 << 63)) % (1 << 64) - (1 << 63) if numbers.dtype == object else numbers
    return pa.array(wrapped.astype(np.int64), mask=mask)


def _align(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, Numbers, int]:
    scale = max(left, right)
    return shift(a, scale - left), shift(b, scale - right), scale


def _add(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, scale = _align(a, b, left, right)
    return a + b, scale


def _subtract(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, scale = _align(a, b, left, right)
    return a - b, scale


def _multiply(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    return a * b, left + right


def _divide(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    # Twice the dividend and the divisor once more: floor((2a + b) / 2b) rounds a / b half up.
    top, bottom = np.abs(a) * 10 ** (_QUOTIENT_SCALE - left + right), np.abs(b)
    return np.sign(a) * np.sign(b) * ((2 * top + bottom) // (2 * bottom)), _QUOTIENT_SCALE


def _remain(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, scale = _align(a, b, left, right)
    return np.sign(a) * (np.abs(a) % np.abs(b)), scale


def _divide_whole(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, _ = _align(a, b, left, right)
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)), 0


_COMPUTE: dict[str, Callable[[Numbers, Numbers, int, int], tuple[Numbers, int]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remain,
    "div": _divide_whole,
}
