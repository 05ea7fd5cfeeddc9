"""What types an expression takes: spellings of Arrow, pairs of keys, and errors that name them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from eddy.errors import QueryError
from eddy.sql import Column, bind_pair, parse
from tests.eddy.sql.test_syntax import assert_marked

A, B = Column("a", "v"), Column("b", "v")


def evaluate(text: str, *arrays: pa.Array) -> list[Any]:
    columns = dict(zip((A, B), arrays, strict=False))
    bound = parse(text, where="here").bind({column: array.type for column, array in columns.items()})
    found = bound.evaluate(columns, len(arrays[0]))
    assert found.type == bound.type
    return found.to_pylist()


SPELLINGS = [
    (pa.array([1, 200, None], pa.uint8()), "a.v > 100", [False, True, None]),
    (pa.array([1, 65_535], pa.uint16()), "a.v + 1", [2, 65_536]),
    (pa.array([1, 2**32 - 1], pa.uint32()), "a.v + 1", [2, 2**32]),
    (pa.array([1, 2**64 - 1], pa.uint64()), "a.v = 18446744073709551615", [False, True]),
    (pa.array([0.5, None], pa.float16()), "a.v * 2", [1.0, None]),
    (pa.array(["x", None], pa.large_string()), "upper(a.v)", ["X", None]),
    (pa.array(["x", "y"], pa.string_view()), "a.v = 'y'", [False, True]),
    (pa.array(["x", "y", None, "x"]).dictionary_encode(), "a.v || '!'", ["x!", "y!", None, "x!"]),
    (pa.array(["x", "y"], pa.large_string()).dictionary_encode(), "a.v in ('y')", [False, True]),
    (pa.array([b"x", b"yy"], pa.large_binary()), "length(a.v)", [1, 2]),
    (pa.array([b"xy", b"zz"], pa.binary(2)), "a.v > X'7A00'", [False, True]),
    (pa.array([Decimal("1.50")], pa.decimal256(10, 2)), "a.v + 1", [Decimal("2.50")]),
    (pa.array([86_400_000], pa.date64()), "a.v", [dt.date(1970, 1, 2)]),
    (pa.array([1], pa.timestamp("s")), "a.v", [dt.datetime(1970, 1, 1, 0, 0, 1)]),
    (pa.array([1500], pa.timestamp("ms")), "a.v", [dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)]),
    (pa.array([-1, 1999], pa.timestamp("ns")), "a.v = TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'", [False, True]),
    (pa.array([-1], pa.timestamp("ns", "UTC")), "a.v < TIMESTAMP '1970-01-01'", [True]),
    (pa.array([1500], pa.duration("ms")), "a.v", [dt.timedelta(seconds=1.5)]),
    (pa.array([None, None], pa.null()), "a.v is null and a.v = 1", [None, None]),
    (pa.array([[1], None]), "a.v is null", [False, True]),
    (pa.array([{"x": 1}, None]), "a.v is not null", [True, False]),
]


@pytest.mark.parametrize(("array", "text", "expected"), SPELLINGS, ids=[str(array.type) for array, _, _ in SPELLINGS])
def test_every_spelling_of_a_type(array: pa.Array, text: str, expected: list[Any]) -> None:
    assert evaluate(text, array) == expected
    sliced = pa.concat_arrays([array, array])[len(array) :]
    assert evaluate(text, sliced) == expected


def test_parts_of_a_time_are_in_its_zone() -> None:
    noon = pa.array([dt.datetime(2024, 7, 1, 22, 30)], pa.timestamp("us", "UTC"))
    assert evaluate("day(a.v) * 100 + hour(a.v)", noon) == [122]
    assert evaluate("day(a.v) * 100 + hour(a.v)", noon.cast(pa.timestamp("us", "Europe/Oslo"))) == [200]
    assert evaluate("a.v = TIMESTAMP '2024-07-02 00:30:00'", noon.cast(pa.timestamp("us", "Europe/Oslo"))) == [True]


PAIRS = [
    (pa.int32(), pa.int64(), pa.int64()),
    (pa.int8(), pa.uint8(), pa.int16()),
    (pa.int64(), pa.float32(), pa.float64()),
    (pa.int32(), pa.decimal128(7, 2), pa.decimal128(12, 2)),
    (pa.decimal128(10, 2), pa.decimal128(6, 4), pa.decimal128(12, 4)),
    (pa.decimal128(10, 2), pa.float64(), pa.float64()),
    (pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
    (pa.date32(), pa.timestamp("ms"), pa.timestamp("us")),
    (pa.string(), pa.int32(), pa.int64()),
    (pa.large_string(), pa.string(), pa.string()),
    (pa.string(), pa.date32(), pa.date32()),
    (pa.string(), pa.binary(), pa.binary()),
    (pa.duration("ms"), pa.duration("us"), pa.duration("us")),
    (pa.null(), pa.int32(), pa.int32()),
]


@pytest.mark.parametrize(("left", "right", "expected"), PAIRS)
def test_pairs_are_bound_in_the_type_of_their_comparison(
    left: pa.DataType, right: pa.DataType, expected: pa.DataType
) -> None:
    for first, second in ((left, right), (right, left)):
        bound = bind_pair(parse("a.v", where="here"), parse("b.v", where="here"), {A: first, B: second})
        assert [one.type for one in bound] == [expected, expected]
        found = bound[0].evaluate({A: pa.nulls(3, first)}, 3)
        assert (found.type, found.null_count) == (expected, 3)


def test_pairs_convert_their_values() -> None:
    left, right = bind_pair(parse("a.v + 1", where="here"), parse("b.v", where="here"), {A: pa.int32(), B: pa.string()})
    assert left.columns == (A,)
    assert left.evaluate({A: pa.array([1], pa.int32())}, 1).to_pylist() == [2]
    assert right.evaluate({B: pa.array([" 7 "])}, 1).to_pylist() == [7]
    with pytest.raises(QueryError, match="cannot be cast"):
        right.evaluate({B: pa.array(["seven"])}, 1)


@pytest.mark.parametrize("other", [pa.bool_(), pa.date32(), pa.duration("us"), pa.list_(pa.int32()), pa.binary()])
def test_pairs_that_spark_would_not_compare(other: pa.DataType) -> None:
    with pytest.raises(QueryError, match=r'join 1: comparing "a.v" with "b.v" needs values of one kind'):
        bind_pair(parse("a.v", where="join 1"), parse("b.v", where="join 1"), {A: pa.int32(), B: other})


UNFIT = [
    ("a.v = true", "a.v = true", '"=" needs values of one kind, got "int" and "boolean"; cast one of them'),
    ("1 < 2 and a.v", "a.v", 'AND needs a condition, of type "boolean", got "int"'),
    ("a.v + DATE '2024-01-01' > 1", "a.v + DATE '2024-01-01' > 1", '"date" and "int"'),
    ("a.w = 1 or a.v = 1", "a.w", 'unknown column "a.w"; did you mean "a.v"? known: "a.v"'),
    ("c.v = 1", "c.v", 'known: "a.v", "b.v"'),
    ("a.v > 1 || a.v < 2", "a.v > 1 || a.v < 2", '"||" joins strings; conditions are joined by OR'),
    ("b.v = b.v", "b.v = b.v", '"=" does not take values of type "list'),
    ("upper(b.v)", "upper(b.v)", "a string is needed here"),
    ("cast(b.v as int)", "cast(b.v as int)", 'cannot be cast to "int"'),
    ("year(a.v) = 1", "year(a.v)", 'YEAR takes a date or a timestamp, got "int"'),
    ("a.v like 'x!y' escape '!'", "a.v like 'x!y' escape '!'", "double it to mean itself"),
    ("round(1.5, a.v)", "round(1.5, a.v)", "no column"),
]


@pytest.mark.parametrize(("text", "part", "words"), UNFIT, ids=[text for text, _, _ in UNFIT])
def test_types_that_do_not_fit(text: str, part: str, words: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text, where='filter "f"').bind({A: pa.int32(), B: pa.list_(pa.int32())})
    assert_marked(str(raised.value), text, part, words)


GUARD = "or guard it in the same text, as in x <> 0 and ..., since filters run in any order"
FAILING = [
    ("10 / a.v > 1", "10 / a.v", f"division by zero; divide by nullif(x, 0), {GUARD}"),
    ("1 + 2147483647 * a.v", "2147483647 * a.v", "overflow; cast to a wider type"),
    ("true and cast('x' as int) = a.v", "cast('x' as int)", "the string 'x' cannot be cast to \"int\"; use try_cast"),
    ("if(a.v = 0, cast(99.9 as decimal(2,1)), 0)", "cast(99.9 as decimal(2,1))", "does not fit"),
    ("cast(a.v + 300 as tinyint) > 1", "cast(a.v + 300 as tinyint)", "cast to a wider type, use try_cast for null"),
    ("try_cast('7:00' as timestamp) is null", "try_cast('7:00' as timestamp)", "put the date before it, or guard it"),
]


@pytest.mark.parametrize(("text", "part", "words"), FAILING, ids=[text for text, _, _ in FAILING])
def test_values_that_fail_show_their_place(text: str, part: str, words: str) -> None:
    bound = parse(text, where='filter "f"').bind({A: pa.int32()})
    with pytest.raises(QueryError) as raised:
        bound.evaluate({A: pa.array([0, 2], pa.int32())}, 2)
    assert_marked(str(raised.value), text, part, words)


def test_a_condition_is_true_or_false() -> None:
    assert parse("a.v > 1", where="here").condition({A: pa.int32()}).type == pa.bool_()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("v + 1", "expected a condition that is true or false, got int"),
        ("cast(v as bigint)", "got bigint"),
        ("v || 'x'", 'got string; "||" joins strings; conditions are joined by OR'),
        ("null", "got null"),
    ],
)
def test_what_is_no_condition(text: str, words: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text, where='filter "f"').condition({Column(None, "v"): pa.int32()})
    assert_marked(str(raised.value), text, text, words)


def test_unknown_columns_are_spelled_as_in_the_text() -> None:
    found = parse("vv = 1", where='filter "f"').qualify(lambda column: Column("a", column.name))
    with pytest.raises(QueryError) as raised:
        found.bind({A: pa.int32(), B: pa.int32(), Column("a", "w"): pa.int32()})
    assert_marked(str(raised.value), "vv = 1", "vv", 'unknown column "vv"; did you mean "v"? known: "v", "w"')


def test_fields_of_structs() -> None:
    with pytest.raises(QueryError) as raised:
        parse("st.x = 1", where='filter "f"').bind({Column(None, "st"): pa.struct([("x", pa.int32())])})
    assert_marked(str(raised.value), "st.x = 1", "st.x", '"st" is a column of type struct<x: int32>')
    assert "struct fields are not supported" in str(raised.value)
