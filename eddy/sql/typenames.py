"""The names of types as one writes them in CAST."""

from __future__ import annotations

import pyarrow as pa

from eddy.sql.reader import Reader
from eddy.sql.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    FLOAT,
    INT,
    MAX_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
)

DECIMAL = ("DECIMAL", "DEC", "NUMERIC")
_TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": BOOLEAN,
    "BYTE": TINYINT,
    "TINYINT": TINYINT,
    "SHORT": SMALLINT,
    "SMALLINT": SMALLINT,
    "INT": INT,
    "INTEGER": INT,
    "LONG": BIGINT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
}


def read_type(reader: Reader) -> pa.DataType:
    """Read the name of a type."""
    token = reader.take()
    if token.key in DECIMAL:
        return _decimal(reader, token.start)
    if token.key == "INTERVAL":
        return _interval(reader)
    if token.key not in _TYPES:
        known = [name.lower() for name in (*_TYPES, "DECIMAL", "INTERVAL")]
        raise reader.unknown("type", token.text, known, token)
    return _TYPES[token.key]


def _decimal(reader: Reader, start: int) -> pa.DataType:
    if reader.accept("(") is None:
        return pa.decimal128(10, 0)
    precision, scale = _digits(reader), _digits(reader) if reader.accept(",") else 0
    reader.expect(")", "to close the type")
    if not 1 <= precision <= MAX_DIGITS or scale > precision:
        message = f"a decimal has 1 to {MAX_DIGITS} digits, and at most as many after the point"
        raise reader.error(message, reader.span(start))
    return pa.decimal128(precision, scale)


def _digits(reader: Reader) -> int:
    text = reader.now.text
    if not (text.isascii() and text.isdecimal()):
        raise reader.stuck("expected a number of digits")
    reader.take()
    significant = text.lstrip("0") or "0"
    # Python refuses to read thousands of digits; more than two are too many in any case.
    return int(significant) if len(significant) <= len(str(MAX_DIGITS)) else MAX_DIGITS + 1


def _interval(reader: Reader) -> pa.DataType:
    if not reader.accept("DAY", "TO", "SECOND"):
        raise reader.stuck("the only interval type to cast to is INTERVAL DAY TO SECOND; expected it")
    return DURATION
