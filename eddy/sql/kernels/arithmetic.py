"""Arithmetic on numbers: types of results, and kernels.

ANSI's rules: a result that does not fit its type, and a division by zero, are errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels import decimals
from eddy.sql.kernels.casts import cast, coerce
from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, Value, build, nulls, on_arrays, physical
from eddy.sql.values.faults import zero_divisor
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, OnlySpark, Refused, apply, strict
from eddy.tuples.arrays import Numbers

_CHECKED: dict[str, Kernel] = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_FLOATING: dict[str, Kernel] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}

_WRITTEN_OUT = "write the interval that it gives, or add each of several to a time"


def binary(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind an operator between two numbers."""
    left, right = args
    if types.DURATION in (left.type, right.type):
        is_text = types.STRING in (left.type, right.type)
        instead = "cast the text to a timestamp" if is_text else _WRITTEN_OUT
        raise OnlySpark(f'"{name}" between {types.names(arg.type for arg in args)} is not supported; {instead}')
    if not all(_may_be_number(arg.type) for arg in args) or left.type == right.type == types.STRING:
        raise Refused(f'"{name}" takes two numbers, got {types.names(arg.type for arg in args)}')
    type = types.common(left.type, right.type)
    type = types.DOUBLE if type in (types.NULL, None) else type
    if types.is_decimal(type):
        return _decimal(name, left, right, session)
    if name == "/":
        type = types.DOUBLE
    if name == "div":
        return _whole(session, args, type)
    return _same_type(name, coerce(left, type, session), coerce(right, type, session))


def _may_be_number(type: pa.DataType) -> bool:
    return types.is_numeric(type) or type in (types.STRING, types.NULL)


def _same_type(name: str, left: BoundStep, right: BoundStep) -> BoundStep:
    if name == "/" and not _may_be_zero(right):
        return strict(pc.divide, (left, right), left.type, backwards=True)
    if name in decimals.DIVIDING:
        return strict(_KERNELS[name], (left, right), left.type, fails=_may_be_zero(right), backwards=True)
    if types.is_floating(left.type):
        return strict(_FLOATING[name], (left, right), left.type)
    return strict(_CHECKED[name], (left, right), left.type, fails=True)


def _may_be_zero(divisor: BoundStep) -> bool:
    return divisor.value is None or not divisor.value.is_valid or divisor.value.as_py() == 0


def _decimal(name: str, left: BoundStep, right: BoundStep, session: Session) -> BoundStep:
    left, right = (_to_decimal(step, other, session) for step, other in ((left, right), (right, left)))
    kernel, type = decimals.bind_operation(name, types.decimal(left.type), types.decimal(right.type))
    return strict(kernel, (left, right), type, fails=True, backwards=name in decimals.DIVIDING)


def _to_decimal(step: BoundStep, other: BoundStep, session: Session) -> BoundStep:
    """Give a number as a decimal.

    A literal has just the digits it shows.
    """
    if step.type == types.NULL:
        return coerce(step, types.as_decimal(other.type), session)
    return cast(step, types.as_decimal(step.type, step.digits), session)


def _whole(session: Session, args: Sequence[BoundStep], type: pa.DataType) -> BoundStep:
    if types.is_floating(type) and type is not None:
        raise Refused('"div" takes whole numbers or decimals; cast its arguments')
    left, right = (coerce(arg, types.BIGINT, session) for arg in args)
    return strict(_divide_whole, (left, right), types.BIGINT, fails=True, backwards=True)


def _refuse_zeros(divisor: Numbers, mask: Numbers | None) -> Numbers:
    """Refuse zeros in the rows that count, and put ones elsewhere."""
    zero = divisor == 0
    if not zero.any():
        return divisor
    if (zero if mask is None else zero & ~mask).any():
        raise zero_divisor()
    return np.where(zero, divisor.dtype.type(1), divisor)


@on_arrays
def _divide(left: pa.Array, right: pa.Array) -> pa.Array:
    mask = nulls(left, right)
    divisor = _refuse_zeros(physical(right), mask)
    with np.errstate(all="ignore"):
        return build(physical(left) / divisor, mask, left.type)


@on_arrays
def _remainder(left: pa.Array, right: pa.Array) -> pa.Array:
    mask = nulls(left, right)
    divisor = _refuse_zeros(physical(right), mask)
    with np.errstate(all="ignore"):
        return build(np.fmod(physical(left), divisor), mask, left.type)


@on_arrays
def _divide_whole(left: pa.Array, right: pa.Array) -> pa.Array:
    mask = nulls(left, right)
    divisor = build(_refuse_zeros(physical(right), mask), mask, types.BIGINT)
    # Arrow truncates as Spark does, and refuses the one quotient that overflows.
    return pc.divide_checked(left, divisor)


_KERNELS: dict[str, Kernel] = {"/": _divide, "%": _remainder}


def negative(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind the minus sign before a value."""
    return _unary(args[0], session, '"-"', pc.negate, pc.negate_checked)


def positive(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind the plus sign before a value."""
    return _unary(args[0], session, '"+"', _keep, _keep)


def absolute(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind ABS."""
    return _unary(args[0], session, "ABS", pc.abs, pc.abs_checked)


def _keep(value: Value) -> Value:
    return value


def _unary(arg: BoundStep, session: Session, doing: str, plain: Kernel, checked: Kernel) -> BoundStep:
    if arg.type in (types.STRING, types.NULL):
        arg = coerce(arg, types.DOUBLE, session)
    if arg.type == types.DURATION:
        step = apply(lambda value: checked(value.cast(types.BIGINT)).cast(types.DURATION), (arg,), arg.type, fails=True)
        return BoundStep(step.type, step.run, step.fails, step.value, whole_days=arg.whole_days)
    if not types.is_numeric(arg.type):
        raise Refused(f"{doing} takes a number or an interval, got {types.names([arg.type])}")
    if types.is_integer(arg.type):
        return apply(checked, (arg,), arg.type, fails=True)
    if types.is_decimal(arg.type) and arg.type.precision > decimals.KEPT_DIGITS and plain is not _keep:
        most = f"{doing} of more than {decimals.KEPT_DIGITS} digits is not supported"
        raise OnlySpark(f"{most}, got {types.names([arg.type])}; cast it to fewer")
    return apply(plain, (arg,), arg.type)
