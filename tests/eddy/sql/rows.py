"""A small table in which every column holds what usually goes wrong."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from eddy.sql import Column

NAN, INF = float("nan"), float("inf")
_UTC = dt.UTC
_DATES = [
    *(dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(2000, 1, 1), None),
    *(dt.date(1900, 3, 1), dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(1582, 10, 15), dt.date(2038, 1, 19)),
]
_TIMES = [
    *(dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 2, 29, 12, 30, 15, 1)),
    *(
        None,
        dt.datetime(2024, 3, 31, 1, 30),
        dt.datetime(2024, 10, 27, 0, 30),
        dt.datetime(1900, 1, 1, 5, 6, 7, 890000),
    ),
    *(dt.datetime(2000, 1, 1), dt.datetime(2024, 3, 31, 2, 30), dt.datetime(1962, 6, 30, 18, 0, 0, 500)),
]
TABLE = pa.table(
    {
        "b": pa.array([True, False, None, True, False, None, True, True, False, False]),
        "t": pa.array([1, -128, 127, None, 0, 5, -5, 2, 3, 7], pa.int8()),
        "i": pa.array([0, 1, -1, None, 7, 100, -100, 3, 5, 12], pa.int32()),
        "j": pa.array([3, None, 2, 5, 0, -7, 7, 1, -2, 4], pa.int32()),
        "l": pa.array([10, -3, 0, 4, None, 99, 7, 3, -12, 5], pa.int64()),
        "big": pa.array([2**53, 2**53 + 1, -(2**63), 2**63 - 1, None, 0, 1, -1, 2**53 + 1, 2**53 - 1], pa.int64()),
        "f": pa.array([0.0, -0.0, NAN, 1.5, None, INF, -INF, 0.1, 16777216.0, -2.5], pa.float32()),
        "d": pa.array([-0.0, 0.0, NAN, NAN, None, INF, -INF, 0.1, 2.0**53, -2.5], pa.float64()),
        "e": pa.array([1.0, -0.0, NAN, 1.5, 2.5, -INF, None, 0.30000000000000004, 1e-7, 12345678.9], pa.float64()),
        "m": pa.array(
            [
                *map(Decimal, ("0.00", "-0.01", "99999999.99", "1.25", "-2.50", "2.50")),
                None,
                Decimal("3.00"),
                Decimal("7.77"),
                Decimal("-99999999.99"),
            ],
            pa.decimal128(10, 2),
        ),
        "n": pa.array(
            [
                Decimal("1.500"),
                Decimal("-0.005"),
                Decimal("2.500"),
                None,
                Decimal("0.001"),
                Decimal("3.000"),
                Decimal("-1.250"),
                Decimal("9.999"),
                Decimal("7.770"),
                Decimal("5.000"),
            ],
            pa.decimal128(6, 3),
        ),
        "w": pa.array(
            [
                *map(Decimal, ("1", "-1", "12345678901234567890.0123456789", "0.0000000001", "3")),
                None,
                *map(Decimal, ("-7.5", "2", "1000000000000", "0.3333333333")),
            ],
            pa.decimal128(38, 10),
        ),
        "s": pa.array(["", "abc", "100%", "a_c", None, "a\nb", "c:\\dir", "Straße", "ÀÉÎ İ", "日本語 text 🎉"]),
        "u": pa.array(["abc", "ab", "%", "_", "a%b", None, "\\", "SS", "éÉ", "日本"]),
        "k": pa.array([" 12 ", "-7", "0", None, "+5", "99", "3", "007", "1", "42"]),
        "p": pa.array(["%", "a%", "100\\%", "a\\_c", "x", "a_b", "c:%", "%ß_", None, "日__%🎉"]),
        "y": pa.array([b"", b"abc", b"\x00\xff", None, b"ab", b"abc", b"\xff", b"\x7f", b"a", b"z"]),
        "a": pa.array(_DATES),
        "z": pa.array([value and value.replace(tzinfo=_UTC) for value in _TIMES], pa.timestamp("us", "UTC")),
        "x": pa.array([*_TIMES[5:], *_TIMES[:5]], pa.timestamp("us")),
        "v": pa.array(
            [0, 1, -1, 86_400_000_000, None, 3_600_000_000, -86_400_000_001, 5, 60_000_000, 7_000_000],
            pa.duration("us"),
        ),
    }
)
TYPES = {Column(None, name): TABLE.schema.field(name).type for name in TABLE.column_names}


def columns(types: dict[Column, pa.DataType]) -> dict[Column, pa.Array]:
    """Give the columns of the table, in these types."""
    return {column: TABLE[column.name].combine_chunks().cast(kind) for column, kind in types.items()}


def plain(array: Any) -> list[Any]:
    """Values that `==` compares as we mean it: NaN, the sign of zero, and years that Python does not know."""
    if pa.types.is_date32(array.type) or pa.types.is_timestamp(array.type):
        array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    return [(str(value), math.copysign(1, value)) if isinstance(value, float) else value for value in array.to_pylist()]
