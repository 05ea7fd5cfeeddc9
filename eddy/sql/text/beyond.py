"""What our SQL has not: some of it Spark evaluates, and some of it is no condition at all."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.text.reader import TokenReader
from eddy.sql.values.regex import NotAlike, translate
from eddy.sql.values.tree import Call, Literal, Node
from eddy.sql.values.types import STRING

_OF_SPARK = {
    "->": "lambda functions are not supported",
    "=>": "named arguments are not supported",
    "[": "reading elements of arrays and maps is not supported",
    **{sign: f'the bit operator "{sign}" is not supported' for sign in "&|^~"},
}
NO_PARAMETERS = "parameters are not supported; write the value itself"
_OF_NOBODY = {
    **dict.fromkeys("?:{", NO_PARAMETERS),
    "OVER": "window functions are not supported",
    "FILTER": "aggregate functions are not supported",
    ";": "only one expression is allowed",
    "&&": 'write AND instead of "&&"',
}

LARGEST_GROUP = 99
"""A group of a pattern; no pattern has so many."""


def refuse(reader: TokenReader) -> None:
    """Refuse a sign or a word that our SQL does not know, if one comes next."""
    if reader.now.key in _OF_SPARK:
        raise reader.beyond(_OF_SPARK[reader.now.key], reader.now)
    if reader.now.key in _OF_NOBODY:
        raise reader.error(_OF_NOBODY[reader.now.key], reader.now)


def check_regex(reader: TokenReader, node: Call) -> Node:
    """Refuse a regular expression that is not known now, or that means something else to Arrow than to Spark."""
    if node.name not in ("rlike", "regexp_extract"):
        return node
    pattern, group = node.args[1], node.args[2] if len(node.args) == 3 else None
    if not (isinstance(pattern, Literal) and pattern.type == STRING):
        raise reader.beyond("a regular expression that is no text in quotes is not supported", pattern.span)
    if group is not None and not (isinstance(group, Literal) and group.value in range(LARGEST_GROUP)):
        raise reader.beyond("a group of a regular expression that is no whole number is not supported", group.span)
    try:
        found = translate(str(pattern.value), None if node.name == "rlike" else read_group(group))
        pc.match_substring_regex(pa.scalar(""), found.pattern)
    except pa.ArrowInvalid:
        raise reader.beyond(
            "the regular expression is too much for RE2, such as repeats of repeats", pattern.span
        ) from None
    except NotAlike as reason:
        raise reader.beyond(f"in the regular expression, {reason}", pattern.span) from None
    return node


def read_group(node: Node | None) -> int:
    """Read which group is wanted; the first if nothing is said."""
    return int(str(node.value)) if isinstance(node, Literal) else 1


_CLAUSES = {
    "SELECT": "leave out the words around it, from SELECT up to WHERE",
    "WITH": "leave out the words around it",
    "FROM": "leave out the words around it, from FROM up to WHERE",
    "WHERE": "leave out the word WHERE",
}
# A clause is followed by the beginning of a value; a column with such a name, by an operator or nothing.
_VALUES = frozenset({"word", "quoted", "number", "string", "raw", "hex"})
_AFTER_VALUES = frozenset({"AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "DIV", "RLIKE", "REGEXP"})


def refuse_statement(reader: TokenReader) -> None:
    """Refuse the clauses that stand around a condition in a query."""
    word, after = reader.now, reader.look_ahead()
    if word.key not in _CLAUSES or after.key in _AFTER_VALUES:
        return
    if after.kind in _VALUES or after.key in ("(", "*"):
        raise reader.error(f"only the condition is wanted; {_CLAUSES[word.key]}", word)
