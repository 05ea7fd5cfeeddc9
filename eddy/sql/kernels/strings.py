"""String functions: case, search, LIKE and substrings.

A pattern of LIKE becomes the fastest of Arrow's kernels that can test for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels.casts import coerce
from eddy.sql.values import types
from eddy.sql.values.arrays import Kernel, Value, by_distinct, map_values, on_arrays, rebase
from eddy.sql.values.faults import Fault
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, OnlySpark, Refused, apply, constant, strict

_ASCII_CASE: dict[str, Kernel] = {"upper": pc.ascii_upper, "lower": pc.ascii_lower}
_FULL_CASE: dict[str, Kernel] = {
    "upper": map_values(lambda text: None if text is None else text.upper(), types.STRING),
    "lower": map_values(lambda text: None if text is None else text.lower(), types.STRING),
}
_TRIMS: dict[str, Kernel] = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}
_SEARCHES: dict[str, Kernel] = {
    "contains": pc.match_substring,
    "startswith": pc.starts_with,
    "endswith": pc.ends_with,
}
ANY, ONE = "%", "_"
Piece = tuple[str, bool]  # a character, and whether it stands for itself
# The length that stands for all the rest, as in Spark: the largest int.
TO_THE_END = (1 << 31) - 1


def to_string(step: BoundStep, session: Session) -> BoundStep:
    """Convert any plain value to a string, as Spark would."""
    if not types.is_plain(step.type):
        raise Refused(f"a string is needed here, got {types.names([step.type])}")
    if step.type == types.BINARY:
        raise Refused('a string is needed here, got "binary"; cast it')
    return coerce(step, types.STRING, session)


def change_case(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind UPPER and LOWER, with the full mapping of Unicode."""

    def kernel(value: Value) -> Value:
        # pyarrow's kernels for ASCII give rubbish for strings whose offsets do not begin at zero, or stop.
        return _ASCII_CASE[name](rebase(value)) if _is_ascii(value) else _FULL_CASE[name](value)

    return apply(kernel, (to_string(args[0], session),), types.STRING)


def _is_ascii(value: Value) -> bool:
    found = pc.string_is_ascii(value)
    return found.as_py() is not False if isinstance(found, pa.Scalar) else not found.false_count


def length(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind LENGTH: characters of a string, bytes of binary."""
    if args[0].type == types.BINARY:
        return apply(pc.binary_length, args, types.INT)
    return apply(pc.utf8_length, (to_string(args[0], session),), types.INT)


def concat(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind CONCAT and `||`; a null makes it null."""
    if not args:
        return constant(pa.scalar("", types.STRING))
    binary = all(arg.type == types.BINARY for arg in args)
    parts = args if binary else [to_string(arg, session) for arg in args]
    separator = pa.scalar(b"" if binary else "", parts[0].type)
    return strict(lambda *values: pc.binary_join_element_wise(*values, separator), parts, parts[0].type)


def trim(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind TRIM and its kin; without characters it is blanks."""
    value = to_string(args[0], session)
    characters = to_string(args[1], session) if len(args) == 2 else constant(pa.scalar(" "))
    return _with_argument(lambda texts, given: _TRIMS[name](texts, characters=given), value, characters, types.STRING)


def search(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind CONTAINS, STARTSWITH and ENDSWITH."""
    value, part = (to_string(arg, session) for arg in args)
    return _with_argument(lambda texts, given: _SEARCHES[name](texts, pattern=given), value, part, types.BOOLEAN)


def _with_argument(kernel: Kernel, value: BoundStep, argument: BoundStep, type: pa.DataType) -> BoundStep:
    """Bind a kernel whose second argument is one plain string."""
    if argument.value is None:
        return strict(on_arrays(lambda texts, given: by_distinct(kernel, texts, given, type)), (value, argument), type)
    given = argument.value.as_py()
    if given is None:
        return constant(pa.scalar(None, type))
    return apply(lambda texts: kernel(texts, given), (value,), type)


def substring(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind SUBSTRING; positions count from 1, or from the end."""
    value, *numbers = args
    text = to_string(value, session)
    steps = [_integer(number, session) for number in numbers]
    size = steps[1] if len(steps) == 2 else constant(pa.scalar(TO_THE_END, types.INT))
    return _slice(text, steps[0], size)


def left(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind LEFT: so many characters from the start."""
    return _slice(to_string(args[0], session), constant(pa.scalar(1, types.INT)), _integer(args[1], session))


def right(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind RIGHT: so many characters from the end."""
    size = _integer(args[1], session)
    # No characters from the end is the empty string; the position 0 would mean the start.
    start = apply(lambda number: pc.negate(pc.max_element_wise(number, 0, skip_nulls=False)), (size,), types.INT)
    return _slice(to_string(args[0], session), start, size)


def _slice(text: BoundStep, start: BoundStep, size: BoundStep) -> BoundStep:
    if start.value is None or size.value is None:
        raise OnlySpark("a part of a string is supported where its place and length are the same in all rows")
    return apply(cut_fixed(start.value.as_py(), size.value.as_py()), (text,), types.STRING)


def _integer(step: BoundStep, session: Session) -> BoundStep:
    if not (types.is_numeric(step.type) or step.type in (types.STRING, types.NULL)):
        raise Refused(f"a whole number is needed here, got {types.names([step.type])}")
    return coerce(step, types.INT, session)


def like(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind LIKE and ILIKE.

    A third argument is the escape character.
    """
    if not all(types.is_plain(arg.type) for arg in args):
        raise Refused(f"{name.upper()} takes two strings")
    value, pattern = (to_string(arg, session) for arg in args[:2])
    if name == "ilike":
        value, pattern = (change_case("lower", session, (arg,)) for arg in (value, pattern))
    escape = str(args[2].value.as_py()) if len(args) == 3 and args[2].value is not None else "\\"
    if pattern.value is None:
        return strict(_match_by_row(escape), (value, pattern), types.BOOLEAN, fails=True)
    if not pattern.value.is_valid:
        return apply(lambda text: pc.equal(text, pattern.value), (value,), types.BOOLEAN)
    try:
        test = matcher(pattern.value.as_py(), escape)
    except Fault as fault:
        raise Refused(str(fault)) from None
    return apply(test, (value,), types.BOOLEAN)


def _match_by_row(escape: str) -> Callable[[Value, Value], Value]:
    def kernel(values: pa.Array, patterns: pa.Array) -> pa.Array:
        return by_distinct(lambda chosen, pattern: matcher(pattern, escape)(chosen), values, patterns, types.BOOLEAN)

    return on_arrays(kernel)


def pieces(pattern: str, escape: str) -> list[Piece]:
    """Split a pattern into characters, some of them wild.

    Each is literal, or stands for others.

    >>> pieces("a/%_", "/")
    [('a', True), ('%', True), ('_', False)]
    """
    found, at = [], 0
    while at < len(pattern):
        character = pattern[at]
        if character == escape:
            at += 1
            character = _read_escaped(pattern, at, escape)
            found.append((character, True))
        else:
            found.append((character, character not in (ANY, ONE)))
        at += 1
    return found


def _read_escaped(pattern: str, at: int, escape: str) -> str:
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
    body = "".join(_quote(character) if literal else {ANY: ".*", ONE: "."}[character] for character, literal in found)
    pattern = rf"(?s)\A{body}\z"
    return lambda value: pc.match_substring_regex(value, pattern)


def _quote(character: str) -> str:
    if character == "\0":
        return r"\x00"
    return character if character.isalnum() or ord(character) > 127 else rf"\{character}"


def cut_fixed(start: int | None, size: int | None) -> Kernel:
    """Give the kernel for a start and a length that are constants."""
    if start is None or size is None:
        return _unknown
    if size <= 0:
        return lambda value: pc.utf8_slice_codeunits(value, start=0, stop=0)
    first = start - 1 if start > 0 else start
    last: int | None = first + size
    if first < 0 <= first + size or size == TO_THE_END:
        last = None
    return lambda value: pc.utf8_slice_codeunits(value, start=first, stop=last)


def _unknown(value: Value) -> Value:
    return pa.scalar(None, types.STRING) if isinstance(value, pa.Scalar) else pa.nulls(len(value), types.STRING)
