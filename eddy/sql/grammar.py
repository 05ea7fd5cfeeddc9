"""The grammar of expressions: what binds to what, as in Spark.

Loosest first: OR, AND, NOT; then one predicate at most (IN, BETWEEN, LIKE, IS); then comparisons, which all bind
alike and from the left; then sums with `||`, products, signs. The grammar is written out here because the order is
Spark's own: in `a = b IS NULL` the comparison binds first, which ready-made SQL parsers read the other way round.
"""

from __future__ import annotations

from eddy.sql import forms
from eddy.sql.lexer import Token
from eddy.sql.place import Place
from eddy.sql.reader import Reader
from eddy.sql.tree import Call, Literal, Node

# The left binding power of each operator between two values, and the name of what it does.
_OPERATORS: dict[str, tuple[int, str]] = {
    **{sign: (1, sign) for sign in ("=", "<", "<=", ">", ">=", "<=>", "!=")},
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
_NOT = frozenset({"NOT", "!"})
_UNSUPPORTED = {
    "->": "lambda functions are not supported",
    "=>": "named arguments are not supported",
    "[": "reading elements of arrays and maps is not supported",
    "?": "parameters are not supported; write the value itself",
    ":": "parameters are not supported; write the value itself",
    "{": "parameters are not supported; write the value itself",
    **{sign: f'the bit operator "{sign}" is not supported' for sign in "&|^~"},
    "RLIKE": "regular expressions are not supported; use LIKE",
    "REGEXP": "regular expressions are not supported; use LIKE",
    "OVER": "window functions are not supported",
    "FILTER": "aggregate functions are not supported",
    ";": "only one expression is allowed",
}


def read(place: Place) -> Node:
    """Read a text that is one expression."""
    reader = Reader(place)
    node = boolean(reader)
    finish(reader)
    return node


def finish(reader: Reader) -> None:
    """Demand the end of the text."""
    token = reader.now
    if token.kind == "end":
        return
    if token.key in _UNSUPPORTED:
        raise reader.error(_UNSUPPORTED[token.key], token)
    raise reader.stuck("expected an operator or the end of the expression")


def boolean(reader: Reader) -> Node:
    """Read conditions joined by OR."""
    start, node = reader.now.start, _conjunction(reader)
    while reader.accept("OR"):
        right = _conjunction(reader)
        node = Call(reader.span(start), "or", (node, right))
    return node


def _conjunction(reader: Reader) -> Node:
    start, node = reader.now.start, _negation(reader)
    while reader.accept("AND"):
        right = _negation(reader)
        node = Call(reader.span(start), "and", (node, right))
    return node


def _negation(reader: Reader) -> Node:
    start = reader.now.start
    if reader.accept_any(_NOT) is None:
        return _predicate(reader)
    child = _negation(reader)
    return Call(reader.span(start), "not", (child,))


def _predicate(reader: Reader) -> Node:
    start, node = reader.now.start, value(reader)
    if reader.accept("IS"):
        return _is(reader, start, node)
    word = reader.ahead() if reader.now.key in _NOT else reader.now
    rule = {"BETWEEN": _between, "IN": _in, "LIKE": _like, "ILIKE": _like}.get(word.key)
    if rule is None:
        return node
    negated = reader.accept_any(_NOT) is not None
    found = rule(reader, start, node, reader.take())
    return Call(found.span, "not", (found,)) if negated else found


def _is(reader: Reader, start: int, node: Node) -> Node:
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


def _between(reader: Reader, start: int, node: Node, _: Token) -> Node:
    low = value(reader)
    reader.expect("AND", "between the two bounds of BETWEEN")
    high = value(reader)
    return Call(reader.span(start), "between", (node, low, high))


def _in(reader: Reader, start: int, node: Node, _: Token) -> Node:
    reader.expect("(", "after IN")
    forms.refuse_subquery(reader)
    items = [boolean(reader)]
    while reader.accept(","):
        items.append(boolean(reader))
    reader.expect(")", "at the end of the list of IN")
    return Call(reader.span(start), "in", (node, *items))


def _like(reader: Reader, start: int, node: Node, word: Token) -> Node:
    if reader.now.key in ("ANY", "ALL", "SOME") and reader.ahead().key == "(":
        raise reader.error(f"{word.key} {reader.now.key} is not supported; join several {word.key} by OR or AND", word)
    args = [node, value(reader)]
    if reader.accept("ESCAPE"):
        escape = forms.text(reader, "after ESCAPE")
        if len(str(escape.value)) != 1:
            raise reader.error("ESCAPE takes one character", escape.span)
        args.append(escape)
    return Call(reader.span(start), word.key.lower(), tuple(args))


def value(reader: Reader, power: int = 0) -> Node:
    """Read values joined by operators that bind tighter."""
    start, node = reader.now.start, _signed(reader)
    while reader.now.key in _OPERATORS and _OPERATORS[reader.now.key][0] > power:
        own, name = _OPERATORS[reader.take().key]
        right = value(reader, own)
        node = Call(reader.span(start), name, (node, right))
    if reader.now.key in _UNSUPPORTED and reader.now.key not in (";", ":"):
        raise reader.error(_UNSUPPORTED[reader.now.key], reader.now)
    return node


def _signed(reader: Reader) -> Node:
    start = reader.now.start
    if reader.now.key == "-" and reader.ahead().kind == "number":
        return forms.postfix(reader, start, _number(reader))
    if reader.accept("-"):
        child = _signed(reader)
        return Call(reader.span(start), "negative", (child,))
    if reader.accept("+"):
        child = _signed(reader)
        return Call(reader.span(start), "positive", (child,))
    return forms.primary(reader, boolean)


def _number(reader: Reader) -> Literal:
    start = reader.take().start
    return forms.number(reader, start, negative=True)
