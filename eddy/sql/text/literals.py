"""The values of literals: strings, numbers, dates, times.

Each function gives a literal's value and type, or raises `ValueError` with the reason.
"""

from __future__ import annotations

import re
import sys
from decimal import Decimal

import pyarrow as pa

from eddy.sql.kernels.decimals import WIDE_CONTEXT
from eddy.sql.values import calendar
from eddy.sql.values.types import MAX_DIGITS

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([0-3][0-7]{2})|\\(.)", re.DOTALL)
_CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_NUMBER = re.compile(r"(?P<digits>[\d.]+(?P<exponent>e[+-]?\d+)?)(?P<suffix>[a-z]*)", re.IGNORECASE)
# A power of ten with more digits than this is far from any decimal of ours.
_FAR = 1_000
_INTEGERS = {"L": pa.int64(), "S": pa.int16(), "Y": pa.int8()}
_FLOATS = {"D": pa.float64(), "F": pa.float32()}


def string(text: str) -> str:
    r"""Read a quoted string with Spark's backslash escapes.

    >>> string("'it''s'"), string(r"'a\tb\%'")
    ("it's", 'a\tb\\%')
    """
    quote, body = text[0], text[1:-1]
    if quote in "rR":
        return text[2:-1]
    return _pair(_ESCAPE.sub(_unescape, body.replace(quote * 2, quote)))


def _pair(text: str) -> str:
    """Join the halves of characters, as Java does.

    A half alone becomes `?`.
    """
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "replace").decode("utf-8")


def _unescape(match: re.Match[str]) -> str:
    short, long, octal, other = match.groups()
    if short or long or octal:
        code = int(octal, 8) if octal else int(short or long, 16)
        if code > sys.maxunicode:
            raise ValueError(f"there is no character {match.group()}; the last is \\U{sys.maxunicode:08X}")
        return chr(code)
    return "\\" + other if other in "%_" else _CONTROL.get(other, str(other))


def number(text: str, *, negative: bool) -> tuple[object, pa.DataType]:
    """Read a number; its spelling and suffix give the type.

    >>> number("1.50", negative=True), number("3000000000", negative=False)[1]
    ((Decimal('-1.50'), Decimal128Type(decimal128(3, 2))), DataType(int64))
    """
    match = _NUMBER.fullmatch(text)
    assert match is not None, "the lexer lets nothing else through"
    digits, suffix = ("-" if negative else "") + match["digits"], match["suffix"].upper()
    if suffix in _FLOATS or (match["exponent"] and suffix != "BD"):
        return _floating(digits, _FLOATS.get(suffix, pa.float64()))
    if suffix == "BD" or "." in digits:
        return _decimal(digits)
    return _integer(digits, suffix)


def _floating(digits: str, type: pa.DataType) -> tuple[object, pa.DataType]:
    value = pa.scalar(float(digits)).cast(type).as_py()
    if value in (float("inf"), float("-inf")):
        raise ValueError(f'the number {digits} is too large for the type "{type}"')
    return value, type


def _decimal(digits: str) -> tuple[object, pa.DataType]:
    _, _, power = digits.lower().partition("e")
    if len(power.lstrip("+-0")) > len(str(_FAR)):
        raise ValueError(f"the number {digits} has too large an exponent; a decimal has at most {MAX_DIGITS} digits")
    value = Decimal(digits)
    _, figures, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(figures) + max(0, int(exponent)), scale)
    if precision > MAX_DIGITS:
        raise ValueError(f"the number {digits} has {precision} digits; a decimal has at most {MAX_DIGITS}")
    return value.quantize(Decimal(1).scaleb(-scale), context=WIDE_CONTEXT), pa.decimal128(precision, scale)


def _integer(digits: str, suffix: str) -> tuple[object, pa.DataType]:
    significant = digits.lstrip("-0") or "0"
    if len(significant) > MAX_DIGITS:
        # Python's integers refuse to read thousands of digits.
        return _decimal(digits)
    value = -int(significant) if digits[0] == "-" else int(significant)
    for type in [_INTEGERS[suffix]] if suffix else [pa.int32(), pa.int64()]:
        if -(1 << (type.bit_width - 1)) <= value < 1 << (type.bit_width - 1):
            return value, type
    if suffix:
        raise ValueError(f'the number {digits} does not fit the type that its suffix "{suffix}" names')
    return _decimal(digits)


def date(text: str) -> int:
    """Read the text of a DATE literal as days since 1970."""
    days = calendar.days_of(text)
    if days is None:
        raise ValueError(f"'{text}' is not a date; expected a text such as '2024-01-31'")
    return days


def timestamp(text: str) -> tuple[int, str | None]:
    """Read the text of a TIMESTAMP literal: microseconds, zone."""
    read = calendar.micros_of(text)
    if read is None:
        raise ValueError(f"'{text}' is not a timestamp; expected a text such as '2024-01-31 12:30:00'")
    return read
