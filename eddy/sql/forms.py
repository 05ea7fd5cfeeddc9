"""The values that operators join: literals, names, calls, CASE.

`boolean`, which every function that needs whole conditions is handed, is the entry of the grammar above.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from eddy.sql import literals, names
from eddy.sql.reader import Reader
from eddy.sql.timeforms import interval, typed
from eddy.sql.tree import Call, Cast, Column, Literal, Node, Ref, Span
from eddy.sql.typenames import read_type

Boolean = Callable[[Reader], Node]
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
        parts.append(literals.string(reader.take().text))
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


def refuse_subquery(reader: Reader) -> None:
    """Refuse a subquery, where one would begin."""
    if reader.now.key in ("SELECT", "WITH", "FROM", "VALUES") and reader.ahead().kind != "sign":
        raise reader.error("subqueries are not supported; make it a table of the query and join it", reader.now)


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
        message = "a column is written as name or stream.name; reading fields of structs is not supported"
        raise reader.error(message, reader.span(start))
    return Ref(reader.span(start), Column(None, parts[0]) if len(parts) == 1 else Column(parts[0], parts[1]))


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
    special = _SPECIAL.get(token.key)
    if special is not None:
        return special(reader, boolean, token.start)
    name = names.resolve(token, reader)
    args = [] if reader.now.key == ")" else _arguments(reader, boolean)
    reader.expect(")", f'to close the arguments of "{token.text}"')
    names.check_count(token, len(args), name, reader)
    if name in names.CASTS:
        return Cast(reader.span(token.start), args[0], names.CASTS[name], safe=False)
    return Call(reader.span(token.start), name, tuple(args))


def _arguments(reader: Reader, boolean: Boolean) -> list[Node]:
    refuse_subquery(reader)
    args = [boolean(reader)]
    while reader.accept(","):
        args.append(boolean(reader))
    return args


def _cast(reader: Reader, boolean: Boolean, start: int, *, safe: bool = False) -> Node:
    child = boolean(reader)
    reader.expect("AS", "and a type in CAST")
    type = read_type(reader)
    reader.expect(")", "to close CAST")
    return Cast(reader.span(start), child, type, safe)


def _try_cast(reader: Reader, boolean: Boolean, start: int) -> Node:
    return _cast(reader, boolean, start, safe=True)


def _trim(reader: Reader, boolean: Boolean, start: int) -> Node:
    is_column = reader.ahead().key in (".", ",", ")")
    side = None if is_column else reader.accept_any(frozenset({"BOTH", "LEADING", "TRAILING"}))
    args = [] if side and reader.now.key == "FROM" else [boolean(reader)]
    if reader.accept("FROM") or reader.accept(","):
        args.insert(0, boolean(reader))
    reader.expect(")", "to close TRIM")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side or "", "trim")
    return Call(reader.span(start), name, tuple(args))


def _side_trim(name: str) -> Callable[[Reader, Boolean, int], Node]:
    def rule(reader: Reader, boolean: Boolean, start: int) -> Node:
        args = _arguments(reader, boolean)
        reader.expect(")", f"to close {name.upper()}")
        if len(args) > 2:
            raise reader.error(f"{name.upper()} takes 1 or 2 arguments, got {len(args)}", reader.span(start))
        return Call(reader.span(start), name, tuple(reversed(args)))

    return rule


def _substring(reader: Reader, boolean: Boolean, start: int) -> Node:
    args, marks = [boolean(reader)], [("FROM", "FOR"), (",", ",")][reader.now.key == ","]
    args += [boolean(reader) for mark in marks if reader.accept(mark)]
    reader.expect(")", "to close SUBSTRING")
    if len(args) == 1:
        raise reader.error("SUBSTRING takes 2 or 3 arguments, got 1", reader.span(start))
    return Call(reader.span(start), "substring", tuple(args))


def _extract(reader: Reader, boolean: Boolean, start: int) -> Node:
    name = names.part(reader.now, reader)
    reader.expect("FROM", "after the field of EXTRACT")
    child = boolean(reader)
    reader.expect(")", "to close EXTRACT")
    return Call(reader.span(start), name, (child,))


def _exists(reader: Reader, _: Boolean, start: int) -> Node:
    raise reader.error("subqueries are not supported; make it a table of the query and join it", reader.span(start))


_SPECIAL: dict[str, Callable[[Reader, Boolean, int], Node]] = {
    "CAST": _cast,
    "TRY_CAST": _try_cast,
    "TRIM": _trim,
    "LTRIM": _side_trim("ltrim"),
    "RTRIM": _side_trim("rtrim"),
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "EXTRACT": _extract,
    "EXISTS": _exists,
}
