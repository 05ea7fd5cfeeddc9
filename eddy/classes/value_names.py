"""Values and ranges of values as short texts, for reports."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.classes.cuts import decode_floats, has_fractions
from eddy.errors import clip

NULL, ANY, OTHERS = "null", "any", "others"
"""Names of buckets that no value names: nulls, all values alike, and all values without a bucket of their own."""

LONGEST_VALUE = 24
"""Characters of a value that are shown: a report is read in columns."""

RANGE_DIGITS = 3
"""Digits of a range's width that its ends are written with: the ends are told apart, and what the eye would skip is
left out."""

VALUE_DIGITS = 6
"""Digits of a number that is shown with an exponent, or stands alone."""

PLAIN_DIGITS = 15
"""Digits before the point and after it from which on a number is written with an exponent."""

TICK_SECONDS: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""The length of a tick of a time column."""

UNIT_SECONDS: Mapping[str, float] = {"D": 86_400.0, "m": 60.0, **TICK_SECONDS}
"""Units to which the ends of a range of moments may be cut, and their lengths in seconds."""

SHORTEST_RANGE = 10
"""Units that a range must be long to be cut to them: then its ends are told apart, and so are its neighbours'."""


def value_text(value: Any) -> str:
    """Write a value for a report, cut if it is long.

    It is quoted where it could be taken for something else.

    >>> [value_text(value) for value in (7, True, "Paris", "null", "", b"ab", "a" * 99)]
    ['7', 'true', 'Paris', '"null"', '""', '0x6162', 'aaaaaaaaaaaaaaaaaaaaaaa…']
    """
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return clip(f"0x{value[:LONGEST_VALUE].hex()}", LONGEST_VALUE)
    text = str(value)
    if not isinstance(value, str):
        return clip(text, LONGEST_VALUE)
    shown = clip(text if text[:LONGEST_VALUE].isprintable() else ascii(text[:LONGEST_VALUE])[1:-1], LONGEST_VALUE)
    return f'"{shown}"' if shown in ("", NULL, ANY, OTHERS) or shown != shown.strip() else shown


def range_text(low: float, high: float, data_type: pa.DataType) -> str:
    """Write the range from one number up to another.

    Times are written in their own units.

    >>> range_text(12.5, 25.0, pa.float64()), range_text(83.25, 125.0, pa.int64())
    ('12.5..25', '84..124')
    >>> range_text(0.0, 5e9, pa.timestamp("us"))
    '1970-01-01T00:00..1970-01-01T01:23'
    """
    if pa.types.is_timestamp(data_type):
        return _moment_range(low, high, data_type.unit)
    if pa.types.is_integer(data_type) or pa.types.is_date32(data_type):
        first, last = math.ceil(low), max(math.ceil(high) - 1, math.ceil(low))
        ends = [np.datetime64(end, "D") if pa.types.is_date32(data_type) else end for end in (first, last)]
        return _join_ends(str(ends[0]), str(ends[1]))
    if pa.types.is_duration(data_type):
        scale = TICK_SECONDS[data_type.unit]
        return f"{_number_range(low * scale, high * scale)} s"
    return _number_range(low, high)


def code_text(code: int, data_type: pa.DataType) -> str:
    """Write the value that has a code, where the code tells it.

    >>> code_text(1, pa.bool_()), code_text(-7, pa.int64()), code_text(-(2**63), pa.uint64()), code_text(0, pa.date32())
    ('true', '-7', '0', '1970-01-01')
    """
    if pa.types.is_boolean(data_type):
        return value_text(bool(code))
    return codes_text([code, code + 1], 1, data_type)


def codes_text(edges: Sequence[int], bucket: int, data_type: pa.DataType) -> str:
    """Write one of the ranges between the codes of some edges; the outer ones are open.

    >>> edges = [10, 20, 21]
    >>> [codes_text(edges, bucket, pa.int64()) for bucket in range(4)]
    ['..9', '10..19', '20', '21..']
    """
    numbers = _decode(edges, data_type)
    low = numbers[bucket - 1] if bucket else -math.inf
    high = numbers[bucket] if bucket < len(numbers) and not math.isnan(numbers[bucket]) else math.inf
    if math.isnan(low):
        return "NaN"
    if bucket and (math.isinf(low) or (bucket < len(edges) and edges[bucket] == edges[bucket - 1] + 1)):
        return _single_text(low, data_type)
    low = low if low > -sys.float_info.max else -math.inf
    if math.isinf(low) and math.isinf(high):
        return ANY
    unit = " s" if pa.types.is_duration(data_type) else ""
    if math.isinf(low):
        return f"..{_end_text(high, numbers, data_type, is_low=False)}{unit}"
    if math.isinf(high):
        return f"{_end_text(low, numbers, data_type, is_low=True)}..{unit}"
    return range_text(low, high, data_type)


def _decode(edges: Sequence[int], data_type: pa.DataType) -> list[Any]:
    """Give the numbers that some codes stand for."""
    if has_fractions(data_type):
        return list(decode_floats(np.array(edges, np.int64)).tolist())
    return [edge + 2**63 for edge in edges] if pa.types.is_uint64(data_type) else list(edges)


def _single_text(number: float, data_type: pa.DataType) -> str:
    if pa.types.is_timestamp(data_type):
        return str(np.array(int(number)).astype(f"datetime64[{data_type.unit}]"))
    if pa.types.is_integer(data_type):
        return str(int(number))
    return range_text(number, number, data_type)


def _end_text(edge: Any, edges: Sequence[Any], data_type: pa.DataType, *, is_low: bool) -> str:
    """Write the end of an open range, as finely as the edges are apart."""
    width = min((abs(edge - other) for other in edges if math.isfinite(other) and other != edge), default=1)
    low, high = (edge, edge + width) if is_low else (edge - width, edge)
    if pa.types.is_timestamp(data_type):
        low, high = max(low, 1 - 2**63), min(high, 2**63 - 1)
    ends = range_text(low, high, data_type)
    return ends.split("..")[0 if is_low else -1].removesuffix(" s")


def _number_range(low: float, high: float) -> str:
    if high <= low:
        return f"{low:.{VALUE_DIGITS}g}"
    # The width of the widest ranges is beyond all floats.
    decimals = RANGE_DIGITS - 1 - math.floor(math.log10(min(high - low, sys.float_info.max)))
    if decimals > PLAIN_DIGITS or max(abs(low), abs(high)) >= 10.0**PLAIN_DIGITS:
        return _join_ends(f"{low:.{VALUE_DIGITS}g}", f"{high:.{VALUE_DIGITS}g}")
    ends = (f"{round(end, decimals) + 0.0:.{max(decimals, 0)}f}" for end in (low, high))
    return _join_ends(*(end.rstrip("0").rstrip(".") if "." in end else end for end in ends))


def _join_ends(low: str, high: str) -> str:
    return low if low == high else f"{low}..{high}"


def _moment_range(low: float, high: float, unit: str) -> str:
    seconds = (high - low) * TICK_SECONDS[unit]
    coarse = next((name for name, least in UNIT_SECONDS.items() if seconds >= SHORTEST_RANGE * least), unit)
    ends = np.array([int(low), int(high)]).astype(f"datetime64[{unit}]").astype(f"datetime64[{coarse}]")
    return _join_ends(*ends.astype(str).tolist())
