"""The grammar of expressions: what binds to what, as in Spark.

Loosest first: OR, AND, NOT; then one predicate at most (IN, BETWEEN, LIKE, IS); then comparisons, which all bind
alike and from the left; then sums with `||`, products, signs. The grammar is written out here because the order is
Spark's own: in `a = b IS NULL` the comparison binds first, which ready-made SQL parsers read the other way round.
"""

from __future__ import annotations

from collections.abc import Callable

from eddy.sql import forms
from eddy.sql.lexer import Token
from eddy.sql.place import Place
from eddy.sql.reader import HIGHEST, Reader
from eddy.sql.specials import refuse_subquery
from eddy.sql.tree import Call, Node, joined

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
_SIGNS = {"-": "negative", "+": "positive"}
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
    "&&": 'write AND instead of "&&"',
}

_CLAUSES = {
    "SELECT": "leave out the words around it, from SELECT up to WHERE",
    "WITH": "leave out the words around it",
    "FROM": "leave out the words around it, from FROM up to WHERE",
    "WHERE": "leave out the word WHERE",
}
# A clause is followed by the beginning of a value; a column with such a name, by an operator or nothing.
_VALUES = frozenset({"word", "quoted", "number", "string", "raw", "hex"})
_AFTER_VALUES = frozenset({"AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "DIV", "RLIKE", "REGEXP"})


def read(place: Place) -> Node:
    """Read a text that is one expression."""
    reader = Reader(place)
    _refuse_statement(reader)
    node = boolean(reader)
    finish(reader)
    for level, found in node.levels():
        if level > HIGHEST:
            raise reader.too_deep(HIGHEST, found.span)
    return node


def _refuse_statement(reader: Reader) -> None:
    """Refuse the clauses that stand around a condition in a query."""
    word, after = reader.now, reader.ahead()
    if word.key not in _CLAUSES or after.key in _AFTER_VALUES:
        return
    if after.kind in _VALUES or after.key in ("(", "*"):
        raise reader.error(f"only the condition is wanted; {_CLAUSES[word.key]}", word)


def finish(reader: Reader) -> None:
    """Demand the end of the text."""
    token = reader.now
    if token.kind == "end":
        return
    if token.key == ";" and reader.ahead().kind == "end":
        raise reader.error('leave out the ";" at the end', token)
    if token.key in _UNSUPPORTED:
        raise reader.error(_UNSUPPORTED[token.key], token)
    raise reader.stuck("expected an operator or the end of the expression")


def boolean(reader: Reader) -> Node:
    """Read conditions joined by OR."""
    with reader.nested():
        return _joined(reader, "OR", _conjunction)


def _conjunction(reader: Reader) -> Node:
    return _joined(reader, "AND", _negation)


def _joined(reader: Reader, word: str, part: Callable[[Reader], Node]) -> Node:
    start, parts = reader.now.start, [part(reader)]
    while reader.accept(word):
        parts.append(part(reader))
    return joined(reader.span(start), word.lower(), parts) if len(parts) > 1 else parts[0]


def _negation(reader: Reader) -> Node:
    starts = []
    while reader.now.key in _NOT:
        starts.append(reader.take().start)
    node = _predicate(reader)
    for start in reversed(starts):
        node = Call(reader.span(start), "not", (node,))
    return node


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
    refuse_subquery(reader)
    items = forms.listed(reader) if reader.now.kind == "list" else _items(reader)
    reader.expect(")", "at the end of the list of IN")
    return Call(reader.span(start), "in", (node, *items))


def _items(reader: Reader) -> list[Node]:
    items = [_item(reader)]
    while reader.accept(","):
        items.append(_item(reader))
    return items


def _item(reader: Reader) -> Node:
    """Read one of the values of IN; a bare number, of which there may be many, without a look at all operators."""
    if reader.now.kind == "number" and reader.ahead().key in (",", ")"):
        return forms.primary(reader, boolean)
    return boolean(reader)


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
    chain: tuple[Node, ...] = ()
    start, node = reader.now.start, _signed(reader)
    while reader.now.key in _OPERATORS and _OPERATORS[reader.now.key][0] > power:
        own, name = _OPERATORS[reader.take().key]
        args = (node, value(reader, own))
        # Strings are joined in one go, however many.
        chain = (*(chain or args[:1]), args[1]) if name == "concat" else ()
        node = Call(reader.span(start), name, chain or args)
    if reader.now.key in _UNSUPPORTED and reader.now.key not in (";", ":"):
        raise reader.error(_UNSUPPORTED[reader.now.key], reader.now)
    return node


def _signed(reader: Reader) -> Node:
    signs = []
    while reader.now.key in _SIGNS and not _begins_number(reader):
        signs.append(reader.take())
    node = _negative(reader) if _begins_number(reader) else forms.primary(reader, boolean)
    for sign in reversed(signs):
        node = Call(reader.span(sign.start), _SIGNS[sign.key], (node,))
    return node


def _begins_number(reader: Reader) -> bool:
    """Tell whether a minus comes next that is part of a number."""
    return reader.now.key == "-" and reader.ahead().kind == "number"


def _negative(reader: Reader) -> Node:
    start = reader.take().start
    return forms.postfix(reader, start, forms.number(reader, start, negative=True))
