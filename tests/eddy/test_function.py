"""A user's function is handed what it asks for, and its mistakes are explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

from eddy.errors import QueryError
from eddy.function import Function
from eddy.sql import Column

COLUMN = Column(None, "v")


def mask(function: Callable[..., Any], values: pa.Array, *, rowwise: bool = False) -> list[bool]:
    built = Function.of(function, ["v"], rowwise=rowwise, where='filter "f"')
    found: list[bool] = built.mask({COLUMN: values}, len(values)).tolist()
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
    found = built.mask({COLUMN: pa.array([1, 2])}, 2)
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

    assert mask(shown, pa.array([7, None, 8])) == [False, False, True]


def test_numpy_typing_is_understood() -> None:
    def shown(v: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        above: npt.NDArray[np.bool_] = v > 1
        return above

    assert mask(shown, pa.array([1, 2])) == [False, True]


def test_a_numpy_function_is_not_called_when_every_row_has_a_null() -> None:
    def shown(v: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        below: npt.NDArray[np.bool_] = v < v.max()
        return below

    assert mask(shown, pa.array([None, None], pa.int64())) == [False, False]


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


def test_an_annotation_that_nothing_can_be_handed_for() -> None:
    def shown(v: int) -> bool:
        return v > 1

    with pytest.raises(QueryError, match=r'parameter "v" asks for <class .int.>; .* or rowwise=True'):
        mask(shown, pa.array([1]))
