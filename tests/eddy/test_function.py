"""A user's function is handed what it asks for, and its mistakes are explained."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

from eddy.errors import QueryError
from eddy.predicates.faults import Faults
from eddy.predicates.function import Function
from eddy.predicates.judge import Judge
from eddy.predicates.row_errors import RowErrors
from eddy.sql import Column
from tests.values import given_values

COLUMN = Column(None, "v")


RECURSIONS = 50
"""Rows for which a function recurses until Python ends it."""


def mask(function: Callable[..., Any], values: pa.Array, *, rowwise: bool = False) -> list[bool]:
    built = Function.of(function, ["v"], rowwise=rowwise, where='filter "f"')
    found: list[bool] = built.mask({COLUMN: given_values(values)}, len(values)).tolist()
    return found


def test_a_series_by_default() -> None:
    assert mask(lambda v: v > 1, pa.array([1, 2])) == [False, True]


@pytest.mark.parametrize(
    "function",
    [lambda v: v > 2**53, lambda v: v.map(lambda x: x == 2**53 + 1), lambda v: (v % 0 == 0) | (v > 2**53)],
)
def test_integers_beside_nulls_are_what_they_are_without(function: Callable[..., Any]) -> None:
    alone = [mask(function, pa.array([v], pa.int64()))[0] for v in (2**53, 2**53 + 1, None)]
    assert mask(function, pa.array([2**53, 2**53 + 1, None])) == alone == [False, True, False]


def test_nested_values_beside_nulls_are_what_they_are_without() -> None:
    values = [[2**53 + 1], [None], [2**53 + 1, None]]
    found = mask(lambda v: v.map(lambda one: one[0] == 2**53 + 1), pa.array(values, pa.list_(pa.int64())))
    assert found == [True, False, True]


def test_a_function_may_use_its_array_again() -> None:
    used = np.zeros(2, np.bool_)
    built = Function.of(lambda v: used, ["v"], rowwise=False, where="here")
    found = built.mask({COLUMN: given_values(pa.array([1, 2]))}, 2)
    used[:] = True
    assert not found.any()


@pytest.mark.parametrize("hint", ["np.ndarray[int]", "NDArray[no.such[", "numpy.ndarray"])
def test_an_annotation_that_cannot_be_evaluated_is_read_as_text(hint: str) -> None:
    def shown(v: Any) -> Any:
        return v > 1

    shown.__annotations__ = {"v": hint, "return": "no such thing"}
    assert Function.of(shown, ["v"], rowwise=False, where="here").forms == ("np.ndarray",)


def test_keyword_only_and_starred_parameters_get_no_column() -> None:
    def shown(v: pd.Series, *others: pd.Series, limit: int = 1) -> pd.Series:
        return v > limit

    assert Function.of(shown, None, rowwise=False, where="here").columns == (COLUMN,)


def test_numpy_when_asked_for() -> None:
    def shown(v: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
        assert type(v) is np.ndarray
        return v != 7

    assert mask(shown, pa.array([7, None, 8])) == [False, True, True]


def test_numpy_typing_is_understood() -> None:
    def shown(v: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        above: npt.NDArray[np.bool_] = v > 1
        return above

    assert mask(shown, pa.array([1, 2])) == [False, True]


@pytest.mark.parametrize("null", [pa.int8(), pa.int64(), pa.uint64(), pa.bool_()])
def test_a_null_is_seen(null: pa.DataType) -> None:
    assert mask(lambda v: v.isna(), pa.array([None, None], null)) == [True, True]
    assert mask(lambda v: v.isna(), pa.array([1, None], pa.int64()).cast(null)) == [False, True]
    assert mask(lambda v: v.isna(), pa.array([], null)) == []


NULLS: list[tuple[Any, pa.DataType, str, str]] = [
    (1, pa.int8(), "float64", "nan"),
    (2**63, pa.uint64(), "float64", "nan"),
    (2**53 + 1, pa.dictionary(pa.int8(), pa.int64()), "float64", "nan"),
    (True, pa.bool_(), "object", "None"),
    (1.5, pa.float32(), "float32", "nan"),
    ("x", pa.string(), "object", "None"),
    ("x", pa.dictionary(pa.int32(), pa.string()), "object", "None"),
    (b"x", pa.binary(), "object", "None"),
    (Decimal("1.5"), pa.decimal128(10, 2), "object", "None"),
    (date(2024, 1, 1), pa.date32(), "object", "None"),
    (datetime(2024, 1, 1), pa.timestamp("us"), "datetime64[us]", "NaT"),
    (datetime(2024, 1, 1, tzinfo=UTC), pa.timestamp("us", "Europe/Paris"), "datetime64[us, Europe/Paris]", "NaT"),
    (timedelta(1), pa.duration("us"), "timedelta64[us]", "NaT"),
    ([1, None], pa.list_(pa.int64()), "object", "None"),
    ({"a": None}, pa.struct({"a": pa.int64()}), "object", "None"),
    (None, pa.null(), "object", "None"),
]
"""A value, its type, and the type and the null of the column when nothing but a null is shown in it."""

NUMPY = {pa.date32(): ("datetime64[D]", "NaT"), pa.timestamp("us", "Europe/Paris"): ("datetime64[us]", "NaT")}
"""What is another for a function of arrays."""


def looks(values: pa.Array, form: type) -> list[tuple[str, str]]:
    """How each row looks to a function, by the type of the column and the value; no row comes twice."""
    found: dict[int, tuple[str, str]] = {}

    def look(row: pd.Series, v: Any) -> Any:
        assert not found.keys() & set(row)
        found.update((n, (str(v.dtype), str(one))) for n, one in zip(row, v, strict=True))
        return row >= 0

    look.__annotations__["v"] = form
    built = Function.of(look, None, rowwise=False, where="here")
    columns = {Column(None, "row"): given_values(pa.array(range(len(values)))), COLUMN: given_values(values)}
    assert built.mask(columns, len(values)).all()
    return [found[n] for n in range(len(values))]


@pytest.mark.parametrize(("value", "kind", "dtype", "null"), NULLS, ids=[str(case[1]) for case in NULLS])
@pytest.mark.parametrize("form", [pd.Series, np.ndarray])
def test_a_row_looks_the_same_in_every_company(
    value: Any, kind: pa.DataType, dtype: str, null: str, form: type
) -> None:
    """As a pandas_udf sees it alone."""
    values = pa.array([value, None, None, value], kind)
    together = looks(values, form)
    assert together == [one for n in range(4) for one in looks(values.slice(n, 1), form)]
    assert together[1] == (NUMPY.get(kind, (dtype, null)) if form is np.ndarray else (dtype, null))


def test_a_null_among_the_words_of_a_dictionary_is_a_null() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([2**53 + 1, None]))
    assert [dtype for dtype, _ in looks(values, pd.Series)] == ["int64", "float64", "float64"]


def test_rows_are_asked_about_by_which_columns_are_null() -> None:
    asked: list[list[tuple[Any, Any]]] = []

    def look(v: pd.Series, w: npt.NDArray[np.bool_], s: pd.Series) -> pd.Series:
        asked.append(list(zip(v.tolist(), w.tolist(), strict=True)))
        return s.isna() & v.notna()

    rows = {
        COLUMN: pa.array([1, None, 3, None, 5], pa.int16()),
        Column(None, "w"): pa.array([True, None, None, False, True]),
        Column(None, "s"): pa.array([None, None, "x", "x", "x"]),
    }
    built = Function.of(look, None, rowwise=False, where="here")
    columns = {column: given_values(array) for column, array in rows.items()}
    assert built.mask(columns, 5).tolist() == [True, False, False, False, False]
    assert str(asked) == "[[(1, True), (5, True)], [(3, None)], [(nan, False)], [(nan, None)]]"
    asked.clear()
    built.mask({column: given_values(array.slice(4)) for column, array in rows.items()}, 1)
    built.mask({column: given_values(array.slice(1, 1)) for column, array in rows.items()}, 1)
    assert str(asked) == "[[(5, True)], [(nan, None)]]"


def test_where_nulls_raise_other_rows_are_not_asked_again() -> None:
    asked: list[Any] = []

    def look(v: pd.Series) -> pd.Series:
        asked.extend(v.tolist())
        return ~v

    built = Function.of(look, None, rowwise=False, where="here")
    with pytest.raises(
        RowErrors, match=r"raised TypeError: .* it was called with 1 rows of v bool with nulls"
    ) as caught:
        built.mask({COLUMN: given_values(pa.array([True, None, False, None]))}, 4)
    assert caught.value.passed.tolist() == [False, False, True, False]
    assert caught.value.faulty.tolist() == [1, 3]
    assert asked[:2] == [True, False]
    assert set(asked[2:]) == {None}


def test_a_function_that_compares_rows_is_wrong_beside_nulls_too() -> None:
    def look(v: pd.Series) -> Any:
        return v > 0 if len(v) == 1 else 3

    with pytest.raises(QueryError, match="expected one boolean for each of 2 rows, got int"):
        mask(look, pa.array([1, None, 2, None]))


class Broken(Exception):
    """An exception that cannot be asked."""

    def __str__(self) -> str:
        raise ValueError("not now")

    __repr__ = __str__


class Text(str):
    """A text with ideas of its own."""

    def __getitem__(self, key: object) -> str:
        raise ValueError("not now")


class Talkative(Exception):
    """An exception with far too much to say."""

    def __str__(self) -> str:
        return Text("x" * 100_000 + "the end")


@pytest.mark.parametrize("rowwise", [False, True])
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Broken(), r"raised Broken: \(asked for its text, it raised ValueError\), at line"),
        (Talkative(), r"raised Talkative: x+ \.\.\. x*the end, at line"),
        (type("N" * 10_000, (Exception,), {})("no"), r"raised N+ \.\.\. N+: no, at line"),
    ],
    ids=["broken", "talkative", "named"],
)
def test_whatever_an_exception_says_it_is_told(error: Exception, told: str, rowwise: bool) -> None:
    def look(v: Any) -> Any:
        raise error

    with pytest.raises(QueryError, match=told) as caught:
        mask(look, pa.array([1]), rowwise=rowwise)
    assert len(str(caught.value)) < 2_000


def test_whatever_a_function_gives_it_is_told() -> None:
    with pytest.raises(QueryError, match=r"got Series of object: .*; make each of them a bool") as caught:
        mask(lambda v: pd.Series([Broken()], dtype=object), pa.array([1]))
    assert len(str(caught.value)) < 2_000
    broken: Any = Broken()
    with pytest.raises(QueryError, match=r"expected a function, got a Broken \(asked for its text"):
        Function.of(broken, None, rowwise=False, where="here")


@pytest.mark.parametrize("rowwise", [False, True])
def test_of_a_recursion_without_end_one_line_is_read(rowwise: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the thousand that are on the way to it, for every row once more."""

    def forever(v: Any) -> Any:
        return forever(v)

    read: list[int] = []
    line = linecache.getline

    def note(*place: Any) -> str:
        read.append(place[1])
        return line(*place)

    monkeypatch.setattr(linecache, "getline", note)
    judge = Judge("f", Function.of(forever, None, rowwise=rowwise, where="here").mask, Faults(), on_error="drop")
    judged = judge.ask({COLUMN: given_values(pa.array(range(RECURSIONS)))}, RECURSIONS)
    assert not judged.passed.any()
    assert RECURSIONS <= len(read) <= 2 * RECURSIONS


def test_arrow_when_asked_for() -> None:
    def shown(v: pa.Array) -> pa.Array:
        return pa.compute.is_null(v)

    assert mask(shown, pa.array(["x", None])) == [False, True]


def test_rows_are_plain_python() -> None:
    seen: list[Any] = []

    def shown(v: Any) -> Any:
        seen.append(v)
        return v == {"x": 1}

    assert mask(shown, pa.array([{"x": 1}, None]), rowwise=True) == [True, False]
    assert seen == [{"x": 1}, None]


def test_a_callable_object_has_its_hints_on_call() -> None:
    class Above:
        def __call__(self, v: pa.Array) -> pa.Array:
            return pa.compute.greater(v, 1)

    assert mask(Above(), pa.array([1, 2])) == [False, True]


@pytest.mark.parametrize(
    "result",
    [
        [True, False],
        np.array([True, False]),
        pd.Series([True, False], index=[5, 6]),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([True, None], dtype=object),
        pd.Series([True, float("nan")], dtype=object),
        pa.array([True, None]),
        pa.chunked_array([[True], [False]]),
    ],
    ids=repr,
)
def test_a_mask_may_be_anything_that_holds_booleans(result: Any) -> None:
    assert mask(lambda v: result, pa.array([1, 2])) == [True, False]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda v: v[:1] > 0, "expected one boolean for each of 2 rows, got 1"),
        (lambda v: True, "got bool; return a mask, not a scalar"),
        (lambda v: {1, 2}, "got set; return a Series or array"),
        (lambda v: pd.DataFrame({"m": v > 0}), "got DataFrame; return a Series or array"),
        (lambda v: None, "got NoneType"),
        (lambda v: v, "got values of type int64; compare them with something"),
        (lambda v: v.astype(str), "got values of type string"),
        (lambda v: pd.Series([True, "no"]), "got Series of object"),
        (lambda v: v.no_such_thing, r"raised AttributeError: .* at line \d+ of .*test_function.py"),
        (lambda v: 1 // 0, "raised ZeroDivisionError: .*; it was called with 2 rows of v int64"),
    ],
)
def test_what_goes_wrong_in_a_function(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(QueryError, match=f'filter "f": function ".*lambda.*{message}'):
        mask(function, pa.array([1, 2]))


def test_the_cause_is_kept() -> None:
    with pytest.raises(QueryError) as caught:
        mask(lambda v: 1 // 0, pa.array([1]))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("hint", "asked"), [(int, "int"), (np.int64, "numpy.int64"), (list[int], "list[int]"), ("Huge", "'Huge'")]
)
def test_an_annotation_that_nothing_can_be_handed_for(hint: Any, asked: str) -> None:
    def shown(v: Any) -> bool:
        return bool(v > 1)

    shown.__annotations__["v"] = hint
    with pytest.raises(QueryError, match=rf'parameter "v" asks for {re.escape(asked)}; .* or rowwise=True'):
        mask(shown, pa.array([1]))
