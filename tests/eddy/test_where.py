"""eddy.where over frames of pandas and Arrow: the rows that a loop over all predicates keeps, as they were."""

from __future__ import annotations

import datetime
import functools
import gc
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.functions import udf
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import BooleanType, IntegerType

import eddy
from eddy.observe import frame_notes
from eddy.policies.registry import POLICIES
from eddy.query.shorthand import read_predicates
from tests.policies.choices import chosen
from tests.tries import fewer


def is_odd(i: npt.NDArray[np.float64]) -> Any:
    return i % 2 == 1


@eddy.predicate(rowwise=True)
def is_short(s: str | None) -> bool:
    return s is not None and len(s) < 2


@eddy.predicate(columns=["s"], rowwise=True, on_error="drop", name="digits")
def reads_number(text: str | None) -> bool:
    return int(str(text)) > 2


def has_both(i: pa.Array, s: pa.Array) -> Any:
    return pa.compute.and_(i.is_valid(), s.is_valid())


BY_UDF: Any = udf(lambda i: i is not None and i < 3, BooleanType(), useArrow=False)
BY_PANDAS: Any = pandas_udf
Row = Mapping[str, Any]

PREDICATES: Sequence[tuple[Any, Callable[[Row], bool]]] = [
    ("i > 1", lambda row: row["i"] is not None and row["i"] > 1),
    ("s is null or s <> '1'", lambda row: row["s"] != "1"),
    (is_odd, lambda row: row["i"] is not None and row["i"] % 2 == 1),
    (is_short, lambda row: is_short(row["s"])),
    (reads_number, lambda row: row["s"] is not None and row["s"].isdigit() and int(row["s"]) > 2),
    (has_both, lambda row: row["i"] is not None and row["s"] is not None),
    ((BY_UDF, "i"), lambda row: row["i"] is not None and row["i"] < 3),
    (lambda s: s.notna(), lambda row: row["s"] is not None),
    (eddy.Filter("named", on="rows", where="I < 4"), lambda row: row["i"] is not None and row["i"] < 4),
]
"""Predicates, and what they say of a row."""

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(0, 5),
            "s": st.none() | st.sampled_from(["1", "22", "3", "x", "yy"]),
            "other": st.just({"deep": [1, None]}),
        }
    ),
    max_size=12,
)

SCHEMA = pa.schema({"i": pa.int64(), "s": pa.string(), "other": pa.struct({"deep": pa.list_(pa.int8())})})


@fewer(2)
@given(ROWS, st.lists(st.sampled_from(range(len(PREDICATES))), min_size=1, unique=True), st.sampled_from([*POLICIES]))
def test_any_routing_keeps_the_rows_that_pass_everything(rows: list[Row], places: list[int], policy: str) -> None:
    table = pa.Table.from_pylist(list(map(dict, rows)), schema=SCHEMA)
    asked, truths = zip(*(PREDICATES[place] for place in places), strict=True)
    names = [f.name for f in read_predicates(asked, table.schema.names, case_sensitive=False).filters]
    choice = chosen(policy, names, "rows.i")
    expected = [row for row in rows if all(truth(row) for truth in truths)]
    found = eddy.where(table, *asked, policy=choice)
    assert found.schema == table.schema
    assert found.to_pylist() == expected
    frame = table.to_pandas()
    frame.index = frame.index + 7
    passed = [place for place, row in enumerate(rows) if all(truth(row) for truth in truths)]
    pd.testing.assert_frame_equal(eddy.where(frame, *asked, policy=choice), frame.iloc[passed])


def test_more_rows_than_one_micro_batch() -> None:
    table = pa.table({"i": pa.chunked_array([list(range(15_000)), list(range(9_000))]), "s": ["a"] * 24_000})
    found = eddy.where(table, is_odd, lambda i: i % 3 == 0)
    assert found["i"].to_pylist() == [*range(3, 15_000, 6), *range(3, 9_000, 6)]
    report = eddy.report_of(found)
    assert report.batches()["rows"].tolist() == [10_000, 10_000, 4_000]
    assert sorted(report.operators()["operator"]) == ["function_1", "is_odd"]


def test_what_is_known_of_a_frame_is_forgotten_with_it() -> None:
    before = len(frame_notes.NOTES)
    found = eddy.where(pd.DataFrame({"i": [1, 2]}), "i > 1")
    assert len(frame_notes.NOTES) == before + 1
    assert 'query "where"' in frame_notes.NOTES[id(found)].text
    del found
    gc.collect()
    assert len(frame_notes.NOTES) == before


def test_columns_that_nobody_reads_may_be_anything() -> None:
    odd_values = [object(), 3, "x"]
    frame = pd.DataFrame({"i": pd.array([1, None, 3], dtype="Int64"), "o": odd_values, 7: [1.5, 2.5, 3.5]})
    frame = pd.concat([frame, pd.DataFrame({"twice": [1, 2, 3]}), pd.DataFrame({"twice": [4, 5, 6]})], axis=1)
    found = eddy.where(frame, "i > 1")
    assert found["o"].tolist() == ["x"]
    assert found.dtypes.tolist() == frame.dtypes.tolist()
    views = pa.array(["a", "b", "c"]).cast(pa.string_view())
    table = pa.Table.from_arrays([views, pa.array([1, 2, 3]), views], names=["v", "i", "v"])
    assert eddy.where(table, "i <> 2").columns[0].to_pylist() == ["a", "c"]
    assert eddy.where(table.to_batches()[0], "i > 5").num_rows == 0


INDEXES = {
    "twice": pd.Index([1, 1, 2, 2, 1]),
    "of two": pd.MultiIndex.from_arrays([list("aabba"), [1, 2, 1, 2, 1]], names=["i", "n"]),
    "times": pd.DatetimeIndex(["2026-01-01"] * 5, tz="Europe/Vienna"),
    "categories": pd.CategoricalIndex(list("uvuvu")),
    "named like a column": pd.Index([None, "x", None, "y", "z"], name="i"),
}


@pytest.mark.parametrize("index", INDEXES)
def test_any_index_and_columns_of_any_name_stay(index: str) -> None:
    frame = pd.DataFrame({"i": [1, 2, 3, 4, 5], 7: range(5), ("a", 1): range(5)}, index=INDEXES[index])
    found = eddy.where(frame, is_odd, "i > 1", policy="random")
    pd.testing.assert_frame_equal(found, frame.iloc[[2, 4]])


# Its stubs know fewer kinds of values than pandas takes.
MADE: Any = pd

KINDS: Mapping[str, tuple[Any, Any, str]] = {
    "nullable": (MADE.array([1, None, 3], "Int64"), lambda x: (x > 1).fillna(False).astype(bool), "x > 1"),
    "yes or no": (MADE.array([False, None, True], "boolean"), lambda x: x.map(bool), "x"),
    "strings": (MADE.array(["a", None, "c"], "string"), lambda x: x.notna() & (x != "a"), "x > 'b'"),
    "of arrow": (MADE.array([1, None, 3], MADE.ArrowDtype(pa.int32())), lambda x: x.notna() & (x != 1), "x > 1"),
    "categories": (
        MADE.Categorical(["a", None, "c"], categories=list("cba")),
        lambda x: x.notna() & (x != "a"),
        "x > 'b'",
    ),
    "sparse": (MADE.arrays.SparseArray([0, 0, 2]), lambda x: x > 1, "x > 1"),
    "zoned": (
        MADE.to_datetime(["2026-03-29 00:30", None, "2026-03-29 01:30"], utc=True).tz_convert("Europe/Vienna"),
        lambda x: x.dt.hour == 3,
        "x > timestamp '2026-03-29 01:00:00+00:00'",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_text", [False, True])
def test_columns_of_any_kind_are_read(kind: str, by_text: bool) -> None:
    values, function, text = KINDS[kind]
    frame = pd.DataFrame({"x": values, "n": range(3)}, index=[4, 4, 4])
    found = eddy.where(frame, text if by_text else (function, "x"), lambda n: n >= 0)
    pd.testing.assert_frame_equal(found, frame.iloc[[2]])


def test_a_predicate_may_read_no_column() -> None:
    """Some column has to say how many rows there are, whatever the first one holds."""
    frame = pd.DataFrame({"odd": [object(), 3], "i": [1, 2]})
    assert eddy.where(frame, "1 = 1")["i"].tolist() == [1, 2]
    assert eddy.where(frame, "1 = 2").empty


def test_a_report_is_asked_for_by_its_name() -> None:
    found = eddy.where(pd.DataFrame({"i": [1, 2]}), is_odd, name="odd")
    assert eddy.report_of(found, "odd").batches()["rows"].tolist() == [2]
    with pytest.raises(eddy.QueryError, match='report_of: unknown step "even"; known: "odd"'):
        eddy.report_of(found, "even")


def test_names_with_dots_and_words_of_sql() -> None:
    frame = pd.DataFrame({"a.b": [1, 2], "order": [3, 4]})
    assert eddy.where(frame, (lambda x: x > 1, "a.b"), lambda order: order > 3, "`a.b` < 3")["order"].tolist() == [4]


@pytest.mark.parametrize("name", ["a`b", "`", "``", "`a", "a`", "`a`", "a.`b`", "a.b"])
def test_names_with_backticks(name: str) -> None:
    frame = pd.DataFrame({name: [1, 2], "i": [3, 4]})
    quoted = "`" + name.replace("`", "``") + "`"
    noted = eddy.predicate(columns=name)(lambda x: x > 1)
    for asked in ((lambda x: x > 1, name), noted, eddy.Filter("f", on="rows", where=f"{quoted} > 1")):
        assert eddy.where(frame, asked)["i"].tolist() == [4]
    by_text = eddy.Filter("f", on="rows", function=lambda x: x > 1, columns=[f"rows.{quoted}"])
    assert eddy.where(frame, by_text)["i"].tolist() == [4]


def test_fields_of_structs_are_handed_to_functions() -> None:
    inner = pa.struct({"n": pa.int64()})
    users = pa.array(
        [{"Name": "a", "in": {"n": 1}}, None, {"Name": "b", "in": {"n": 2}}, {"Name": "b", "in": None}],
        pa.struct([("Name", pa.string()), ("in", inner)]),
    )
    table = pa.table({"user": users, "k": [1, 2, 3, 4], "k.m": [0, 0, 0, 1]})
    marked = eddy.predicate(columns=["USER.name", "k"])(lambda name, k: (name == "b") & (k > 1))
    same = (lambda name: name != "x", "user.NAME")
    both = (lambda n: n > 1, "user.`in`.n")
    for frame in (table, table.to_batches()[0], table.to_pandas()):
        for asked, expected in [((marked, same), [3, 4]), ((both,), [3]), ((both, marked, "k < 9"), [3])]:
            found = eddy.where(frame, *asked, policy="random")
            assert [*map(int, np.asarray(found["k"]))] == expected
    assert eddy.where(table, (lambda x: x > 0, "k.m"))["k"].to_pylist() == [4]


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("user.nme", 'where: column "user.nme": unknown field "nme"; did you mean "name"'),
        ("user.name.first", 'where: column "user.name.first": expected a struct to find "first" in, got string'),
        ("i.first", 'where: column "i.first": expected a struct to find "first" in, got int64'),
        ("usr.name", 'column "usr.name": unknown stream "usr"'),
    ],
)
def test_fields_that_there_are_not(way: str, said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        eddy.where(pa.table({"user": [{"name": "a"}], "i": [1]}), (lambda x: x == "a", way))


def test_fields_that_differ_in_case_only_are_not_chosen_among() -> None:
    inner = pa.struct([("a", pa.int64()), ("A", pa.int64())])
    table = pa.table({"s": pa.array([{"a": 1, "A": 2}], inner), "t": [{"a": 1}], "T": [{"a": 2}]})
    for way, both in (("s.A", '"a", "A"'), ("t.a", '"t", "T"')):
        with pytest.raises(eddy.QueryError, match=f'column "{way}" is ambiguous, since {both} differ in case only'):
            eddy.where(table, (lambda x: x > 0, way))


def test_a_pandas_udf_and_a_partial_keep_their_names() -> None:
    def above(i: pd.Series) -> pd.Series:
        return i > 0

    table = pa.table({"i": [1, 2, 3]})
    found = eddy.where(table, BY_PANDAS(above, BooleanType()), (functools.partial(is_odd), "i"))
    assert sorted(eddy.report_of(found).operators()["operator"]) == ["above", "is_odd"]
    assert found["i"].to_pylist() == [1, 3]


def yields(i: pd.Series) -> Iterator[pd.Series]:
    yield i > 1


@pytest.mark.parametrize(
    ("predicates", "said"),
    [
        ((), "where: expected one predicate or more"),
        ((lambda x: x,), 'unknown column "x"; known: "i", "s"; a function is handed the columns that its parameters'),
        (("ii > 1",), 'filter "sql_1": unknown column "ii"; did you mean "i"?'),
        (((is_odd, "j"),), 'filter "is_odd": unknown column "j"'),
        ((is_odd, is_odd), 'two predicates are called "is_odd"; give one of them another name'),
        ((3,), "where: expected SQL text, a function, a function with its columns as"),
        (((is_odd,),), 'where: expected a function with its columns as (function, "column"), got'),
        ((yields,), 'where: function "yields" is a generator; expected one that returns a boolean for each row'),
        ((lambda i: [True],), 'function "<lambda>": expected one boolean for each of 3 rows, got 1'),
        ((udf(lambda i: i, IntegerType(), useArrow=False),), 'a udf that returns "int"; expected "boolean"'),
        (
            (eddy.Filter("a", on="x", where="i > 1"), eddy.Filter("b", on="y", where="i > 1")),
            'where: expected filters on one stream, since there is one frame, got "x", "y"',
        ),
    ],
)
def test_what_is_wrong_is_one_error_that_says_what_to_write(predicates: tuple[Any, ...], said: str) -> None:
    frame = pd.DataFrame({"i": [1, 2, 3], "s": ["a", "b", "c"]})
    with pytest.raises(eddy.QueryError) as raised:
        eddy.where(frame, *predicates)
    assert said in str(raised.value)


def test_frames_that_are_none() -> None:
    nothing: Any = [1, 2]
    with pytest.raises(eddy.QueryError, match=r"expected a DataFrame of pandas or Spark.*got list"):
        eddy.where(nothing, "i > 1")
    with pytest.raises(eddy.QueryError, match='column "o" does not fit into an Arrow array'):
        eddy.where(pd.DataFrame({"o": [object(), datetime.date(2026, 1, 1)]}), lambda o: o.notna())
    with pytest.raises(eddy.QueryError, match='column "i" stands twice in the frame'):
        eddy.where(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["i", "i"]), "i > 1")
    for frame in (pd.DataFrame({7: [1]}), pd.DataFrame(), pa.table({"i": [1], "j": [2]}).select([])):
        with pytest.raises(eddy.QueryError, match="a column whose name is a text that stands once, got none"):
            eddy.where(frame, "1 = 1")
    with pytest.raises(eddy.QueryError, match="report_of: expected a streaming query, or the very frame"):
        eddy.report_of(pd.DataFrame({"i": [1]}))


def test_a_decorator_takes_the_keys_of_a_filter() -> None:
    with pytest.raises(eddy.QueryError, match='predicate: unknown key "column"; did you mean "columns"'):
        eddy.predicate(column=["i"])
    assert is_short("1")  # it stays the function that it was


def test_frames_have_an_attribute_once_it_is_asked_for() -> None:
    importlib.import_module("eddy.accessor")
    frame: Any = pd.DataFrame({"i": [1, 2]})
    assert frame.eddy.where("i > 1", name="large")["i"].tolist() == [2]


def test_what_was_learned_stays_in_a_file(tmp_path: Path) -> None:
    table = pa.table({"i": range(20_000)})
    policy = {"name": "content", "costs": "unit"}
    kept = tmp_path / "learned"

    def calls() -> int:
        found = eddy.where(table, lambda i: i >= 0, is_odd, "i % 7 = 0", policy=policy, remember=kept)
        assert found["i"].to_pylist() == [*range(7, 20_000, 14)]
        return int(eddy.report_of(found).batches()["routing_calls"].iloc[0])

    first = calls()
    assert calls() < first
    # Whoever comes next writes in the place of who was before.
    (file,) = kept.iterdir()
    file.write_bytes(b"nothing of ours")
    with pytest.warns(eddy.EddyWarning, match="and is learned anew"):
        assert calls() == first
    assert file.read_bytes() == b"nothing of ours"
    assert len([*kept.iterdir()]) == 2
    nowhere: tuple[Any, ...] = (3, "a\0b", "hdfs://a/b")
    for nothing in nowhere:
        said = f"where: remember: expected the path of a folder, got {str(repr(nothing))[:5]}"
        with pytest.raises(eddy.QueryError, match=re.escape(said)):
            eddy.where(table, "i > 1", remember=nothing)
    with pytest.raises(eddy.QueryError, match="where: remember: expected a folder, got the file"):
        eddy.where(table, "i > 1", remember=file)


@eddy.predicate(columns=["s"], rowwise=True, on_error="reject")
def is_large(text: str | None) -> bool:
    return int(str(text)) > 2


@eddy.predicate(columns=["i"], rowwise=True, on_error="reject")
def divides(number: int | None) -> bool:
    return 6 // int(number or 0) > 1


@fewer(4)
@given(ROWS, st.sampled_from([*POLICIES]))
def test_rows_are_put_aside_if_everything_else_lets_them_pass(rows: list[Row], policy: str) -> None:
    names = ["is_large", "divides", "sql_1"]
    table = pa.Table.from_pylist(list(map(dict, rows)), schema=SCHEMA)
    choice = chosen(policy, names, "rows.i")
    found = eddy.where(table, is_large, divides, "i is null or i < 4", policy=choice)
    large = [None if not str(row["s"]).isdigit() else int(row["s"]) > 2 for row in rows]
    divided = [None if not row["i"] else 6 // row["i"] > 1 for row in rows]
    said = [(a, b, row["i"] is None or row["i"] < 4) for a, b, row in zip(large, divided, rows, strict=True)]
    assert found.to_pylist() == [row for row, answers in zip(rows, said, strict=True) if all(answers)]
    expected = [
        row for row, answers in zip(rows, said, strict=True) if None in answers and all(a is not False for a in answers)
    ]
    aside = eddy.rejected(found).to_pylist()
    assert [{name: row[name] for name in SCHEMA.names} for row in aside] == expected
    wrong = {"is_large": "ValueError", "divides": "ZeroDivisionError"}
    assert all(row["rejected_because"].startswith(wrong[row["rejected_by"]]) for row in aside)
    frame = table.to_pandas()
    rest = eddy.rejected(eddy.where(frame, is_large, divides, "i is null or i < 4", policy=choice))
    assert rest["rejected_by"].tolist() == [row["rejected_by"] for row in aside]


def test_an_error_of_the_query_wins_over_a_row_that_is_put_aside() -> None:
    table = pa.table({"i": [0], "s": ["x"]})
    for order in (["is_large", "fails"], ["fails", "is_large"]):
        fails = eddy.Filter("fails", on="rows", function=lambda i: 1 / i > 1, columns=["i"], rowwise=True)
        with pytest.raises(eddy.QueryError, match="ZeroDivisionError"):
            eddy.where(table, is_large, fails, policy={"name": "fixed", "order": order})


def test_who_puts_nothing_aside_has_no_such_rows() -> None:
    with pytest.raises(eddy.QueryError, match="nobody keeps the rows of this frame that are put aside"):
        eddy.rejected(eddy.where(pd.DataFrame({"i": [1]}), "i > 1"))
    with pytest.raises(eddy.QueryError, match=r"expected the very frame that eddy\.where gave, got another DataFrame"):
        eddy.rejected(pd.DataFrame({"i": [1]}))


def test_a_decorator_says_what_it_cannot_be_put_on() -> None:
    decorate: Any = eddy.predicate
    with pytest.raises(eddy.QueryError, match=r"predicate: expected keys, as in @eddy.predicate\(on_error=\"drop\"\)"):
        decorate(is_odd)
    for wrong in ("i > 1", len):
        with pytest.raises(eddy.QueryError, match="predicate: expected a function that was made by def or lambda"):
            decorate(on_error="drop")(wrong)
