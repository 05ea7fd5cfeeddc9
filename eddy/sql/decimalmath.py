"""Arithmetic on decimals: the type of each result, and its kernel.

The result types are Spark's, computed from the exact result and then cut to 38 digits by `types.bounded`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from eddy.sql import types
from eddy.sql.arrays import nulls, on_arrays
from eddy.sql.decimals import NATIVE_DIGITS, Numbers, nonzero, scaled, shifted, unscaled
from eddy.sql.value import Kernel

# Spark divides to this many digits after the point, then rounds again to the scale of the result.
_QUOTIENT_SCALE = 39
# Spark looks at the divisor first, and where it is null at nothing else.
DIVIDING = ("/", "%", "div")


def _sum(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(left.scale, right.scale)
    return types.bounded(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def _product(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    return types.bounded(left.precision + right.precision + 1, left.scale + right.scale)


def _quotient(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(types.MIN_SCALE, left.scale + right.precision + 1)
    return types.bounded(left.precision - left.scale + right.scale + scale, scale)


def _remainder(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(left.scale, right.scale)
    return types.bounded(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


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
            b = nonzero(b, mask)
        numbers, scale = compute(a, b, left.scale, right.scale)
        if result == types.BIGINT:
            return _whole(numbers, mask)
        exact = types.decimal(result)
        return scaled(shifted(numbers, exact.scale - scale), mask, exact)

    return on_arrays(run)


def _operands(name: str, first: pa.Array, second: pa.Array) -> tuple[Numbers, Numbers]:
    left, right = types.decimal(first.type), types.decimal(second.type)
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    digits = {"*": left.precision + right.precision, "/": types.MAX_DIGITS}.get(name, digits)
    wide = digits > NATIVE_DIGITS
    return unscaled(first, types.MAX_DIGITS if wide else 0), unscaled(second, types.MAX_DIGITS if wide else 0)


def _whole(numbers: Numbers, mask: Numbers | None) -> pa.Array:
    # Spark keeps the lowest 64 bits here, even under ANSI's rules.
    numbers = numbers if mask is None else np.where(mask, 0, numbers)
    wrapped = (numbers + (1 << 63)) % (1 << 64) - (1 << 63) if numbers.dtype == object else numbers
    return pa.array(wrapped.astype(np.int64), mask=mask)


def _aligned(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, Numbers, int]:
    scale = max(left, right)
    return shifted(a, scale - left), shifted(b, scale - right), scale


def _add(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, scale = _aligned(a, b, left, right)
    return a + b, scale


def _subtract(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, scale = _aligned(a, b, left, right)
    return a - b, scale


def _multiply(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    return a * b, left + right


def _divide(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    top, bottom = np.abs(a) * 10 ** (_QUOTIENT_SCALE - left + right), np.abs(b)
    return np.sign(a) * np.sign(b) * ((2 * top + bottom) // (2 * bottom)), _QUOTIENT_SCALE


def _remain(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, scale = _aligned(a, b, left, right)
    return np.sign(a) * (np.abs(a) % np.abs(b)), scale


def _divide_whole(a: Numbers, b: Numbers, left: int, right: int) -> tuple[Numbers, int]:
    a, b, _ = _aligned(a, b, left, right)
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)), 0


_COMPUTE: dict[str, Callable[[Numbers, Numbers, int, int], tuple[Numbers, int]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remain,
    "div": _divide_whole,
}
