"""Finds the keys by which joins divide a query's streams.

Values that equalities connect, through lookup tables as well, are one join attribute: in every combination they are
equal, so they lead its rows to one place. They must be hashed in one type in which all that Spark calls equal stays
equal: a bigint that is compared with a double here and with a bigint there is hashed as a double. Where no such type
is known, the equalities make several attributes, which costs copies and changes no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from eddy.query.binding import Binding
from eddy.sql import Expression, bind_pair
from eddy.sql.values import types


@dataclass(frozen=True, kw_only=True)
class JoinKey:
    """A class of equal values: its texts, its SQL, and its type.

    `keys` has the SQL of each stream's value in the type in which it is hashed, and `reads` the columns in it.
    """

    text: str
    names: Mapping[str, str]
    reads: Mapping[str, frozenset[str]]
    keys: Mapping[str, str]
    type: pa.DataType


def find_join_keys(binding: Binding) -> list[JoinKey]:
    """Find the join attributes that divide two streams or more.

    They stand in the order of the joins.
    """
    found = []
    for part in _connect(_equalities(binding)):
        common = _find_common_type(
            [equality.type for equality in part], [_type_of(side, binding) for side in _sides(part)]
        )
        if common is not None:
            found.append(_make_join_key(_sides(part), common, binding))
            continue
        for type in dict.fromkeys(equality.type for equality in part):
            same = _connect([equality for equality in part if equality.type == type])
            found += [_make_join_key(_sides(smaller), type, binding) for smaller in same]
    return [attribute for attribute in found if len(attribute.keys) > 1]


@dataclass(frozen=True)
class _Equality:
    """Two values that are equal in every combination, as a type."""

    sides: tuple[Expression, Expression]
    type: pa.DataType


def _equalities(binding: Binding) -> list[_Equality]:
    """List the equalities between values of two inputs."""
    found = []
    for predicate in binding.query.predicates:
        compared = predicate.comparison()
        if compared is None or compared.op != "=":
            continue
        left, right = compared.left, compared.right
        if len(left.inputs) == len(right.inputs) == 1 and left.inputs != right.inputs:
            found.append(_Equality((left, right), bind_pair(left, right, binding.types)[0].type))
    return found


def _sides(equalities: Sequence[_Equality]) -> list[Expression]:
    return list(dict.fromkeys(side for equality in equalities for side in equality.sides))


def _connect(equalities: Sequence[_Equality]) -> list[list[_Equality]]:
    """Group the equalities so that groups share no value."""
    groups: list[list[_Equality]] = []
    for equality in equalities:
        # a.k = b.k and b.k = c.k are one group; an equality may also join two groups that stood apart until now.
        met = [group for group in groups if set(_sides(group)) & set(equality.sides)]
        groups = [group for group in groups if group not in met]
        groups.append([*(one for group in met for one in group), equality])
    return groups


def _find_common_type(compared: Sequence[pa.DataType], own: Sequence[pa.DataType]) -> pa.DataType | None:
    """Find a type in which all values that are equal stay equal.

    They are equal in one of the types compared. Gives None if no such type is known.
    """
    if len(set(compared)) == 1:
        return compared[0]
    if not all(types.is_numeric(type) for type in (*compared, *own)):
        return None
    if any(types.is_floating(type) for type in compared):
        return None if any(types.is_decimal(type) for type in (*compared, *own)) else types.DOUBLE
    # Wide enough for all digits of every type: rounding would make values equal that Spark tells apart.
    widest = reduce(types.wider_decimal, (types.as_decimal(type) for type in compared))
    if all(types.is_integer(type) for type in compared):
        return types.BIGINT
    holds = all(_fits(types.as_decimal(type), widest) for type in compared)
    return widest if holds else None


def _fits(narrow: pa.Decimal128Type, wide: pa.Decimal128Type) -> bool:
    """Tell whether a decimal holds every value of a narrower one."""
    return narrow.scale <= wide.scale and narrow.precision - narrow.scale <= wide.precision - wide.scale


def _make_join_key(sides: Sequence[Expression], type: pa.DataType, binding: Binding) -> JoinKey:
    """Make a key of values that must be equal.

    If a stream has two of them, the first leads its rows.
    """
    streams = {stream.name for stream in binding.query.streams}
    first: dict[str, Expression] = {}
    for side in sides:
        (name,) = side.inputs
        if name in streams:
            first.setdefault(name, side)
    return JoinKey(
        text=" = ".join(side.text for side in sides),
        names={name: side.text for name, side in first.items()},
        reads={name: frozenset(column.name for column in side.columns) for name, side in first.items()},
        keys={name: _convert(side, type, binding) for name, side in first.items()},
        type=type,
    )


def _convert(side: Expression, type: pa.DataType, binding: Binding) -> str:
    """Write the SQL of a value in a type.

    The codes of whole numbers are the same in all of their types.
    """
    own = _type_of(side, binding)
    if own == type or (types.is_integer(own) and types.is_integer(type)):
        return side.text
    return f"cast({side.text} as {types.name(type)})"


def _type_of(side: Expression, binding: Binding) -> pa.DataType:
    return side.bind(binding.types).type
