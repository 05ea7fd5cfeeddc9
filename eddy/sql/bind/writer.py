"""A tree becomes text again, in one canonical spelling.

Two texts that mean the same tree are written alike, and what is written is read as the same tree: states are held
against queries by these texts, and statements are made of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa

from eddy.sql.kernels import time_parts
from eddy.sql.values import types
from eddy.sql.values.intervals import UNITS
from eddy.sql.values.tree import COMPARISONS, Call, Cast, Column, Literal, Literals, Node, Ref, UserCall

# How tightly what is written holds together; what is looser than its place stands in brackets.
_OR, _AND, _NOT, _PREDICATE, _COMPARED, _SUM, _PRODUCT, _SIGNED, _VALUE = range(1, 10)

_BETWEEN_VALUES: dict[str, tuple[int, str]] = {
    **{sign: (_COMPARED, sign) for sign in (*COMPARISONS, "<=>")},
    "+": (_SUM, "+"),
    "-": (_SUM, "-"),
    "*": (_PRODUCT, "*"),
    "/": (_PRODUCT, "/"),
    "%": (_PRODUCT, "%"),
    "div": (_PRODUCT, "DIV"),
}
_TESTS = {"isnull": "NULL", "is true": "TRUE", "is false": "FALSE"}
_SIGNS = {"negative": "-", "positive": "+"}
_INTEGERS = {pa.int8(): "Y", pa.int16(): "S", pa.int32(): "", pa.int64(): "L"}
_ESCAPED = {"\\": "\\\\", "'": "\\'"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What the grammars of conditions and of statements read as something else than a name.
KEYWORDS = frozenset(
    (
        "ALL AND ANTI AS BETWEEN BY CASE CROSS DELAY DISTINCT DIV ELSE END ESCAPE EXCEPT EXISTS FALSE FROM FULL "
        "GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT "
        "NULL ON OR ORDER OUTER REGEXP RIGHT RLIKE SELECT SEMI SORT STREAM TABLE THEN TRUE UNION USING VALUES "
        "WATERMARK WHEN WHERE WINDOW WITH"
    ).split()
)


def write(node: Node) -> str:
    """Write a tree as SQL.

    >>> from eddy.sql.text.grammar import read
    >>> from eddy.sql.values.tree import Place
    >>> write(read(Place("here", "not (a.v>1.50 or a.k in(1,2)) and a.at+interval 60 seconds<b.at")))
    'NOT (a.v > 1.50 OR a.k IN (1, 2)) AND a.at + INTERVAL 1 MINUTE < b.at'
    """
    return _write(node, _OR)


def write_part(node: Node) -> str:
    """Write a condition so that it can stand between ANDs."""
    return _write(node, _NOT)


def backtick(name: str) -> str:
    """Write a name as SQL reads any name.

    >>> backtick("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def write_name(name: str) -> str:
    """Write a name, in backticks where it could be read as something else.

    >>> write_name("user"), write_name("order"), write_name("two words")
    ('user', '`order`', '`two words`')
    """
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return backtick(name)


def write_column(column: Column) -> str:
    """Write a column, with its stream if it names one."""
    return ".".join(write_name(part) for part in column if part is not None)


def write_interval(micros: int, *, whole_days: bool = False) -> str:
    """Write an interval in the largest unit that has it whole.

    A number of days is another thing than as many hours: only the first is added to a date.

    >>> write_interval(90_000_000), write_interval(7_200_000_000), write_interval(-500)
    ('INTERVAL 90 SECONDS', 'INTERVAL 2 HOURS', 'INTERVAL -0.0005 SECONDS')
    """
    if whole_days:
        unit = "DAY"
    else:
        unit = next((one for one in ("HOUR", "MINUTE") if micros and micros % UNITS[one] == 0), "SECOND")
    amount = f"{Decimal(micros) / UNITS[unit]:f}"
    return f"INTERVAL {amount} {unit}{'' if amount in ('1', '-1') else 'S'}"


def write_duration(micros: int) -> str:
    """Write a length of time as windows and delays have it.

    >>> write_duration(600_000_000), write_duration(86_400_000_000)
    ('10 minutes', '24 hours')
    """
    return write_interval(micros).removeprefix("INTERVAL ").lower()


def write_type(type: pa.DataType) -> str:
    """Write a type as CAST names it."""
    if type == types.DURATION:
        return "INTERVAL DAY TO SECOND"
    return types.name(type).upper()


def _write(node: Node, least: int) -> str:
    """Write a node that must hold together as tightly as its place asks for."""
    own, text = _WRITERS[type(node)](node)
    return f"({text})" if own < least else text


def _write_ref(node: Ref) -> tuple[int, str]:
    return _VALUE, write_column(node.column)


def _write_cast(node: Cast) -> tuple[int, str]:
    return _VALUE, f"{'TRY_CAST' if node.safe else 'CAST'}({_write(node.child, _OR)} AS {write_type(node.type)})"


def _write_literal(node: Literal) -> tuple[int, str]:
    if node.type == types.DURATION:
        return _VALUE, write_interval(int(str(node.value)), whole_days=node.whole_days)
    return _VALUE, _write_value(node.value, node.type)


def _write_value(value: object, type: pa.DataType) -> str:
    """Write one value so that it is read with its type."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + "".join(_ESCAPED.get(character, character) for character in value) + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if type == types.DATE:
        return f"DATE '{time_parts.dates(pa.array([value], pa.int32()).cast(type))[0]}'"
    if type == types.TIMESTAMP_NTZ:
        return f"TIMESTAMP_NTZ '{time_parts.times(pa.array([value], pa.int64()).cast(type))[0]}'"
    return _write_number(value, type)


def _write_number(value: object, type: pa.DataType) -> str:
    if types.is_decimal(type):
        text = f"{value:f}"
        return text if type.scale else f"{text}BD"
    if type == types.FLOAT:
        return f"{np.float32(str(value))!s}F"
    if type == types.DOUBLE:
        return f"{value!r}D"
    # A number that is too large for 32 bits is one of 64 without a suffix.
    return f"{value}{_INTEGERS[type]}"


def _write_listed(node: Literals) -> tuple[int, str]:
    return _VALUE, ", ".join(_write_value(value, node.type) for value in node.values)


def _write_call(node: Call) -> tuple[int, str]:
    """Write an operator or a function."""
    if node.name in _BETWEEN_VALUES:
        own, sign = _BETWEEN_VALUES[node.name]
        left, right = node.args
        return own, f"{_write(left, own)} {sign} {_write(right, own + 1)}"
    if node.name in _OPERATORS:
        return _OPERATORS[node.name](node, "")
    if node.name in _FORMS:
        return _VALUE, _FORMS[node.name](*(_write(arg, _OR) for arg in node.args))
    return _VALUE, f"{node.name}({', '.join(_write(arg, _OR) for arg in node.args)})"


def _write_joined(node: Call, _: str) -> tuple[int, str]:
    own = _OR if node.name == "or" else _AND
    return own, f" {node.name.upper()} ".join(_write(arg, own + 1) for arg in node.args)


def _write_not(node: Call, _: str) -> tuple[int, str]:
    (arg,) = node.args
    if isinstance(arg, Call) and arg.name in _NEGATED:
        return _OPERATORS[arg.name](arg, "NOT ")
    return _NOT, f"NOT {_write(arg, _NOT)}"


def _write_test(node: Call, negation: str) -> tuple[int, str]:
    return _PREDICATE, f"{_write(node.args[0], _COMPARED)} IS {negation}{_TESTS[node.name]}"


def _write_in(node: Call, negation: str) -> tuple[int, str]:
    items = ", ".join(_write(arg, _OR) for arg in node.args[1:])
    return _PREDICATE, f"{_write(node.args[0], _COMPARED)} {negation}IN ({items})"


def _write_between(node: Call, negation: str) -> tuple[int, str]:
    value, low, high = (_write(arg, _COMPARED) for arg in node.args)
    return _PREDICATE, f"{value} {negation}BETWEEN {low} AND {high}"


def _write_like(node: Call, negation: str) -> tuple[int, str]:
    value, pattern, *escape = (_write(arg, _COMPARED) for arg in node.args)
    return _PREDICATE, f"{value} {negation}{node.name.upper()} {pattern}" + "".join(f" ESCAPE {one}" for one in escape)


def _write_concat(node: Call, _: str) -> tuple[int, str]:
    if len(node.args) < 2:
        return _VALUE, f"concat({', '.join(_write(arg, _OR) for arg in node.args)})"
    # One chain is one node, so what stands in it as a node of its own stands in brackets.
    return _SUM, " || ".join(_write(arg, _PRODUCT) for arg in node.args)


def _write_sign(node: Call, _: str) -> tuple[int, str]:
    (arg,) = node.args
    text = _write(arg, _VALUE)
    # A minus before a number is part of it, and two begin a comment.
    return _SIGNED, f"{_SIGNS[node.name]}({text})" if isinstance(arg, Literal) else f"{_SIGNS[node.name]}{text}"


def _write_case(node: Call, _: str) -> tuple[int, str]:
    args = [_write(arg, _OR) for arg in node.args]
    pairs = zip(args[::2], args[1::2], strict=False)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return _VALUE, f"CASE {whens}{f' ELSE {args[-1]}' if len(args) % 2 else ''} END"


def _write_trim(text: str, characters: str = "") -> str:
    return f"trim({characters} FROM {text})" if characters else f"trim({text})"


def _write_side_trim(name: str) -> Callable[..., str]:
    return lambda text, *characters: f"{name}({', '.join((*characters, text))})"


_NEGATED = frozenset({"isnull", "is true", "is false", "in", "between", "like", "ilike"})
_OPERATORS: dict[str, Callable[[Call, str], tuple[int, str]]] = {
    "and": _write_joined,
    "or": _write_joined,
    "not": _write_not,
    "in": _write_in,
    "between": _write_between,
    "concat": _write_concat,
    "case": _write_case,
    **dict.fromkeys(("like", "ilike"), _write_like),
    **dict.fromkeys(_TESTS, _write_test),
    **dict.fromkeys(_SIGNS, _write_sign),
}
_FORMS: dict[str, Callable[..., str]] = {
    "trim": _write_trim,
    "ltrim": _write_side_trim("ltrim"),
    "rtrim": _write_side_trim("rtrim"),
}


def _write_user_call(node: UserCall) -> tuple[int, str]:
    return _VALUE, f"{write_name(node.name)}({', '.join(_write(arg, _OR) for arg in node.args)})"


_WRITERS: dict[type[Node], Callable[..., tuple[int, str]]] = {
    Ref: _write_ref,
    Literal: _write_literal,
    Literals: _write_listed,
    Cast: _write_cast,
    Call: _write_call,
    UserCall: _write_user_call,
}
