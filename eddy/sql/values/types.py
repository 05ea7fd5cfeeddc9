"""The types of values, and the types that they widen to.

Arrow has many spellings of one type; an expression knows one Arrow type for each type of Spark. A timestamp with a
zone is Spark's TIMESTAMP, and its zone is the session's; one without is TIMESTAMP_NTZ; a duration is an interval.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TypeGuard

import pyarrow as pa
from pyarrow import types as is_

NULL, BOOLEAN, STRING, BINARY, DATE = pa.null(), pa.bool_(), pa.string(), pa.binary(), pa.date32()
TINYINT, SMALLINT, INT, BIGINT = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
TIMESTAMP, TIMESTAMP_NTZ, DURATION = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.duration("us")
MAX_DIGITS = 38
# A wide product or quotient gives up digits after the point, but never more than leave it these.
MIN_SCALE = 6

_PLAIN = {
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): FLOAT,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.large_binary(): BINARY,
    pa.date64(): DATE,
}
_NAMES = {
    NULL: "null",
    BOOLEAN: "boolean",
    STRING: "string",
    BINARY: "binary",
    DATE: "date",
    TINYINT: "tinyint",
    SMALLINT: "smallint",
    INT: "int",
    BIGINT: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
    TIMESTAMP_NTZ: "timestamp_ntz",
    DURATION: "interval day to second",
}
_DECIMALS = (pa.Decimal32Type, pa.Decimal64Type, pa.Decimal128Type, pa.Decimal256Type)
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
_ORDER = (TINYINT, SMALLINT, INT, BIGINT)


def logical(type: pa.DataType) -> pa.DataType:
    """Find the one Arrow type that stands for such values.

    >>> logical(pa.dictionary(pa.int8(), pa.large_string())), logical(pa.timestamp("ns"))
    (DataType(string), TimestampType(timestamp[us]))
    """
    # An extension that is written in Python has no hash; what it stores always has one.
    inner = storage_type(type)
    return _logical(type) if inner is None else logical(inner)


def storage_type(type: pa.DataType) -> pa.DataType | None:
    """Give the type in which an extension stores its values.

    >>> storage_type(pa.uuid()), storage_type(pa.int8())
    (FixedSizeBinaryType(fixed_size_binary[16]), None)
    """
    found: pa.DataType | None = getattr(type, "storage_type", None)
    return found


@functools.lru_cache(maxsize=1024)
def _logical(type: pa.DataType) -> pa.DataType:
    if isinstance(type, pa.DictionaryType):
        return logical(type.value_type)
    if isinstance(type, pa.TimestampType):
        return pa.timestamp("us", type.tz)
    if is_.is_duration(type):
        return DURATION
    if isinstance(type, _DECIMALS) and type.scale <= type.precision - min(type.scale, 0) <= MAX_DIGITS:
        return pa.decimal128(type.precision - min(type.scale, 0), max(type.scale, 0))
    return BINARY if is_.is_fixed_size_binary(type) or is_.is_binary_view(type) else _PLAIN.get(type, type)


def name(type: pa.DataType) -> str:
    """Name a type as Spark does.

    >>> name(pa.timestamp("us", "UTC")), name(pa.decimal128(7, 2)), name(pa.int64())
    ('timestamp', 'decimal(7,2)', 'bigint')
    """
    if is_timestamp(type):
        return "timestamp"
    if is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    return _NAMES.get(type, str(type))


def names(kinds: Iterable[pa.DataType]) -> str:
    """Name types as an error says what it got.

    >>> names([pa.int64(), pa.string()])
    '"bigint" and "string"'
    """
    return " and ".join(f'"{name(kind)}"' for kind in kinds)


def is_timestamp(type: pa.DataType) -> TypeGuard[pa.TimestampType]:
    """Tell whether it is a timestamp with a zone."""
    return isinstance(type, pa.TimestampType) and type.tz is not None


def is_time(type: pa.DataType) -> TypeGuard[pa.TimestampType]:
    """Tell whether it is a timestamp of either kind."""
    return isinstance(type, pa.TimestampType)


def is_temporal(type: pa.DataType) -> bool:
    """Tell whether it is a date or a timestamp of either kind."""
    return type == DATE or is_time(type)


def is_decimal(type: pa.DataType) -> TypeGuard[pa.Decimal128Type]:
    """Tell whether it is a decimal."""
    return isinstance(type, pa.Decimal128Type)


def is_integer(type: pa.DataType) -> bool:
    """Tell whether it is one of the four whole types."""
    return type in _DIGITS


def is_floating(type: pa.DataType) -> bool:
    """Tell whether it is a float or a double."""
    return type in (FLOAT, DOUBLE)


def is_numeric(type: pa.DataType) -> bool:
    """Tell whether it is any number."""
    return is_integer(type) or is_floating(type) or is_decimal(type)


def is_plain(type: pa.DataType) -> bool:
    """Tell whether expressions can compare and convert it."""
    return type in _NAMES or is_timestamp(type) or is_decimal(type)


def decimal(type: pa.DataType) -> pa.Decimal128Type:
    """Demand a decimal."""
    assert is_decimal(type), f"{type} is no decimal"
    return type


def as_decimal(type: pa.DataType, digits: int | None = None) -> pa.Decimal128Type:
    """Give the decimal that holds a whole number or a decimal."""
    return type if is_decimal(type) else pa.decimal128(digits or _DIGITS[type], 0)


def bound_digits(precision: int, scale: int) -> pa.Decimal128Type:
    """Fit a result of arithmetic into 38 digits, as Spark does.

    >>> bound_digits(61, 20)
    Decimal128Type(decimal128(38, 6))
    """
    if precision <= MAX_DIGITS:
        return pa.decimal128(precision, scale)
    return pa.decimal128(MAX_DIGITS, max(MAX_DIGITS - (precision - scale), min(scale, MIN_SCALE)))


def common(left: pa.DataType, right: pa.DataType, *, strings: bool = True) -> pa.DataType | None:
    """Find the type in which Spark compares or unites two types.

    `strings` says whether a string may turn into the other type, as it does nearly everywhere.

    >>> common(pa.int32(), pa.float32()), common(pa.string(), pa.int8()), common(pa.bool_(), pa.int8())
    (DataType(double), DataType(int64), None)
    """
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if STRING in (left, right):
        return _from_string(right if left == STRING else left) if strings else None
    if is_numeric(left) and is_numeric(right):
        return _wider_number(left, right)
    return _wider_time(left, right)


def _from_string(other: pa.DataType) -> pa.DataType | None:
    if is_integer(other):
        return BIGINT
    if is_numeric(other):
        return DOUBLE
    return other if is_plain(other) and other != DURATION else None


def _wider_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if is_floating(left) or is_floating(right):
        return DOUBLE
    if is_integer(left) and is_integer(right):
        return max(left, right, key=_ORDER.index)
    return wider_decimal(as_decimal(left), as_decimal(right))


def wider_decimal(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.Decimal128Type:
    """Find the decimal that holds both, whole digits first."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    lost = max(0, precision - MAX_DIGITS)
    return pa.decimal128(precision - lost, max(0, scale - lost))


def _wider_time(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    kinds = (left, right)
    if not all(is_temporal(kind) for kind in kinds):
        return None
    zoned = [kind for kind in kinds if is_timestamp(kind)]
    return zoned[0] if zoned else TIMESTAMP_NTZ
