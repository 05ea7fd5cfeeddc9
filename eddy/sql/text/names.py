"""Names of functions, parts of times, and types.

A function has one name in the tree, whatever the text calls it; the number of its arguments is checked here.
"""

from __future__ import annotations

import pyarrow as pa

from eddy.sql.bind.binder import FUNCTIONS
from eddy.sql.text.reader import Token, TokenReader
from eddy.sql.text.spark_functions import SPARK_FUNCTIONS
from eddy.sql.values.types import (
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

ALIASES = {
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "lcase": "lower",
    "ucase": "upper",
    "ceiling": "ceil",
    "mod": "%",
    "dayofmonth": "day",
    "btrim": "trim",
    "regexp": "rlike",
    "regexp_like": "rlike",
}
# Spark has a function for each of these types, which casts to it.
CASTS: dict[str, pa.DataType] = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "decimal": pa.decimal128(10, 0),
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
}
_COUNTS = {**{name: function.counts for name, function in FUNCTIONS.items()}, **dict.fromkeys(CASTS, (1, 1))}
_ALIAS_COUNTS = {"nvl": (2, 2), "ifnull": (2, 2)}
_AGGREGATES = frozenset(
    "any any_value approx_count_distinct array_agg avg bool_and bool_or collect_list collect_set corr count count_if "
    "every first first_value last last_value max max_by mean median min min_by mode percentile some std stddev sum "
    "variance".split()
)
_WINDOWS = frozenset("cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number".split())
_PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "DAYOFWEEK": "dayofweek",
    "HOUR": "hour",
    "MINUTE": "minute",
}
# The second of EXTRACT has a fraction, which that of SECOND has not.
_BEYOND_PARTS = frozenset({"SECOND", "YEAROFWEEK", "WEEK", "DOY", "DOW", "DAYOFWEEK_ISO", "DOW_ISO"})
_ANY = 1_000_000
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
_BEYOND_TYPES = frozenset({"ARRAY", "MAP", "STRUCT", "CHAR", "CHARACTER", "VARCHAR", "VARIANT", "TIME", "VOID"})

_IN_PYTHON = "; one in Python is a filter of its own, or in a statement one of functions= or of a job's [functions]"


def resolve(token: Token, reader: TokenReader) -> str:
    """Find the one name of a function, or say what is known."""
    name = token.text.lower()
    if name in reader.elsewhere:
        raise reader.error(reader.elsewhere[name], token)
    if name in _AGGREGATES:
        raise reader.error(f'"{name}" is an aggregate function; an expression looks at one row at a time', token)
    if name in _WINDOWS:
        raise reader.error(f'"{name}" is a window function; an expression looks at one row at a time', token)
    if name in SPARK_FUNCTIONS:
        raise reader.beyond(f'the function "{name}" is not supported', token)
    if name not in _COUNTS and name not in ALIASES:
        known = [*_known(), *reader.functions]
        raise reader.unknown("function", name, known, token, unlisted=SPARK_FUNCTIONS, hint=_IN_PYTHON)
    return ALIASES.get(name, name)


def _known() -> list[str]:
    written = [name for name in FUNCTIONS if name.isidentifier()]
    return [*written, *ALIASES, *CASTS, "cast", "try_cast", "substr", "extract"]


def check_count(token: Token, got: int, name: str, reader: TokenReader) -> None:
    """Refuse a call with too few or too many arguments."""
    low, high = _ALIAS_COUNTS.get(token.text.lower(), _COUNTS[name])
    if low <= got <= (_ANY if high is None else high):
        return
    takes = f"{low}" if high == low else f"at least {low}" if high is None else f"{low} to {high}"
    noun = "argument" if takes == "1" else "arguments"
    raise reader.error(f'"{token.text.lower()}" takes {takes} {noun}, got {got}', token)


def part(token: Token, reader: TokenReader) -> str:
    """Read the field that EXTRACT takes from a time."""
    if token.key in _BEYOND_PARTS:
        raise reader.beyond(f'the field "{token.text.lower()}" of EXTRACT is not supported', token)
    if token.key not in _PARTS:
        raise reader.unknown("field", token.text.lower(), map(str.lower, _PARTS), token)
    return _PARTS[reader.take().key]


def read_cast_type(reader: TokenReader) -> pa.DataType:
    """Read the type that a cast names; Spark casts to more of them."""
    if reader.now.key in _BEYOND_TYPES:
        raise reader.beyond(f'a cast to the type "{reader.now.text.lower()}" is not supported', reader.now)
    return read_type(reader)


def read_type(reader: TokenReader) -> pa.DataType:
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


def _decimal(reader: TokenReader, start: int) -> pa.DataType:
    if reader.accept("(") is None:
        return pa.decimal128(10, 0)
    precision, scale = _digits(reader), _digits(reader) if reader.accept(",") else 0
    reader.expect(")", "to close the type")
    if not 1 <= precision <= MAX_DIGITS or scale > precision:
        message = f"a decimal has 1 to {MAX_DIGITS} digits, and at most as many after the point"
        raise reader.error(message, reader.span(start))
    return pa.decimal128(precision, scale)


def _digits(reader: TokenReader) -> int:
    text = reader.now.text
    if not (text.isascii() and text.isdecimal()):
        raise reader.stuck("expected a number of digits")
    reader.take()
    significant = text.lstrip("0") or "0"
    # Python refuses to read thousands of digits; more than two are too many in any case.
    return int(significant) if len(significant) <= len(str(MAX_DIGITS)) else MAX_DIGITS + 1


def _interval(reader: TokenReader) -> pa.DataType:
    if not reader.accept("DAY", "TO", "SECOND"):
        raise reader.stuck("the only interval type to cast to is INTERVAL DAY TO SECOND; expected it")
    return DURATION
