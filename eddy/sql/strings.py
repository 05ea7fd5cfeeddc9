"""String functions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import slices, types
from eddy.sql.arrays import by_distinct, mapped, on_arrays, rebased
from eddy.sql.casts import coerce
from eddy.sql.lazy import strict
from eddy.sql.session import Session
from eddy.sql.step import Refused, Step, apply, constant
from eddy.sql.value import Kernel, Value

_ASCII_CASE: dict[str, Kernel] = {"upper": pc.ascii_upper, "lower": pc.ascii_lower}
_FULL_CASE: dict[str, Kernel] = {
    "upper": mapped(lambda text: None if text is None else text.upper(), types.STRING),
    "lower": mapped(lambda text: None if text is None else text.lower(), types.STRING),
}
_TRIMS: dict[str, Kernel] = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}
_SEARCHES: dict[str, Kernel] = {
    "contains": pc.match_substring,
    "startswith": pc.starts_with,
    "endswith": pc.ends_with,
}


def to_string(step: Step, session: Session) -> Step:
    """Convert a value of any plain type to a string, as Spark would."""
    if not types.is_plain(step.type):
        raise Refused(f"a string is needed here, got {types.names([step.type])}")
    if step.type == types.BINARY:
        raise Refused('a string is needed here, got "binary"; cast it')
    return coerce(step, types.STRING, session)


def change_case(name: str, session: Session, args: Sequence[Step]) -> Step:
    """Bind UPPER and LOWER, with the full mapping of Unicode."""

    def kernel(value: Value) -> Value:
        # pyarrow's kernels for ASCII give rubbish for strings whose offsets do not begin at zero, or stop.
        return _ASCII_CASE[name](rebased(value)) if _is_ascii(value) else _FULL_CASE[name](value)

    return apply(kernel, (to_string(args[0], session),), types.STRING)


def _is_ascii(value: Value) -> bool:
    found = pc.string_is_ascii(value)
    return found.as_py() is not False if isinstance(found, pa.Scalar) else not found.false_count


def length(session: Session, args: Sequence[Step]) -> Step:
    """Bind LENGTH: characters of a string, bytes of binary."""
    if args[0].type == types.BINARY:
        return apply(pc.binary_length, args, types.INT)
    return apply(pc.utf8_length, (to_string(args[0], session),), types.INT)


def concat(session: Session, args: Sequence[Step]) -> Step:
    """Bind CONCAT and `||`; a null makes it null."""
    if not args:
        return constant(pa.scalar("", types.STRING))
    binary = all(arg.type == types.BINARY for arg in args)
    parts = args if binary else [to_string(arg, session) for arg in args]
    separator = pa.scalar(b"" if binary else "", parts[0].type)
    return strict(lambda *values: pc.binary_join_element_wise(*values, separator), parts, parts[0].type)


def trim(name: str, session: Session, args: Sequence[Step]) -> Step:
    """Bind TRIM and its kin; without characters it is blanks."""
    value = to_string(args[0], session)
    characters = to_string(args[1], session) if len(args) == 2 else constant(pa.scalar(" "))
    return _with_argument(lambda texts, given: _TRIMS[name](texts, characters=given), value, characters, types.STRING)


def search(name: str, session: Session, args: Sequence[Step]) -> Step:
    """Bind CONTAINS, STARTSWITH and ENDSWITH."""
    value, part = (to_string(arg, session) for arg in args)
    return _with_argument(lambda texts, given: _SEARCHES[name](texts, pattern=given), value, part, types.BOOLEAN)


def _with_argument(kernel: Kernel, value: Step, argument: Step, type: pa.DataType) -> Step:
    """Bind a kernel whose second argument is one plain string."""
    if argument.value is None:
        return strict(on_arrays(lambda texts, given: by_distinct(kernel, texts, given, type)), (value, argument), type)
    given = argument.value.as_py()
    if given is None:
        return constant(pa.scalar(None, type))
    return apply(lambda texts: kernel(texts, given), (value,), type)


def substring(session: Session, args: Sequence[Step]) -> Step:
    """Bind SUBSTRING; positions count from 1, or from the end."""
    value, *numbers = args
    text = to_string(value, session)
    steps = [_integer(number, session) for number in numbers]
    size = steps[1] if len(steps) == 2 else constant(pa.scalar(slices.TO_THE_END, types.INT))
    return _slice(text, steps[0], size)


def left(session: Session, args: Sequence[Step]) -> Step:
    """Bind LEFT: so many characters from the start."""
    return _slice(to_string(args[0], session), constant(pa.scalar(1, types.INT)), _integer(args[1], session))


def right(session: Session, args: Sequence[Step]) -> Step:
    """Bind RIGHT: so many characters from the end."""
    size = _integer(args[1], session)
    # No characters from the end is the empty string; the position 0 would mean the start.
    start = apply(lambda number: pc.negate(pc.max_element_wise(number, 0, skip_nulls=False)), (size,), types.INT)
    return _slice(to_string(args[0], session), start, size)


def _slice(text: Step, start: Step, size: Step) -> Step:
    if start.value is not None and size.value is not None:
        return apply(slices.fixed(start.value.as_py(), size.value.as_py()), (text,), types.STRING)
    return strict(slices.by_row, (text, start, size), types.STRING)


def _integer(step: Step, session: Session) -> Step:
    if not (types.is_numeric(step.type) or step.type in (types.STRING, types.NULL)):
        raise Refused(f"a whole number is needed here, got {types.names([step.type])}")
    return coerce(step, types.INT, session)
