"""Conversions between types, and their kernels.

The rules are ANSI's: a value that does not fit the new type is an error, and with TRY_CAST a null.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels import decimals, string_casts
from eddy.sql.values import calendar, types, zones
from eddy.sql.values.arrays import Kernel, build, nulls, on_arrays, physical
from eddy.sql.values.faults import FAULTS, Unlike, unfit
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, OnlySpark, Refused, apply, constant
from eddy.tuples.halves import ask_halves

SECOND = 1_000_000
_LIMITS = {
    type: (-(2.0 ** (type.bit_width - 1)), 2.0 ** (type.bit_width - 1))
    for type in (types.TINYINT, types.SMALLINT, types.INT, types.BIGINT)
}


def coerce(step: BoundStep, type: pa.DataType, session: Session) -> BoundStep:
    """Convert without being asked, where Spark would."""
    if types.is_timestamp(type) and types.is_timestamp(step.type):
        return step
    return step if step.type == type else cast(step, type, session)


def cast(step: BoundStep, type: pa.DataType, session: Session, *, safe: bool = False) -> BoundStep:
    """Convert a step to a type.

    A safe conversion gives null for an error.
    """
    named = types.is_time(type) and _names_zone(step)
    if types.is_timestamp(type):
        type = pa.timestamp("us", session.label)
        session = session.forget_columns() if named else session
    if step.type == type:
        return step
    if step.type == types.NULL:
        return _null(step, type)
    if step.value is not None and step.type == types.STRING and types.is_temporal(type):
        moment = _read_moment(step.value.as_py(), type)
        if moment is not None:
            return moment
    if step.digits is not None and types.is_decimal(type) and type.scale == 0 and type.precision >= step.digits:
        return apply(decimals.from_integers(type), (step,), type)
    kernel, fails = _conversion(step.type, type, session)
    if not (safe and fails):
        return apply(kernel, (step,), type, fails=fails)
    unlike = step.type == types.BINARY or (step.type == types.STRING and types.is_time(type))
    return apply(_forgive(kernel, type), (step,), type, fails=unlike)


def _names_zone(step: BoundStep) -> bool:
    """Tell whether it is a constant text with a zone in it."""
    if step.value is None or not step.value.is_valid or step.type != types.STRING:
        return False
    try:
        read = calendar.micros_of(step.value.as_py())
    except Unlike as fault:
        raise OnlySpark(str(fault)) from None
    return read is not None and read[1] is not None


def _null(step: BoundStep, type: pa.DataType) -> BoundStep:
    if step.value is not None:
        return constant(pa.scalar(None, type))
    return apply(lambda value: value.cast(type), (step,), type)


def _read_moment(text: str | None, type: pa.DataType) -> BoundStep | None:
    """Give the moment that a constant names, as Spark reads it.

    None if it names none.
    """
    name = calendar.moment_of(text or "")
    if name not in (None, "epoch"):
        raise Refused(f"Spark takes '{text}' from its clock when the query starts; write the moment itself")
    return None if name is None else constant(pa.scalar(0, types.BIGINT).cast(types.TIMESTAMP_NTZ).cast(type))


def _forgive(kernel: Kernel, type: pa.DataType) -> Kernel:
    """Give null for values that a kernel refuses.

    All values are tried at once, then by halves.
    """

    def run(array: pa.Array) -> pa.Array:
        try:
            made: pa.Array = kernel(array)
            return made
        except Unlike:
            raise
        except FAULTS:
            return by_halves(array)

    def by_halves(array: pa.Array) -> pa.Array:
        made: dict[int, pa.Array] = {}

        def refuse(row: int, fault: Exception) -> None:
            if isinstance(fault, Unlike):
                raise fault
            made[row] = pa.nulls(1, type)

        parts = ask_halves(lambda rows: kernel(array.slice(rows[0], len(rows))), len(array), FAULTS, refuse)
        made |= {int(rows[0]): part for rows, part in parts}
        return pa.concat_arrays([made[first] for first in sorted(made)])

    return on_arrays(run)


def _conversion(source: pa.DataType, target: pa.DataType, session: Session) -> tuple[Kernel, bool]:
    for accepts, produces, make in _RULES:
        if accepts(source) and produces(target):
            return make(source, target, session)
    raise Refused(f'a value of type "{types.name(source)}" cannot be cast to "{types.name(target)}"')


def _plain(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    return (lambda value: value.cast(target)), False


def _integers(source: pa.DataType, target: pa.DataType, _: Session) -> tuple[Kernel, bool]:
    return (lambda value: value.cast(target)), source.bit_width > target.bit_width


def _to_floating(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    return (lambda value: pc.cast(value, target, safe=False)), False


def _truncate(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    low, high = _LIMITS[target]

    def kernel(array: pa.Array) -> pa.Array:
        values, mask = physical(array).astype(np.float64), nulls(array)
        # Spark compares with the largest long as a double, which is one more: that one value saturates.
        fits = (np.floor(values) <= (high if target == types.BIGINT else high - 1)) & (np.ceil(values) >= low)
        if not (fits if mask is None else fits | mask).all():
            raise unfit("a number", types.name(target))
        top = values >= high
        whole = np.where(fits & ~top, values, 0).astype(target.to_pandas_dtype())
        whole[top & fits] = np.iinfo(whole.dtype).max
        return build(whole, mask, target)

    return on_arrays(kernel), True


def _test_truth(_: pa.DataType, __: pa.DataType, ___: Session) -> tuple[Kernel, bool]:
    return (lambda value: pc.not_equal(value, _zero_of(value.type))), False


def _zero_of(type: pa.DataType) -> pa.Scalar:
    """Give the zero of a type of numbers: Arrow makes none of an integer for decimals of few whole digits."""
    return pa.scalar(Decimal(0) if types.is_decimal(type) else 0, type)


def _seconds(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    def whole(array: pa.Array) -> pa.Array:
        return build(np.floor_divide(physical(array), SECOND), nulls(array), types.BIGINT).cast(target)

    def exact(array: pa.Array) -> pa.Array:
        return build(physical(array) / SECOND, nulls(array), types.DOUBLE).cast(target, safe=False)

    return on_arrays(exact if types.is_floating(target) else whole), types.is_integer(target)


def _from_seconds(source: pa.DataType, target: pa.DataType, _: Session) -> tuple[Kernel, bool]:
    def whole(array: pa.Array) -> pa.Array:
        return pc.multiply_checked(array.cast(types.BIGINT), SECOND).cast(target)

    truncate = _truncate(types.DOUBLE, types.BIGINT, _)[0]

    def exact(array: pa.Array) -> pa.Array:
        micros = pc.multiply(array.cast(types.DOUBLE), float(SECOND))
        made: pa.Array = truncate(micros).cast(target)
        return made

    return on_arrays(exact if types.is_floating(source) else whole), True


def _text(source: pa.DataType, _: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    if types.is_floating(source):
        name = types.name(source)
        raise OnlySpark(f'text of a "{name}" is not supported; compare numbers, or cast to a decimal first')
    return string_casts.write(source), source == types.BINARY


def _instant_text(_: pa.DataType, __: pa.DataType, session: Session) -> tuple[Kernel, bool]:
    return string_casts.write_instants(session.zone), False


def _parse(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    return string_casts.read(target), True


def _parse_instants(_: pa.DataType, target: pa.DataType, session: Session) -> tuple[Kernel, bool]:
    read = string_casts.read_instants(session.zone)
    return (lambda value: read(value).cast(target)), True


def _local(_: pa.DataType, target: pa.DataType, session: Session) -> tuple[Kernel, bool]:
    return zones.to_local(target, session.zone), False


def _instants(source: pa.DataType, __: pa.DataType, session: Session) -> tuple[Kernel, bool]:
    return zones.from_local(session.zone), source == types.DATE


def _drop_zone(source: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    return zones.between_locals(target), source == types.DATE


def _decimals(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    return decimals.rescale(types.decimal(target)), True


def _to_decimal(source: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    exact = types.decimal(target)
    if types.is_integer(source):
        return decimals.from_integers(exact), exact.precision - exact.scale < types.as_decimal(source).precision
    return decimals.from_floats(exact), True


def _from_decimal(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    if types.is_floating(target):
        return decimals.to_floats(target), False
    return decimals.to_integers(target), True


def _flag_to_decimal(_: pa.DataType, target: pa.DataType, __: Session) -> tuple[Kernel, bool]:
    exact = types.decimal(target)
    convert = decimals.from_integers(exact)
    return (lambda value: convert(value.cast(types.INT))), exact.precision == exact.scale


def _equals(type: pa.DataType) -> Callable[[pa.DataType], bool]:
    return lambda other: bool(other == type)


_Test = Callable[[pa.DataType], bool]
_Make = Callable[[pa.DataType, pa.DataType, Session], tuple[Kernel, bool]]
_BOOLEAN, _STRING, _BINARY = _equals(types.BOOLEAN), _equals(types.STRING), _equals(types.BINARY)
# From what, to what, and the maker of a kernel with whether it can fail; the first rule that fits counts.
_RULES: tuple[tuple[_Test, _Test, _Make], ...] = (
    (types.is_integer, types.is_integer, _integers),
    (types.is_integer, types.is_floating, _to_floating),
    (types.is_floating, types.is_floating, _to_floating),
    (types.is_floating, types.is_integer, _truncate),
    (types.is_decimal, types.is_decimal, _decimals),
    (types.is_decimal, types.is_numeric, _from_decimal),
    (types.is_numeric, types.is_decimal, _to_decimal),
    (_BOOLEAN, types.is_decimal, _flag_to_decimal),
    (_BOOLEAN, types.is_numeric, _plain),
    (types.is_numeric, _BOOLEAN, _test_truth),
    (types.is_timestamp, types.is_timestamp, _plain),
    (types.is_timestamp, types.is_temporal, _local),
    (types.is_temporal, types.is_timestamp, _instants),
    (types.is_temporal, types.is_temporal, _drop_zone),
    (types.is_timestamp, types.is_integer, _seconds),
    (types.is_timestamp, types.is_floating, _seconds),
    (types.is_integer, types.is_timestamp, _from_seconds),
    (types.is_floating, types.is_timestamp, _from_seconds),
    (_STRING, _BINARY, _plain),
    (_STRING, types.is_timestamp, _parse_instants),
    (types.is_timestamp, _STRING, _instant_text),
    (_STRING, lambda type: type != types.DURATION and types.is_plain(type), _parse),
    (lambda type: type != types.DURATION and types.is_plain(type), _STRING, _text),
)
