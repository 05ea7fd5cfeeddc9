"""Values at the limits of their types, and texts nobody would write: right rows, or an error with its place."""

from __future__ import annotations

import datetime as dt
import importlib
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from eddy.errors import QueryError, RowError
from eddy.sql import Column, parse
from eddy.sql.values.zone_names import zone_of

V = Column(None, "v")
NINES = "9" * 5_000
# The second of the first of July of 2040 at noon in UTC.
LATE = 2_224_756_800


def evaluate(text: str, array: pa.Array) -> pa.Array:
    return parse(text, where="here").bind({V: array.type}).evaluate({V: array}, len(array))


def numbers(array: pa.Array) -> list[Any]:
    """Times as numbers, which Python would not know."""
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    return (array.cast(pa.int64()) if pa.types.is_temporal(array.type) else array).to_pylist()


FOUND: list[tuple[str, Any]] = [
    *(
        (rf"'{text}'", value)
        for text, value in ((r"\ud83d\ude00", "😀"), (r"a\ud800b", "a?b"), (r"\ude00\ud83d", "??"))
    ),
    ("try_cast('299999-01-01' as timestamp)", None),
    ("try_cast('299999-01-01' as timestamp_ntz)", None),
    ("timestamp_ntz '294247-01-10 04:00:54.775807'", 2**63 - 1),
    ("timestamp '-290308-12-21 19:59:05.224192'", -(2**63)),
    ("date '5881580-07-11'", 2**31 - 1),
    ("try_cast('5881580-07-12' as date)", None),
    ("date '2020001-01-01' > date '9999-12-31'", True),
    (f"try_cast('{NINES}' as int)", None),
    (f"try_cast('{'0' * 5_000}1' as int)", 1),
    (f"{'0' * 5_000}1", 1),
    (f"try_cast('{NINES}' as decimal(10,2))", None),
    (f"cast('0.{NINES}' as decimal(10,2))", Decimal("1.00")),
    ("try_cast('1e99999999999999999999' as decimal(10,2))", None),
    ("try_cast('1e-99999999999' as decimal(10,2))", None),
    ("try_cast('1e-2147483648' as decimal(10,2))", None),
    ("cast('1e-2147483647' as decimal(10,2))", Decimal("0.00")),
    ("cast('0e999999999' as decimal(10,2))", Decimal("0.00")),
    ("try_cast('\U0001d7d8' as decimal(10,2))", None),
    ("cast('٣' as decimal(10,2))", Decimal("3.00")),
    ("12345678901234567890123456789012.123456", Decimal("12345678901234567890123456789012.123456")),
    ("round(cast(v as double), 1000)", 1.0),
    ("round(cast(v as double), -100000000)", 0.0),
    ("round(v, -100000000)", 0),
    ("round(v * 1.5, -10000000)", Decimal(0)),
    ("round(v * 1.5, 10000000)", Decimal("1.5")),
    ("round(-248.3725F, 3) = -248.372F", True),
    ("try_cast('\x7f1' as int)", 1),
    ("try_cast('\x7f1' as double)", None),
    ("try_cast('\x7f1' as decimal(10,0))", None),
    ("cast('\x7f2020-01-01' as date) = date '2020-01-01'", True),
    ("timestamp '2020-01-01 00:00:00-0130' = timestamp '2020-01-01 01:30:00'", True),
    ("try_cast('2020-01-01 00:00:00+18:30' as timestamp)", None),
    ("try_cast('2020-01-01 00:00:00\u2000' as timestamp)", None),
    ("year(date '40000-01-01')", 40_000),
    ("month(date '-40000-03-01')", 3),
    ("dayofweek(date '40000-01-01')", 7),
    ("hour(timestamp '40000-01-01 05:00:00')", 5),
    ("string(date '10000-01-01')", "+10000-01-01"),
    ("string(date '-0001-01-01')", "-0001-01-01"),
    ("string(timestamp '40000-01-01 00:00:00.5')", "+40000-01-01 00:00:00.5"),
    ("string(timestamp_ntz '-40000-01-01 00:00:00')", "-40000-01-01 00:00:00"),
    ("try_cast(date '300000-01-01' as timestamp)", None),
    ("v = 1 --x\r and v = 2", False),
    ("v = 1 --x\\\n and v = 2\n", True),
    ("v = 1 /* a /* b */ c */", True),
]


@pytest.mark.parametrize(("text", "expected"), FOUND, ids=[ascii(text)[:40] for text, _ in FOUND])
def test_the_right_rows(text: str, expected: Any) -> None:
    assert numbers(evaluate(text, pa.array([1]))) == [expected]


REFUSED = [
    (r"v = '\U00110000'", r"there is no character \U00110000"),
    (r"v = '\Uffffffff'", r"there is no character \Uffffffff"),
    ("timestamp '299999-01-01' is null", "is not a timestamp"),
    (f"cast(v as decimal({NINES}))", "a decimal has 1 to 38 digits"),
    (f"v = {NINES}", "a decimal has at most 38"),
    (f"v = {NINES}L", "a decimal has at most 38"),
    (f"v > interval '{NINES}' days", "does not fit 64 bits"),
    (f"cast('{NINES}' as int)", 'cannot be cast to "int"'),
    ("v = 1e-99999999999999999999BD", "too large an exponent"),
    ("v = 1e99999999999999999999BD", "too large an exponent"),
    ("v = ٣", "unknown column"),
    ("v = 1 /* a /* b */", "the comment that opens here is never closed"),
    ("v = 1 /*+ a */ and v = 1", '"*" is not a value'),
    ("cast(date '300000-01-01' as timestamp)", 'a date does not fit the type "timestamp"'),
    ("date '300000-01-01' = timestamp_ntz '2020-01-01'", 'a date does not fit the type "timestamp"'),
    ("cast(X'FF' as string) = 'a'", "these bytes are no text in UTF-8"),
    ("try_cast(X'FF' as string) = 'a'", "these bytes are no text in UTF-8"),
    ("cast('T12:00' as timestamp) is null", "is a time without a date"),
    ("try_cast('7:30:15.5+02:00' as timestamp) is null", "is a time without a date"),
    ("try_cast('now' as timestamp) is null", "from its clock"),
    ("date '2020-01-01' > 'Yesterday UTC'", "from its clock"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text[:40] for text, _ in REFUSED])
def test_errors_with_their_place(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=r"(?s)^here: .*\n  .*\n *\^") as raised:
        evaluate(text, pa.array([1]))
    assert message in str(raised.value)


SPELLINGS = [
    (pa.array([2**62]).cast(pa.timestamp("s")), "timestamp"),
    (pa.array([2**62]).cast(pa.timestamp("ms", "UTC")), "timestamp"),
    (pa.array([2**62]).cast(pa.duration("s")), "duration"),
    (pa.array([1]).view(pa.date64()), "date64"),
]


@pytest.mark.parametrize(("array", "kind"), SPELLINGS, ids=[str(array.type) for array, _ in SPELLINGS])
def test_columns_that_do_not_fit(array: pa.Array, kind: str) -> None:
    with pytest.raises(QueryError, match=rf'(?s)here: the column "v" of type "{kind}.*does not fit.*\n  v is.*\n  \^$'):
        evaluate("v is not null", array)


def test_the_first_nanosecond() -> None:
    array = pa.array([-(2**63) + 1, None]).cast(pa.timestamp("ns"))
    assert numbers(evaluate("v", array)) == [-(2**63) // 1_000, None]


def test_dates_that_are_no_timestamps() -> None:
    array = pa.array([115_000_000, 0], pa.int32()).cast(pa.date32())
    with pytest.raises(QueryError, match="a date does not fit"):
        evaluate("v > timestamp '2020-01-01 00:00:00'", array)
    assert evaluate("v < date '2020-01-01' and v < timestamp '2020-01-01 00:00:00'", array).to_pylist() == [False, True]


@pytest.mark.parametrize(
    "text", ["v = v", "v in (v, 7)", "v between 100 and v", "nullif(v, v) is null", "greatest(v, 1) = 100", "v <=> v"]
)
def test_decimals_of_whole_hundreds(text: str) -> None:
    assert evaluate(text, pa.array([Decimal(100)], pa.decimal128(5, -2))).to_pylist() == [True]


def test_extensions_are_what_they_store() -> None:
    # One that is written in Python has no hash; the stub of pyarrow does not know the base.
    base: Any = importlib.import_module("pyarrow").ExtensionType
    tagged = type("Tagged", (base,), {"__arrow_ext_serialize__": lambda _: b""})(pa.int64(), "tagged")
    array = tagged.wrap_array(pa.array([1, None]))
    assert evaluate("v is null", array).to_pylist() == [False, True]
    assert evaluate("v + 1 = 2", array).to_pylist() == [True, None]


def test_a_zone_that_is_not_known() -> None:
    array = pa.array([0]).cast(pa.timestamp("us", "Nowhere/X"))
    assert evaluate("v is not null", array).to_pylist() == [True]
    with pytest.raises(QueryError, match=r'"Nowhere/X" is none that is known here; cast'):
        evaluate("year(v) = 1970", array)


IN_NEW_YORK = [
    ("hour(v)", 8),
    ("string(v)", "2040-07-01 08:00:00"),
    ("v = timestamp '2040-07-01 08:00:00'", True),
    ("bigint(cast(date '2040-07-01' as timestamp))", LATE - 8 * 3_600),
    ("bigint(v + interval 180 days)", 2_240_312_400),
    ("bigint(timestamp '2040-03-11 02:30:00')", 2_215_063_800),
    ("bigint(timestamp '2040-11-04 01:30:00')", 2_235_619_800),
    ("bigint(timestamp '2040-11-04 02:00:00')", 2_235_625_200),
    ("bigint(timestamp '2037-07-01 08:00:00')", 2_130_062_400),
    ("bigint(timestamp '2900-07-01 08:00:00')", 29_363_688_000),
    ("bigint(timestamp '12040-07-01 08:00:00')", 317_794_276_800),
    ("bigint(timestamp '290000-07-01 08:00:00')", 9_089_364_628_800),
    ("bigint(timestamp '2040-10-10 08:00:00 Africa/Casablanca')", 2_233_468_800),
    ("bigint(timestamp '2500-12-01 08:00:00 Africa/Casablanca')", 16_754_108_400),
]


@pytest.mark.parametrize(("text", "expected"), IN_NEW_YORK, ids=[text for text, _ in IN_NEW_YORK])
def test_clocks_beyond_the_tables_of_arrow(text: str, expected: Any) -> None:
    noon = dt.datetime.fromtimestamp(LATE, dt.UTC)
    found = evaluate(text, pa.array([noon, None], pa.timestamp("us", "America/New_York")))
    assert found.to_pylist()[0] == expected


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("+02", "+02:00"),
        ("-0130", "-01:30"),
        (" +18:00", "+18:00"),
        ("+18:01", None),
        ("+01:60", None),
        ("\xa0Z", None),
    ],
)
def test_offsets(text: str, zone: str | None) -> None:
    assert zone_of(text) == zone


@pytest.mark.parametrize("name", ["PST", "EST", "+1", "+1:02", "+01:02:03", "+010203", "UTC-18:00", "GMT+2"])
@pytest.mark.parametrize("cast", ["cast", "try_cast"])
def test_zones_of_java_in_a_column_of_texts(name: str, cast: str) -> None:
    """They mean something to Spark, so a null would be wrong."""
    for kind in ("timestamp", "timestamp_ntz"):
        with pytest.raises(RowError, match=rf"the time zone '{re.escape(name)}' is Java's own.* America/Los_Angeles"):
            evaluate(f"{cast}(v as {kind}) is null", pa.array([f"2020-01-01 00:00:00 {name}"]))


def test_many_numbers_are_soon_read() -> None:
    many = ", ".join(map(str, range(20_000)))
    assert evaluate(f"v in ({many})", pa.array([7, -7])).to_pylist() == [True, False]
