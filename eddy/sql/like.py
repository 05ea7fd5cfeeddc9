"""LIKE and ILIKE.

`%` stands for any characters and `_` for one, newlines included; nothing else in a pattern is special but the
escape character, which must stand before `%`, `_` or itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import types
from eddy.sql.arrays import by_distinct, on_arrays
from eddy.sql.faults import Fault
from eddy.sql.lazy import strict
from eddy.sql.session import Session
from eddy.sql.step import Refused, Step, apply
from eddy.sql.strings import change_case, to_string
from eddy.sql.value import Value

ANY, ONE = "%", "_"
Piece = tuple[str, bool]  # a character, and whether it stands for itself


def like(name: str, session: Session, args: Sequence[Step]) -> Step:
    """Bind LIKE and ILIKE; a third argument is the escape character."""
    if not all(types.is_plain(arg.type) for arg in args):
        raise Refused(f"{name.upper()} takes two strings")
    value, pattern = (to_string(arg, session) for arg in args[:2])
    if name == "ilike":
        value, pattern = (change_case("lower", session, (arg,)) for arg in (value, pattern))
    escape = str(args[2].value.as_py()) if len(args) == 3 and args[2].value is not None else "\\"
    if pattern.value is None:
        return strict(_by_row(escape), (value, pattern), types.BOOLEAN, fails=True)
    if not pattern.value.is_valid:
        return apply(lambda text: pc.equal(text, pattern.value), (value,), types.BOOLEAN)
    try:
        test = matcher(pattern.value.as_py(), escape)
    except Fault as fault:
        raise Refused(str(fault)) from None
    return apply(test, (value,), types.BOOLEAN)


def _by_row(escape: str) -> Callable[[Value, Value], Value]:
    def kernel(values: pa.Array, patterns: pa.Array) -> pa.Array:
        return by_distinct(lambda chosen, pattern: matcher(pattern, escape)(chosen), values, patterns, types.BOOLEAN)

    return on_arrays(kernel)


def pieces(pattern: str, escape: str) -> list[Piece]:
    """Split a pattern into characters, literal or standing for others.

    >>> pieces("a/%_", "/")
    [('a', True), ('%', True), ('_', False)]
    """
    found, at = [], 0
    while at < len(pattern):
        character = pattern[at]
        if character == escape:
            at += 1
            character = _escaped(pattern, at, escape)
            found.append((character, True))
        else:
            found.append((character, character not in (ANY, ONE)))
        at += 1
    return found


def _escaped(pattern: str, at: int, escape: str) -> str:
    if at == len(pattern):
        raise Fault(f"the pattern '{pattern}' ends with its escape character '{escape}'; double it to mean itself")
    if pattern[at] not in (ANY, ONE, escape):
        reason = f"may stand before {ANY}, {ONE} and itself only"
        raise Fault(f"in the pattern '{pattern}' the escape character '{escape}' {reason}; double it to mean itself")
    return pattern[at]


def matcher(pattern: str, escape: str) -> Callable[[Value], Value]:
    """Give the fastest kernel that tests for a pattern."""
    found = pieces(pattern, escape)
    wild = [(at, character) for at, (character, literal) in enumerate(found) if not literal]
    if any(character == ONE for _, character in wild):
        return _regex(found)
    ends = (0, len(found) - 1)
    if any(at not in ends for at, _ in wild):
        return _regex(found)
    middle = "".join(character for character, literal in found if literal)
    head, tail = bool(found) and not found[0][1], len(found) > 1 and not found[-1][1]
    if not wild:
        return lambda value: pc.equal(value, middle)
    if len(found) == 1 or (head and tail):
        return lambda value: pc.match_substring(value, middle)
    return (lambda value: pc.ends_with(value, middle)) if head else (lambda value: pc.starts_with(value, middle))


def _regex(found: list[Piece]) -> Callable[[Value], Value]:
    body = "".join(_quoted(character) if literal else {ANY: ".*", ONE: "."}[character] for character, literal in found)
    pattern = rf"(?s)\A{body}\z"
    return lambda value: pc.match_substring_regex(value, pattern)


def _quoted(character: str) -> str:
    if character == "\0":
        return r"\x00"
    return character if character.isalnum() or ord(character) > 127 else rf"\{character}"
