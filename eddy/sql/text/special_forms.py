"""Functions and literals with a grammar of their own.

`CAST(x AS int)`, `EXTRACT(year FROM t)`, `DATE '2024-01-05'` and `INTERVAL 5 MINUTES` are such. The functions that hold
whole expressions get `boolean`, the entry of the grammar, as an argument, since the grammar's module imports this one.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from eddy.errors import QueryError
from eddy.sql.text import literals, names
from eddy.sql.text.names import read_cast_type
from eddy.sql.text.reader import Token, TokenReader
from eddy.sql.values import intervals
from eddy.sql.values.faults import Unlike
from eddy.sql.values.tree import Call, Cast, Literal, Node
from eddy.sql.values.types import DATE, DURATION, TIMESTAMP, TIMESTAMP_NTZ

Boolean = Callable[[TokenReader], Node]
_WRITTEN = {
    "CAST": "cast(value as type)",
    "TRY_CAST": "try_cast(value as type)",
    "TRIM": "trim(text) or trim(characters from text)",
    "LTRIM": "ltrim(text) or ltrim(characters, text)",
    "RTRIM": "rtrim(text) or rtrim(characters, text)",
    "SUBSTRING": "substring(text, position) or substring(text, position, length)",
    "SUBSTR": "substr(text, position) or substr(text, position, length)",
    "EXTRACT": "extract(field from time)",
    "EXISTS": "a condition; subqueries are not supported",
}
UNIT_TO_UNIT = "an interval from one unit to another is not supported; write it in units, as in 1 DAY 2 HOURS"
NO_SUBQUERIES = (
    "subqueries are not supported; make it a table of the query and join it, or ask it for a match by a semi or anti "
    "join"
)


def refuse_subquery(reader: TokenReader) -> None:
    """Refuse a subquery, where one would begin."""
    if is_subquery(reader):
        raise reader.error(NO_SUBQUERIES, reader.now)


def is_subquery(reader: TokenReader) -> bool:
    """Tell whether a subquery begins here."""
    return reader.now.key in ("SELECT", "WITH", "FROM", "VALUES") and reader.look_ahead().kind != "sign"


def _cast(reader: TokenReader, boolean: Boolean, start: int, *, safe: bool = False) -> Node:
    child = boolean(reader)
    reader.expect("AS", "and a type in CAST")
    type = read_cast_type(reader)
    reader.expect(")", "to close CAST")
    return Cast(reader.span(start), child, type, safe)


def _try_cast(reader: TokenReader, boolean: Boolean, start: int) -> Node:
    return _cast(reader, boolean, start, safe=True)


def _trim(reader: TokenReader, boolean: Boolean, start: int) -> Node:
    is_column = reader.look_ahead().key in (".", ",", ")")
    side = None if is_column else reader.accept_any(frozenset({"BOTH", "LEADING", "TRAILING"}))
    args = [] if side and reader.now.key == "FROM" else [boolean(reader)]
    if reader.accept("FROM") or reader.accept(","):
        args.insert(0, boolean(reader))
    reader.expect(")", "to close TRIM")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side or "", "trim")
    return Call(reader.span(start), name, tuple(args))


def _side_trim(name: str) -> Callable[[TokenReader, Boolean, int], Node]:
    def rule(reader: TokenReader, boolean: Boolean, start: int) -> Node:
        args = reader.read_list(boolean)
        reader.expect(")", f"to close {name.upper()}")
        if len(args) > 2:
            raise miswritten(reader, name.upper(), start)
        return Call(reader.span(start), name, tuple(reversed(args)))

    return rule


def _substring(reader: TokenReader, boolean: Boolean, start: int) -> Node:
    args, marks = [boolean(reader)], [("FROM", "FOR"), (",", ",")][reader.now.key == ","]
    args += [boolean(reader) for mark in marks if reader.accept(mark)]
    reader.expect(")", "to close SUBSTRING")
    if len(args) == 1:
        raise miswritten(reader, "SUBSTRING", start)
    return Call(reader.span(start), "substring", tuple(args))


def _extract(reader: TokenReader, boolean: Boolean, start: int) -> Node:
    name = names.part(reader.now, reader)
    reader.expect("FROM", "after the field of EXTRACT")
    child = boolean(reader)
    reader.expect(")", "to close EXTRACT")
    return Call(reader.span(start), name, (child,))


def miswritten(reader: TokenReader, name: str, start: int) -> QueryError:
    """Build the error for a function with a grammar of its own."""
    return reader.error(f"expected {_WRITTEN[name]}", reader.span(start))


def _exists(reader: TokenReader, _: Boolean, start: int) -> Node:
    if is_subquery(reader):
        raise reader.error(NO_SUBQUERIES, reader.span(start))
    raise reader.beyond("lambda functions are not supported", reader.span(start))


SPECIAL: dict[str, Callable[[TokenReader, Boolean, int], Node]] = {
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


def refuse_setting(reader: TokenReader, token: Token) -> None:
    """Refuse the name of a setting: Spark puts its value there before it reads the text, whatever the quotes."""
    if "${" in token.text:
        raise reader.beyond('a text with "${" is not supported', token)


def unquote(reader: TokenReader) -> str:
    """Read one string, without its quotes and escapes."""
    token = reader.take()
    refuse_setting(reader, token)
    try:
        return literals.string(token.text)
    except ValueError as reason:
        raise reader.error(str(reason), token) from None


def typed_literal(reader: TokenReader) -> Node:
    """Read `DATE '...'` and its kin.

    A timestamp without a zone means the session's zone, which only the columns tell: it stays a cast till then.
    """
    word = reader.take()
    start, body = word.start, reader.now
    text = unquote(reader)
    span = reader.span(start)
    try:
        if word.key == "DATE":
            return Literal(span, literals.date(text), DATE)
        if word.key == "TIMESTAMP_NTZ":
            return Literal(span, literals.timestamp(text)[0], TIMESTAMP_NTZ)
        if word.key in ("TIMESTAMP", "TIMESTAMP_LTZ"):
            literals.timestamp(text)
            return Cast(span, Literal(span, text, pa.string()), TIMESTAMP, safe=False)
    except ValueError as reason:
        raise reader.error(str(reason), body) from None
    except Unlike as reason:
        raise reader.beyond(str(reason), body) from None
    raise reader.error("expected DATE, TIMESTAMP, TIMESTAMP_NTZ or INTERVAL before a string", word)


def interval(reader: TokenReader) -> Literal:
    """Read an interval, in nearly all of Spark's spellings."""
    start = reader.take().start
    # INTERVAL '1:30' MINUTE TO SECOND: a length of time cannot be left to Spark, and a condition can.
    if reader.look_ahead(3 if reader.now.key in ("-", "+") else 2).key == "TO":
        raise reader.beyond(UNIT_TO_UNIT, reader.span(start))
    micros, whole = read_interval(reader, start)
    return Literal(reader.span(start), micros, DURATION, whole_days=whole)


def read_interval(reader: TokenReader, start: int) -> tuple[int, bool]:
    """Read what follows the word INTERVAL: microseconds, and "only days"."""
    try:
        micros, whole = _interval(reader)
    except ValueError as reason:
        raise reader.error(str(reason), reader.span(start)) from None
    if not -(1 << 63) <= micros < 1 << 63:
        raise reader.error("the interval does not fit 64 bits of microseconds", reader.span(start))
    return micros, whole


def _interval(reader: TokenReader) -> tuple[int, bool]:
    after = reader.look_ahead()
    if reader.now.is_text and (after.kind != "word" or intervals.unit(after.text) is None):
        return intervals.read_units(literals.string(reader.take().text))
    total, whole, first = 0, True, True
    while first or _continues(reader):
        micros, days = _part(reader)
        total, whole, first = total + micros, whole and days, False
    return total, whole


def _continues(reader: TokenReader) -> bool:
    at = 1 if reader.now.key in ("-", "+") else 0
    amount, after = reader.look_ahead(at), reader.look_ahead(at + 1).text
    return (amount.kind == "number" or amount.is_text) and after.upper().removesuffix("S") in intervals.UNITS


def _part(reader: TokenReader) -> tuple[int, bool]:
    sign = reader.accept("-") or reader.accept("+") or ""
    token = reader.take()
    text = literals.string(token.text) if token.is_text else token.text
    name = intervals.unit(reader.now.text) if reader.now.kind == "word" else None
    if name is None:
        raise reader.stuck("expected a unit of time, from MICROSECONDS to WEEKS")
    reader.take()
    if reader.now.key == "TO":
        raise ValueError(UNIT_TO_UNIT)
    micros = intervals.amount(text, name)
    return (-micros if sign == "-" else micros), name in ("DAY", "WEEK")
