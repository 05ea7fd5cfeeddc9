"""Values to strings and back, as CAST does it.

Each distinct value is converted once where Arrow has no kernel with Spark's rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import calendar, types, zones
from eddy.sql.arrays import mapped, on_arrays
from eddy.sql.calendar import BLANKS
from eddy.sql.decimals import quantized
from eddy.sql.faults import Fault, unreadable
from eddy.sql.value import Kernel, Value

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
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
# Java writes numbers from this size on, and below the other, with an exponent.
_LARGE, _SMALL = 1e7, 1e-3


def read(target: pa.DataType) -> Kernel:
    """Give the kernel that reads strings as a type without a zone."""
    parse = _parser(target)

    def one(text: str | None) -> Any:
        return None if text is None else parse(text)

    return mapped(one, target)


def _malformed(text: str, type: pa.DataType) -> Fault:
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
    if _INTEGER.fullmatch(text.strip(BLANKS)) and -bound <= int(text.strip(BLANKS)) < bound:
        return int(text.strip(BLANKS))
    raise _malformed(text, target)


def _float(text: str, target: pa.DataType) -> float:
    body = text.strip(BLANKS)
    if body.lower() in _WORDS:
        return float(_WORDS[body.lower()])
    # Java's own parser, which Spark asks, takes the suffixes of its literals.
    body = body[:-1] if body[-1:] in ("d", "D", "f", "F") else body
    # Of the two only decimals may be written in the digits of other scripts.
    if not (body.isascii() and _NUMBER.fullmatch(body)):
        raise _malformed(text, target)
    return float(body)


def _decimal(text: str, target: pa.DataType) -> Decimal:
    body = text.strip(BLANKS)
    if not _NUMBER.fullmatch(body):
        raise _malformed(text, target)
    exact = types.decimal(target)
    return quantized(Decimal(body), Decimal(1).scaleb(-exact.scale), exact)


def _flag(text: str) -> bool:
    flag = _FLAGS.get(text.strip(BLANKS).lower())
    if flag is None:
        raise _malformed(text, types.BOOLEAN)
    return flag


def _date(text: str) -> int:
    days = calendar.days_of(text)
    if days is None:
        raise _malformed(text, types.DATE)
    return days


def _local(text: str) -> int:
    read = calendar.micros_of(text)
    if read is None:
        raise _malformed(text, types.TIMESTAMP_NTZ)
    return read[0]


def read_instants(zone: str) -> Kernel:
    """Give the kernel that reads strings as timestamps."""

    def one(text: str) -> Any:
        read = calendar.micros_of(text)
        if read is None:
            raise _malformed(text, types.TIMESTAMP)
        micros, named = read
        found = zones.instants(pa.scalar(micros, types.TIMESTAMP_NTZ), named or zone)
        return found.cast(types.BIGINT).as_py()

    convert = mapped(lambda text: None if text is None else one(text), types.BIGINT)
    return lambda value: convert(value).cast(pa.timestamp("us", zone))


def write(source: pa.DataType) -> Kernel:
    """Give the kernel that writes values of a type without a zone."""
    if types.is_floating(source):
        return _floats
    if types.is_time(source):
        return _moments
    if types.is_decimal(source):
        return _decimals
    return lambda value: value.cast(types.STRING)


def write_instants(zone: str) -> Kernel:
    """Give the kernel that writes timestamps as strings."""
    return lambda value: _moments(zones.localize(value, zone))


def _floats(value: Value) -> Value:
    return _respelled(pc.cast(value, types.STRING))


def java_float(text: str) -> str:
    """Spell a number, given with its shortest digits, as Java does.

    >>> java_float("1e+07"), java_float("0.001"), java_float("-12.5")
    ('1.0E7', '0.001', '-12.5')
    """
    value = float(text)
    if not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    sign, digits, exponent = Decimal(text).normalize().as_tuple()
    figures, point = "".join(map(str, digits)), len(digits) + int(exponent)
    minus = "-" if sign else ""
    if value == 0:
        return f"{minus}0.0"
    if _SMALL <= abs(value) < _LARGE:
        padded = figures.ljust(point, "0") if point > 0 else "0" * (1 - point) + figures
        at = max(point, 1)
        return f"{minus}{padded[:at]}.{padded[at:] or '0'}"
    return f"{minus}{figures[0]}.{figures[1:] or '0'}E{point - 1}"


_respelled = mapped(lambda text: None if text is None else java_float(text), types.STRING)


@on_arrays
def _moments(local: pa.Array) -> pa.Array:
    """Write local times, without the zeros at the end of a fraction."""
    texts = pc.strftime(local, format="%Y-%m-%d %H:%M:%S")
    return pc.replace_substring_regex(texts, r"\.?0*$", "") if _has_fraction(texts) else texts


def _has_fraction(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(texts, ".")).as_py())


_decimals = mapped(lambda number: None if number is None else format(number, "f"), types.STRING)
