"""Comparisons, with Spark's order of values.

NaN equals itself and is larger than any other number; the two zeros are equal; strings compare by their bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels.casts import cast, coerce
from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, Value, choose
from eddy.sql.values.faults import FAULTS
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, Frame, Refused, apply, connect_steps, constant, constant_list, strict

_KERNELS: dict[str, Kernel] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def has_nan(value: Value) -> bool:
    """Tell whether a float value holds a NaN."""
    found = pc.is_nan(value)
    return bool(found.as_py() if isinstance(found, pa.Scalar) else found.true_count)


def _float_equal(left: Value, right: Value) -> Value:
    plain = pc.equal(left, right)
    if not (has_nan(left) and has_nan(right)):
        return plain
    return pc.or_(plain, pc.and_(pc.is_nan(left), pc.is_nan(right)))


def _float_less(left: Value, right: Value) -> Value:
    plain = pc.less(left, right)
    if not has_nan(right):
        return plain
    return pc.or_(plain, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))


_FLOAT_KERNELS: dict[str, Kernel] = {
    "=": _float_equal,
    "!=": lambda left, right: pc.invert(_float_equal(left, right)),
    "<": _float_less,
    ">": lambda left, right: _float_less(right, left),
    "<=": lambda left, right: pc.invert(_float_less(right, left)),
    ">=": lambda left, right: pc.invert(_float_less(left, right)),
}


# Against a number that is known not to be NaN, one look at each value is enough: NaN is neither `<=` nor `<` to Arrow.
_NUMBER_KERNELS: dict[str, Kernel] = {
    **_KERNELS,
    ">": lambda left, right: pc.invert(pc.less_equal(left, right)),
    ">=": lambda left, right: pc.invert(pc.less(left, right)),
}


def kernel(name: str, type: pa.DataType) -> Kernel:
    """Give the kernel that compares two values of one type."""
    return (_FLOAT_KERNELS if types.is_floating(type) else _KERNELS)[name]


def _choose_kernel(name: str, right: BoundStep) -> Kernel:
    number = types.is_floating(right.type) and right.value is not None and right.value.is_valid
    return _NUMBER_KERNELS[name] if number and not has_nan(right.value) else kernel(name, right.type)


def unite(session: Session, args: Sequence[BoundStep], doing: str, *, strings: bool = True) -> tuple[BoundStep, ...]:
    """Convert all arguments to the type that all widen to."""
    type = _united_type(args, doing, strings=strings)
    return tuple(coerce(arg, type, session) for arg in args)


def _united_type(args: Sequence[BoundStep], doing: str, *, strings: bool = True) -> pa.DataType:
    type = functools.reduce(lambda a, b: _common(a, b, args, doing, strings), (arg.type for arg in args))
    if not types.is_plain(type):
        raise Refused(f"{doing} does not take values of type {types.names([type])}")
    return type


def _common(left: pa.DataType, right: pa.DataType, args: Sequence[BoundStep], doing: str, strings: bool) -> pa.DataType:
    type = types.common(left, right, strings=strings)
    if type is None:
        got = types.names(dict.fromkeys(arg.type for arg in args))
        raise Refused(f"{doing} needs values of one kind, got {got}; cast one of them")
    return type


def compare(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind `=`, `<` and their kin."""
    left, right = unite(session, _count_digits(session, args), f'"{name}"')
    if left.type == types.NULL:
        return apply(_null_like, (left, right), types.BOOLEAN)
    return strict(_choose_kernel(name, right), (left, right), types.BOOLEAN)


def _count_digits(session: Session, args: Sequence[BoundStep]) -> Sequence[BoundStep]:
    """Give a whole number that is written beside a decimal just the digits it shows: more cost the decimal its own."""
    if not any(types.is_decimal(arg.type) for arg in args):
        return args
    return [arg if arg.digits is None else cast(arg, types.as_decimal(arg.type, arg.digits), session) for arg in args]


def _null_like(left: Value, right: Value) -> Value:
    longer = right if isinstance(left, pa.Scalar) else left
    return pa.scalar(None, types.BOOLEAN) if isinstance(longer, pa.Scalar) else pa.nulls(len(longer), types.BOOLEAN)


def same(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind `<=>`: equality in which null equals null."""
    left, right = unite(session, _count_digits(session, args), '"<=>"')
    if left.type == types.NULL:
        return apply(lambda a, b: pc.and_(pc.is_null(a), pc.is_null(b)), (left, right), types.BOOLEAN)
    equal = kernel("=", left.type)

    def run(a: Value, b: Value) -> Value:
        known = pc.fill_null(equal(a, b), False)
        return pc.or_(known, pc.and_(pc.is_null(a), pc.is_null(b)))

    return apply(run, (left, right), types.BOOLEAN)


def between(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind BETWEEN, which is two comparisons."""
    value, low, high = args
    parts = (compare(">=", session, (value, low)), compare("<=", session, (value, high)))
    return connect_steps("and", parts)


def within(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind IN: one look-up in the set of constants, then the rest."""
    type = _united_type(args, '"IN"')
    value, *rest = (coerce(arg, type, session) for arg in args if arg.values is None)
    lists = [_convert_all(arg.values, type, session) for arg in args if arg.values is not None]
    items = [*rest, *(item for made in lists for item in made)]
    if type == types.NULL:
        return compare("=", session, (value, constant(pa.scalar(None))))
    constants = [item.values for item in items if item.values is not None]
    constants += [pa.array([item.value.as_py()], type) for item in items if item.value is not None]
    tests = [apply(_member(pa.concat_arrays(constants)), (value,), types.BOOLEAN)] if constants else []
    equal = kernel("=", type)
    varying = [item for item in items if item.value is None and item.values is None]
    return connect_steps("or", [*tests, *(strict(equal, (value, item), types.BOOLEAN) for item in varying)])


def _convert_all(values: pa.Array, type: pa.DataType, session: Session) -> list[BoundStep]:
    """Convert all values of a list at once.

    Those that cannot be converted stand alone, since a row may not need them.
    """
    if len(values) == 1:
        return [coerce(constant(values[0]), type, session)]
    try:
        return [constant_list(coerce(constant_list(values), type, session).run(Frame({}, len(values))))]
    except (Refused, *FAULTS):
        middle = len(values) // 2
        return [step for part in (values[:middle], values[middle:]) for step in _convert_all(part, type, session)]


def _member(constants: pa.Array) -> Kernel:
    type = constants.type
    known = constants.drop_null()
    known = _one_zero(known) if types.is_floating(type) else known
    missing = pa.scalar(None, types.BOOLEAN) if constants.null_count else None

    def run(value: Value) -> Value:
        found = pc.is_in(_one_zero(value) if types.is_floating(type) else value, value_set=known)
        if missing is not None:
            found = pc.if_else(found, True, missing)
        if isinstance(value, pa.Scalar):
            return found if value.is_valid else pa.scalar(None, types.BOOLEAN)
        return pc.if_else(pc.is_valid(value), found, pa.scalar(None, types.BOOLEAN)) if value.null_count else found

    return run


def _one_zero(value: Value) -> Value:
    """Turn -0.0 into 0.0, for look-ups that tell them apart."""
    return pc.add(value, pa.scalar(0.0, value.type))


def extreme(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind GREATEST and LEAST, which skip nulls."""
    steps = unite(session, args, name.upper(), strings=False)
    if steps[0].type == types.NULL:
        return steps[0]
    wins = kernel(">" if name == "greatest" else "<", steps[0].type)

    def pick(left: Value, right: Value) -> Value:
        better = pc.fill_null(wins(right, left), False)
        return choose(pc.or_(better, pc.is_null(left)), right, left)

    return apply(lambda *values: functools.reduce(pick, values), steps, steps[0].type)


def isnan(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind ISNAN, which is false for null."""
    (arg,) = args
    if not (types.is_numeric(arg.type) or arg.type in (types.STRING, types.NULL)):
        raise Refused(f"ISNAN takes a number, got {types.names([arg.type])}")
    number = arg if types.is_floating(arg.type) else coerce(arg, types.DOUBLE, session)
    return apply(lambda value: pc.fill_null(pc.is_nan(value), False), (number,), types.BOOLEAN)
