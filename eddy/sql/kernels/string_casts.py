"""Values to strings and back, as CAST does it.

Each distinct value is converted once where Arrow has no kernel with Spark's rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from eddy.sql.kernels import time_parts
from eddy.sql.kernels.decimals import quantize
from eddy.sql.values import calendar, types, zones
from eddy.sql.values.arrays import Kernel, Value, map_values
from eddy.sql.values.calendar import BLANKS
from eddy.sql.values.faults import Fault, clock_only, no_text, unreadable
from eddy.sql.values.zone_names import JAVA_BLANKS, offset_of

# The sign, and the digits that count.
_INTEGER = re.compile(r"([+-]?)(?=\d)0*(\d*)", re.ASCII)
_MOST_DIGITS = 19
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_WORDS = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "inf"),
    **dict.fromkeys(("-inf", "-infinity"), "-inf"),
    "nan": "nan",
}
_FLAGS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}


def read(target: pa.DataType) -> Kernel:
    """Give the kernel that reads strings as a type without a zone."""
    parse = _parser(target)

    def one(text: str | None) -> Any:
        return None if text is None else parse(text)

    return map_values(one, target)


def _make_fault(text: str, type: pa.DataType) -> Fault:
    return unreadable(text, types.name(type))


def _parser(target: pa.DataType) -> Callable[[str], Any]:
    if types.is_integer(target):
        return lambda text: _integer(text, target)
    if types.is_floating(target):
        return lambda text: _float(text, target)
    if types.is_decimal(target):
        return lambda text: _decimal(text, target)
    return {types.BOOLEAN: _flag, types.DATE: _date, types.TIMESTAMP_NTZ: _local}[target]


def _integer(text: str, target: pa.DataType) -> int:
    bound = 1 << (target.bit_width - 1)
    match = _INTEGER.fullmatch(text.strip(BLANKS))
    # Python refuses to read thousands of digits.
    if match is not None and len(match[2]) <= _MOST_DIGITS and -bound <= int(match[1] + (match[2] or "0")) < bound:
        return int(match[1] + (match[2] or "0"))
    raise _make_fault(text, target)


def _float(text: str, target: pa.DataType) -> float:
    # Java reads what may have a point, and cuts off other blanks than Spark does.
    body = text.strip(JAVA_BLANKS)
    if body.lower() in _WORDS:
        return float(_WORDS[body.lower()])
    # Java's own parser, which Spark asks, takes the suffixes of its literals.
    body = body[:-1] if body[-1:] in ("d", "D", "f", "F") else body
    # Of the two only decimals may be written in the digits of other scripts.
    if not (body.isascii() and _NUMBER.fullmatch(body)):
        raise _make_fault(text, target)
    return float(body)


def _decimal(text: str, target: pa.DataType) -> Decimal:
    body = text.strip(JAVA_BLANKS)
    match = _NUMBER.fullmatch(body)
    # Java looks at halves of characters, so that a digit which has two is none.
    if match is None or max(body) > "\uffff" or _is_far(match[1], match[2] or "e0"):
        raise _make_fault(text, target)
    exact = types.decimal(target)
    return quantize(Decimal(body), Decimal(1).scaleb(-exact.scale), exact)


def _is_far(digits: str, power: str) -> bool:
    """Tell whether a number is beyond Java's decimals.

    Their scale has 32 bits.
    """
    size = power[1:].lstrip("+-0")
    # Eleven figures are too many whatever they are, and Python refuses to read thousands.
    return len(size) > 10 or abs(len(digits.partition(".")[2]) - int(power[1:])) >= 1 << 31


def _flag(text: str) -> bool:
    flag = _FLAGS.get(text.strip(BLANKS).lower())
    if flag is None:
        raise _make_fault(text, types.BOOLEAN)
    return flag


def _date(text: str) -> int:
    days = calendar.days_of(text)
    if days is None:
        raise _make_fault(text, types.DATE)
    return days


def _local(text: str) -> int:
    read = calendar.micros_of(text)
    if read is None:
        raise _make_fault(text, types.TIMESTAMP_NTZ)
    return read[0]


def read_instants(zone: str) -> Kernel:
    """Give the kernel that reads strings as timestamps."""

    def one(text: str) -> Any:
        read = calendar.micros_of(text)
        if read is None:
            raise clock_only(text) if calendar.is_clock(text) else _make_fault(text, types.TIMESTAMP)
        micros, named = read
        offset = offset_of(named or zone)
        if offset is not None:
            micros -= offset
            if not calendar.fits(micros):
                raise _make_fault(text, types.TIMESTAMP)
            return micros
        found = zones.instants(pa.scalar(micros, types.TIMESTAMP_NTZ), named or zone)
        return found.cast(types.BIGINT).as_py()

    convert = map_values(lambda text: None if text is None else one(text), types.BIGINT)
    return lambda value: convert(value).cast(pa.timestamp("us", zone))


def write(source: pa.DataType) -> Kernel:
    """Give the kernel that writes values of a type without a zone."""
    if types.is_time(source):
        return time_parts.times
    if source == types.DATE:
        return time_parts.dates
    if types.is_decimal(source):
        return _decimals
    return _decode if source == types.BINARY else lambda value: value.cast(types.STRING)


def _decode(value: Value) -> Value:
    """Read bytes as text.

    Unlike in Spark, they are never anything but UTF-8 here.
    """
    try:
        return value.cast(types.STRING)
    except pa.ArrowInvalid:
        raise no_text() from None


def write_instants(zone: str) -> Kernel:
    """Give the kernel that writes timestamps as strings."""
    return lambda value: time_parts.times(zones.localize(value, zone))


_decimals = map_values(lambda number: None if number is None else format(number, "f"), types.STRING)
