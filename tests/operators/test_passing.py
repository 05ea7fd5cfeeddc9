"""Rows that pass are seen as they came, whole or in part, in whichever form somebody asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.operators.passing import Passing
from eddy.operators.stored.columns import make_column
from eddy.predicates.arguments import ARROW, FORMS, NUMPY, SERIES
from eddy.tuples.arrays import RowIds
from eddy.tuples.tuples import Appearance
from eddy.tuples.values import Held, Values
from tests.operators.stored.test_columns import VALUES
from tests.tries import fewer
from tests.values import Given


def hold(array: pa.Array) -> tuple[Held, RowIds]:
    """The column of a store that passes rows on, after other rows, and the ids that it gave to these."""
    rows = pa.record_batch([array], names=["v"])
    passing = Passing(rows.schema)
    held = passing.column("v")
    passing.append(rows.slice(0, 0), np.arange(0), [Appearance(np.arange(0))])
    return held, passing.append(rows, np.arange(len(array)), [Appearance(np.arange(len(array)))])


def store(array: pa.Array) -> tuple[Held, RowIds]:
    """The column of a store that keeps rows."""
    held = make_column(array.type)
    held.append(array)
    return held, np.arange(len(array))


def assert_alike(got: Any, expected: Any, form: str) -> None:
    """Two arguments of a function are of one type, with the same values."""
    assert type(got) is type(expected)
    if form == ARROW:
        assert got.type == expected.type
        assert got.to_pylist() == expected.to_pylist()
    elif form == SERIES:
        pd.testing.assert_series_equal(got, expected)
    elif form == NUMPY:
        assert got.dtype == expected.dtype
        assert pd.Series(list(got), dtype=object).equals(pd.Series(list(expected), dtype=object))
    else:
        assert got == expected


@pytest.mark.parametrize("data_type", VALUES, ids=str)
@pytest.mark.parametrize("keep", [hold, store])
@fewer(2)
@given(
    picked=st.lists(st.integers(0, 99), max_size=9),
    chosen=st.none() | st.lists(st.integers(0, 99), max_size=9) | st.slices(8),
    sliced=st.booleans(),
    with_nulls=st.booleans(),
)
def test_every_form_is_that_of_the_array(
    data_type: pa.DataType, keep: Any, picked: list[int], chosen: Any, *, sliced: bool, with_nulls: bool
) -> None:
    values = [one for one in VALUES[data_type] if with_nulls or one is not None] or [None]
    whole = pa.array([values[i % len(values)] for i in [0, *picked]], data_type)
    array = whole.slice(1) if sliced else whole
    held, ids = keep(array)
    if isinstance(chosen, slice):
        ids = ids[chosen]
    elif chosen is not None:
        ids = np.array([i % len(array) for i in chosen] if len(array) else [], np.int64)
    expected = Values(Given(array), ids)
    assert held.has_nulls or not array.take(pa.array(ids)).null_count
    for form, make in FORMS.items():
        assert_alike(make(Values(held, ids)), make(expected), form)
        part = np.arange(0, len(ids), 2)
        assert_alike(make(Values(held, ids).at(part)), make(expected.at(part)), form)


@pytest.mark.parametrize("keep", [hold, store])
def test_nobody_may_change_the_numbers_that_a_function_gets(keep: Any) -> None:
    array = pa.array(np.arange(10))
    held, ids = keep(array)
    for some in (ids, ids[2:4]):
        numbers = Values(held, some).numbers()
        assert numbers is not None
        with pytest.raises(ValueError, match="read-only"):
            numbers[0] = 7
        with pytest.raises(ValueError, match="read-only"):
            FORMS[SERIES](Values(held, some)).to_numpy()[0] = 7
    assert array.to_pylist() == list(range(10))


@pytest.mark.parametrize("part", [slice(None), slice(20, 70), slice(5), slice(95, None)])
def test_neighbours_are_not_copied(part: slice) -> None:
    array = pa.array(range(100), pa.int64())
    held, ids = hold(array)
    for some in (ids[part], ids[:][part]):
        numbers, buffer = held.pick(some), array.buffers()[1]
        assert buffer is not None
        assert numbers is not None
        assert numbers.ctypes.data == buffer.address + 8 * some[0]
        taken = held.take(some)
        assert taken.buffers()[1] == buffer
        assert taken.to_pylist() == numbers.tolist() == some.tolist()


def test_rows_that_have_passed_are_gone() -> None:
    rows = pa.record_batch({"v": pa.array(["x"])})
    passing = Passing(rows.schema)
    ids = passing.append(rows, np.arange(1), [Appearance(np.arange(1))])
    passing.settle(None)
    assert not len(passing.column("v").take(ids[:0]))
    with pytest.raises(pa.ArrowIndexError):
        passing.column("v").take(ids)
