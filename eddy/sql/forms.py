"""The values that operators join: literals, names, calls, CASE.

`boolean`, which every function that needs whole conditions is handed, is the entry of the grammar above.
"""

from __future__ import annotations

import pyarrow as pa

from eddy.sql import lexer, literals, names
from eddy.sql.lexer import Token
from eddy.sql.reader import Reader
from eddy.sql.specials import SPECIAL, Boolean, arguments, miswritten, refuse_subquery
from eddy.sql.timeforms import interval, typed, unquoted
from eddy.sql.tree import Call, Cast, Column, Literal, Literals, Node, Ref, Span
from eddy.sql.typenames import read_type

_CONSTANTS: dict[str, tuple[object, pa.DataType]] = {
    "TRUE": (True, pa.bool_()),
    "FALSE": (False, pa.bool_()),
    "NULL": (None, pa.null()),
}
_RESERVED = frozenset({"AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "BETWEEN", "WHEN", "THEN", "ELSE", "END", "AS"})
_RESERVED_SIGNS = {"*": '"*" is not a value', "?": "parameters are not supported; write the value itself"}
_NAMES = ("word", "quoted")
_AMOUNTS = ("number", "string", "raw")


def primary(reader: Reader, boolean: Boolean) -> Node:
    """Read one value, with the casts that follow it."""
    start = reader.now.start
    return postfix(reader, start, _primary(reader, boolean))


def postfix(reader: Reader, start: int, node: Node) -> Node:
    """Read the `::type` that may follow a value."""
    while reader.accept("::"):
        type = read_type(reader)
        node = Cast(reader.span(start), node, type, safe=False)
    return node


def _primary(reader: Reader, boolean: Boolean) -> Node:
    token = reader.now
    if token.kind == "number":
        return number(reader, token.start, negative=False)
    if token.kind in ("string", "raw"):
        return text(reader, "here")
    if token.kind == "hex":
        return _bytes(reader)
    if reader.accept("("):
        return _parenthesis(reader, boolean)
    if token.kind == "quoted":
        return _column(reader)
    if token.kind == "word" and token.key not in _RESERVED:
        return _word(reader, boolean)
    raise reader.stuck(_RESERVED_SIGNS.get(token.key, "expected a value"))


def number(reader: Reader, start: int, *, negative: bool) -> Literal:
    """Read a number whose sign was at `start`."""
    token = reader.take()
    try:
        value, type = literals.number(token.text, negative=negative)
    except ValueError as reason:
        raise reader.error(str(reason), Span(start, token.end)) from None
    return Literal(reader.span(start), value, type)


def text(reader: Reader, place: str) -> Literal:
    """Read strings that stand side by side, as one."""
    start, parts = reader.now.start, []
    while reader.now.kind in ("string", "raw"):
        parts.append(unquoted(reader))
    if not parts:
        raise reader.stuck(f"expected a string {place}")
    return Literal(reader.span(start), "".join(parts), pa.string())


def _bytes(reader: Reader) -> Node:
    token = reader.take()
    digits = token.text[2:-1]
    try:
        value = bytes.fromhex("0" * (len(digits) % 2) + digits)
    except ValueError:
        raise reader.error("expected hexadecimal digits between the quotes", token) from None
    return Literal(reader.span(token.start), value, pa.binary())


def listed(reader: Reader) -> list[Node]:
    """Read a list of literals, those of one type together."""
    token = reader.take()
    values: dict[pa.DataType, list[object]] = {}
    for literal in lexer.listed(token):
        try:
            value, type = _listed(literal)
        except ValueError as reason:
            raise reader.error(str(reason), literal) from None
        values.setdefault(type, []).append(value)
    span = Span(token.start, token.end)
    return [Literals(span, tuple(found), type) for type, found in values.items()]


def _listed(literal: Token) -> tuple[object, pa.DataType]:
    if literal.kind == "string":
        return literals.string(literal.text), pa.string()
    if literal.kind == "word":
        return _CONSTANTS["NULL"]
    return literals.number(literal.text.removeprefix("-"), negative=literal.text[0] == "-")


def _parenthesis(reader: Reader, boolean: Boolean) -> Node:
    refuse_subquery(reader)
    node = boolean(reader)
    if reader.now.key == ",":
        raise reader.error("lists of values are not supported here, only after IN", reader.now)
    reader.expect(")", "to close the parenthesis")
    return node


def _word(reader: Reader, boolean: Boolean) -> Node:
    token, after = reader.now, reader.ahead()
    if token.key in _CONSTANTS:
        reader.take()
        return Literal(reader.span(token.start), *_CONSTANTS[token.key])
    if token.key == "CASE":
        return _case(reader, boolean)
    if token.key == "INTERVAL" and (reader.ahead(2) if after.key in ("-", "+") else after).kind in _AMOUNTS:
        return interval(reader)
    if after.kind in ("string", "raw"):
        return typed(reader)
    return _call(reader, boolean) if after.key == "(" else _column(reader)


def _column(reader: Reader) -> Node:
    start, parts = reader.now.start, [identifier(reader)]
    while reader.accept("."):
        parts.append(identifier(reader))
    if len(parts) > 2:
        message = "a column is written as name or stream.name; struct fields are not supported"
        raise reader.error(message, reader.span(start))
    column = Column(None, parts[0]) if len(parts) == 1 else Column(*parts)
    return Ref(reader.span(start), column, column)


def identifier(reader: Reader) -> str:
    """Read a name, with or without backticks."""
    if reader.now.kind not in _NAMES:
        raise reader.stuck("expected a name")
    token = reader.take()
    return token.text if token.kind == "word" else token.text[1:-1].replace("``", "`")


def _case(reader: Reader, boolean: Boolean) -> Node:
    start = reader.take().start
    subject = None if reader.now.key == "WHEN" else boolean(reader)
    args: list[Node] = []
    while reader.accept("WHEN"):
        condition = boolean(reader)
        args.append(condition if subject is None else Call(condition.span, "=", (subject, condition)))
        reader.expect("THEN", "after the condition of WHEN")
        args.append(boolean(reader))
    if not args:
        raise reader.stuck("expected WHEN in CASE")
    if reader.accept("ELSE"):
        args.append(boolean(reader))
    reader.expect("END", "to close CASE")
    return Call(reader.span(start), "case", tuple(args))


def _call(reader: Reader, boolean: Boolean) -> Node:
    token = reader.take()
    reader.take()
    special = SPECIAL.get(token.key)
    if special is not None:
        if reader.now.key == ")":
            raise miswritten(reader, token.key, token.start)
        return special(reader, boolean, token.start)
    name = names.resolve(token, reader)
    args = [] if reader.now.key == ")" else arguments(reader, boolean)
    reader.expect(")", f'to close the arguments of "{token.text}"')
    names.check_count(token, len(args), name, reader)
    if name in names.CASTS:
        return Cast(reader.span(token.start), args[0], names.CASTS[name], safe=False)
    return Call(reader.span(token.start), name, tuple(args))
