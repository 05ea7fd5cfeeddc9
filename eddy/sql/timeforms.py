"""Literals with a word before the text: DATE, TIMESTAMP, INTERVAL."""

from __future__ import annotations

import pyarrow as pa

from eddy.sql import intervals, literals
from eddy.sql.reader import Reader
from eddy.sql.tree import Cast, Literal, Node
from eddy.sql.types import DATE, DURATION, TIMESTAMP, TIMESTAMP_NTZ

_STRINGS = ("string", "raw")


def unquoted(reader: Reader) -> str:
    """Read one string, without its quotes and escapes."""
    token = reader.take()
    try:
        return literals.string(token.text)
    except ValueError as reason:
        raise reader.error(str(reason), token) from None


def typed(reader: Reader) -> Node:
    """Read `DATE '...'` and its kin.

    A timestamp without a zone means the session's zone, which only the columns tell: it stays a cast till then.
    """
    word = reader.take()
    start, body = word.start, reader.now
    text = unquoted(reader)
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
    raise reader.error("expected DATE, TIMESTAMP, TIMESTAMP_NTZ or INTERVAL before a string", word)


def interval(reader: Reader) -> Node:
    """Read an interval, in any of Spark's spellings."""
    start = reader.take().start
    try:
        micros, whole = _interval(reader)
    except ValueError as reason:
        raise reader.error(str(reason), reader.span(start)) from None
    if not -(1 << 63) <= micros < 1 << 63:
        raise reader.error("the interval does not fit 64 bits of microseconds", reader.span(start))
    return Literal(reader.span(start), micros, DURATION, whole_days=whole)


def _interval(reader: Reader) -> tuple[int, bool]:
    if reader.now.kind in _STRINGS and reader.ahead().kind != "word":
        return intervals.listed(literals.string(reader.take().text))
    if reader.now.kind in _STRINGS and intervals.unit(reader.ahead().text) is None:
        return intervals.listed(literals.string(reader.take().text))
    total, whole, first = 0, True, True
    while first or _continues(reader):
        micros, days = _part(reader)
        total, whole, first = total + micros, whole and days, False
    return total, whole


def _continues(reader: Reader) -> bool:
    at = 1 if reader.now.key in ("-", "+") else 0
    after = reader.ahead(at + 1).text
    return reader.ahead(at).kind in ("number", *_STRINGS) and after.upper().removesuffix("S") in intervals.UNITS


def _part(reader: Reader) -> tuple[int, bool]:
    sign = reader.accept("-") or reader.accept("+") or ""
    token = reader.take()
    text = literals.string(token.text) if token.kind in _STRINGS else token.text
    name = intervals.unit(reader.now.text) if reader.now.kind == "word" else None
    if name is None:
        raise reader.stuck("expected a unit of time, from MICROSECONDS to WEEKS")
    reader.take()
    if reader.accept("TO"):
        last = intervals.unit(reader.take().text) or ""
        micros = intervals.span(text, name, last)
        return (-micros if sign == "-" else micros), False
    micros = intervals.amount(text, name)
    return (-micros if sign == "-" else micros), name in ("DAY", "WEEK")
