"""The grammar of expressions, with Spark's precedence.

Loosest first: OR, AND, NOT; then one predicate at most (IN, BETWEEN, LIKE, IS); then comparisons, which all bind alike
and from the left; then sums with `||`, products, signs. The grammar is written out here because the order is Spark's
own, and errors point at their place. sqlglot 30, asked for Spark's dialect, reads `a < b IN (1, 2)` as `a < (b IN ..)`
and `a = b LIKE c` as `a = (b LIKE c)`, where Spark compares first; `'it''s'` as "its"; and does not know `!<`.

A value at the end of it is a literal, a name, a call, a CASE, or an expression in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import pyarrow as pa

from eddy.sql.text import beyond, literals, names, special_forms
from eddy.sql.text.names import read_cast_type
from eddy.sql.text.reader import Token, TokenReader, split_list
from eddy.sql.values.tree import (
    COMPARISONS,
    Call,
    Cast,
    Column,
    Literal,
    Literals,
    Node,
    Place,
    Ref,
    TextSpan,
    UserCall,
    join_conditions,
)

# The left binding power of each operator between two values, and the name of what it does.
_OPERATORS: dict[str, tuple[int, str]] = {
    **{sign: (1, sign) for sign in (*COMPARISONS, "<=>")},
    "==": (1, "="),
    "<>": (1, "!="),
    "!<": (1, ">="),
    "!>": (1, "<="),
    "+": (2, "+"),
    "-": (2, "-"),
    "||": (2, "concat"),
    "*": (3, "*"),
    "/": (3, "/"),
    "%": (3, "%"),
    "DIV": (3, "div"),
}
_SIGNS = {"-": "negative", "+": "positive"}
_NOT = frozenset({"NOT", "!"})


def read(place: Place) -> Node:
    """Read a text that is one expression."""
    reader = TokenReader(place)
    beyond.refuse_statement(reader)
    node = boolean(reader)
    finish(reader)
    reader.check_height(node)
    return node


def finish(reader: TokenReader) -> None:
    """Demand the end of the text."""
    token = reader.now
    if token.kind == "end":
        return
    if token.key == ";" and reader.look_ahead().kind == "end":
        raise reader.error('leave out the ";" at the end', token)
    beyond.refuse(reader)
    raise reader.stuck("expected an operator or the end of the expression")


def boolean(reader: TokenReader) -> Node:
    """Read conditions joined by OR."""
    with reader.nest():
        return _read_joined(reader, "OR", _conjunction)


def _conjunction(reader: TokenReader) -> Node:
    return _read_joined(reader, "AND", _negation)


def _read_joined(reader: TokenReader, word: str, part: Callable[[TokenReader], Node]) -> Node:
    start, parts = reader.now.start, [part(reader)]
    while reader.accept(word):
        parts.append(part(reader))
    return join_conditions(reader.span(start), word.lower(), parts) if len(parts) > 1 else parts[0]


def _negation(reader: TokenReader) -> Node:
    starts = []
    while reader.now.key in _NOT:
        starts.append(reader.take().start)
    node = _predicate(reader)
    for start in reversed(starts):
        node = Call(reader.span(start), "not", (node,))
    return node


def _predicate(reader: TokenReader) -> Node:
    start, node = reader.now.start, value(reader)
    if reader.accept("IS"):
        return _is(reader, start, node)
    word = reader.look_ahead() if reader.now.key in _NOT else reader.now
    rule = _PREDICATES.get(word.key)
    if rule is None:
        return node
    negated = reader.accept_any(_NOT) is not None
    found = rule(reader, start, node, reader.take())
    return Call(found.span, "not", (found,)) if negated else found


def _rlike(reader: TokenReader, start: int, node: Node, _: Token) -> Node:
    return beyond.check_regex(reader, Call(reader.span(start), "rlike", (node, value(reader))))


def _is(reader: TokenReader, start: int, node: Node) -> Node:
    negated = reader.accept("NOT") is not None
    if reader.accept("DISTINCT", "FROM"):
        # The operator says that two values are not distinct: here NOT is what takes a negation away.
        other, negated = value(reader), not negated
        found = Call(reader.span(start), "<=>", (node, other))
    elif reader.accept("NULL") or reader.accept("UNKNOWN"):
        found = Call(reader.span(start), "isnull", (node,))
    else:
        word = reader.accept_any(frozenset({"TRUE", "FALSE"}))
        if word is None:
            raise reader.stuck("expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS")
        found = Call(reader.span(start), f"is {word.lower()}", (node,))
    return Call(found.span, "not", (found,)) if negated else found


def _between(reader: TokenReader, start: int, node: Node, _: Token) -> Node:
    low = value(reader)
    reader.expect("AND", "between the two bounds of BETWEEN")
    high = value(reader)
    return Call(reader.span(start), "between", (node, low, high))


def _in(reader: TokenReader, start: int, node: Node, _: Token) -> Node:
    reader.expect("(", "after IN")
    special_forms.refuse_subquery(reader)
    items = literal_list(reader) if reader.now.kind == "list" else reader.read_list(_item)
    reader.expect(")", "at the end of the list of IN")
    return Call(reader.span(start), "in", (node, *items))


def _item(reader: TokenReader) -> Node:
    """Read one of the values of IN.

    There may be many bare numbers, so those are read without a look at all operators.
    """
    if reader.now.kind == "number" and reader.look_ahead().key in (",", ")"):
        return primary(reader)
    return boolean(reader)


def _like(reader: TokenReader, start: int, node: Node, word: Token) -> Node:
    if reader.now.key in ("ANY", "ALL", "SOME") and reader.look_ahead().key == "(":
        raise reader.beyond(f"{word.key} {reader.now.key} is not supported; join several {word.key} by OR or AND", word)
    args = [node, value(reader)]
    if reader.accept("ESCAPE"):
        escape = text(reader, "after ESCAPE")
        if len(str(escape.value)) != 1:
            raise reader.error("ESCAPE takes one character", escape.span)
        args.append(escape)
    return Call(reader.span(start), word.key.lower(), tuple(args))


_PREDICATES = {
    "BETWEEN": _between,
    "IN": _in,
    "LIKE": _like,
    "ILIKE": _like,
    "RLIKE": _rlike,
    "REGEXP": _rlike,
}


def value(reader: TokenReader, power: int = 0) -> Node:
    """Read values joined by operators that bind tighter."""
    chain: tuple[Node, ...] = ()
    start, node = reader.now.start, _read_signed(reader)
    while reader.now.key in _OPERATORS and _OPERATORS[reader.now.key][0] > power:
        own, name = _OPERATORS[reader.take().key]
        args = (node, value(reader, own))
        # Strings are joined in one go, however many.
        chain = (*(chain or args[:1]), args[1]) if name == "concat" else ()
        node = Call(reader.span(start), name, chain or args)
    if reader.now.key not in (";", ":"):
        beyond.refuse(reader)
    return node


def _read_signed(reader: TokenReader) -> Node:
    signs = []
    while reader.now.key in _SIGNS and not _begins_number(reader):
        signs.append(reader.take())
    node = _negative(reader) if _begins_number(reader) else primary(reader)
    for sign in reversed(signs):
        node = Call(reader.span(sign.start), _SIGNS[sign.key], (node,))
    return node


def _begins_number(reader: TokenReader) -> bool:
    """Tell whether a minus comes next that is part of a number."""
    return reader.now.key == "-" and reader.look_ahead().kind == "number"


def _negative(reader: TokenReader) -> Node:
    start = reader.take().start
    return postfix(reader, start, number(reader, start, negative=True))


_CONSTANTS: dict[str, tuple[object, pa.DataType]] = {
    "TRUE": (True, pa.bool_()),
    "FALSE": (False, pa.bool_()),
    "NULL": (None, pa.null()),
}
_RESERVED = frozenset({"AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "BETWEEN", "WHEN", "THEN", "ELSE", "END", "AS"})
_RESERVED_SIGNS = {"*": '"*" is not a value', "?": beyond.NO_PARAMETERS}


def primary(reader: TokenReader) -> Node:
    """Read one value, with the casts that follow it."""
    start = reader.now.start
    return postfix(reader, start, _primary(reader))


def postfix(reader: TokenReader, start: int, node: Node) -> Node:
    """Read the `::type` that may follow a value."""
    while reader.accept("::"):
        type = read_cast_type(reader)
        node = Cast(reader.span(start), node, type, safe=False)
    return node


def _primary(reader: TokenReader) -> Node:
    token = reader.now
    if token.kind == "number":
        return number(reader, token.start, negative=False)
    if token.is_text:
        return text(reader, "here")
    if token.kind == "hex":
        return _bytes(reader)
    if reader.accept("("):
        return _parenthesis(reader)
    if token.kind == "quoted":
        return _column(reader)
    if token.kind == "word" and token.key not in _RESERVED:
        return _word(reader)
    raise reader.stuck(_RESERVED_SIGNS.get(token.key, "expected a value"))


def number(reader: TokenReader, start: int, *, negative: bool) -> Literal:
    """Read a number whose sign was at `start`."""
    token = reader.take()
    try:
        value, type = literals.number(token.text, negative=negative)
    except ValueError as reason:
        raise reader.error(str(reason), TextSpan(start, token.end)) from None
    return Literal(reader.span(start), value, type)


def text(reader: TokenReader, place: str) -> Literal:
    """Read strings that stand side by side, as one."""
    start, parts = reader.now.start, []
    while reader.now.is_text:
        parts.append(special_forms.unquote(reader))
    if not parts:
        raise reader.stuck(f"expected a string {place}")
    return Literal(reader.span(start), "".join(parts), pa.string())


def _bytes(reader: TokenReader) -> Node:
    token = reader.take()
    digits = token.text[2:-1]
    try:
        value = bytes.fromhex("0" * (len(digits) % 2) + digits)
    except ValueError:
        raise reader.error("expected hexadecimal digits between the quotes", token) from None
    return Literal(reader.span(token.start), value, pa.binary())


def literal_list(reader: TokenReader) -> list[Node]:
    """Read a list of literals, those of one type together."""
    token = reader.take()
    special_forms.refuse_setting(reader, token)
    values: dict[pa.DataType, list[object]] = {}
    for literal in split_list(token):
        try:
            value, type = _read_listed(literal)
        except ValueError as reason:
            raise reader.error(str(reason), literal) from None
        values.setdefault(type, []).append(value)
    span = TextSpan(token.start, token.end)
    return [Literals(span, tuple(found), type) for type, found in values.items()]


def _read_listed(literal: Token) -> tuple[object, pa.DataType]:
    if literal.kind == "string":
        return literals.string(literal.text), pa.string()
    if literal.kind == "word":
        return _CONSTANTS["NULL"]
    return literals.number(literal.text.removeprefix("-"), negative=literal.text[0] == "-")


def _parenthesis(reader: TokenReader) -> Node:
    special_forms.refuse_subquery(reader)
    node = boolean(reader)
    if reader.now.key == ",":
        raise reader.beyond("lists of values are not supported here, only after IN", reader.now)
    reader.expect(")", "to close the parenthesis")
    return node


def _word(reader: TokenReader) -> Node:
    token, after = reader.now, reader.look_ahead()
    if token.key in _CONSTANTS:
        reader.take()
        return Literal(reader.span(token.start), *_CONSTANTS[token.key])
    if token.key == "CASE":
        return _case(reader)
    if token.key == "INTERVAL":
        amount = reader.look_ahead(2) if after.key in ("-", "+") else after
        if amount.kind == "number" or amount.is_text:
            return special_forms.interval(reader)
    if after.is_text:
        return special_forms.typed_literal(reader)
    return _call(reader) if after.key == "(" else _column(reader)


def _column(reader: TokenReader) -> Node:
    start, parts = reader.now.start, [identifier(reader)]
    while reader.accept("."):
        parts.append(identifier(reader))
    if len(parts) > 2:
        message = "a column is written as name or stream.name; struct fields are not supported"
        raise reader.beyond(message, reader.span(start))
    column = Column(None, parts[0]) if len(parts) == 1 else Column(*parts)
    return Ref(reader.span(start), column, column)


def identifier(reader: TokenReader) -> str:
    """Read a name, with or without backticks."""
    if not reader.now.is_name:
        raise reader.stuck("expected a name")
    return reader.take().name


def alias(reader: TokenReader, following: Collection[str] = ()) -> str | None:
    """Read the name that something gets, if it gets one: behind AS, or a word that is none of the `following`."""
    if reader.accept("AS") or (reader.now.is_name and reader.now.key not in following):
        return identifier(reader)
    return None


def _case(reader: TokenReader) -> Node:
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


def _call(reader: TokenReader) -> Node:
    token = reader.take()
    reader.take()
    special = special_forms.SPECIAL.get(token.key)
    is_asked = token.text in reader.functions
    if special is not None and not is_asked:
        if reader.now.key == ")":
            raise special_forms.miswritten(reader, token.key, token.start)
        return special(reader, boolean, token.start)
    name = token.text if is_asked else names.resolve(token, reader)
    special_forms.refuse_subquery(reader)
    args = [] if reader.now.key == ")" else reader.read_list(boolean)
    reader.expect(")", f'to close the arguments of "{token.text}"')
    if is_asked:
        return UserCall(reader.span(token.start), name, tuple(args))
    names.check_count(token, len(args), name, reader)
    if name in names.CASTS:
        return Cast(reader.span(token.start), args[0], names.CASTS[name], safe=False)
    return beyond.check_regex(reader, Call(reader.span(token.start), name, tuple(args)))
