"""Columns grow at one end and shrink anywhere, and give back what they were given."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.operators.stored.columns import FixedWidth, Growing, make_column
from tests.tries import fewer

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [1, None, -(2**63), 2**63 - 1],
    pa.uint8(): [255, 0, None],
    pa.float32(): [1.5, None, float("inf"), -0.0],
    pa.timestamp("us", "Europe/Berlin"): [0, None, -1],
    pa.date32(): [0, None, 20000],
    pa.duration("ms"): [0, None, 7],
    pa.bool_(): [True, None, False],
    pa.string(): ["", None, "日本", "x" * 50],
    pa.binary(): [b"", None, b"\x00\xff"],
    pa.decimal128(38, 4): [Decimal("1.5000"), None, Decimal("-9999999999999999999999999999999999.9999")],
    pa.list_(pa.int64()): [[], None, [1, None]],
    pa.struct([("x", pa.int64())]): [{"x": None}, None, {"x": 2**60}],
    pa.map_(pa.string(), pa.int64()): [[("a", 1)], None, []],
    pa.dictionary(pa.int8(), pa.string()): ["a", None, "b"],
    pa.null(): [None],
}

CHANGES = st.lists(
    st.tuples(st.just("append"), st.lists(st.integers(0, 99), max_size=9))
    | st.tuples(st.just("drop"), st.integers(0, 5))
    | st.tuples(st.just("keep"), st.integers(1, 3)),
    max_size=12,
)


@pytest.mark.parametrize("data_type", VALUES, ids=str)
@fewer(2)
@given(changes=CHANGES, sliced=st.booleans())
def test_a_column_is_the_list_that_it_stands_for(
    data_type: pa.DataType, changes: list[tuple[str, Any]], *, sliced: bool
) -> None:
    values = VALUES[data_type]
    held, expected = make_column(data_type), pa.array([], data_type).to_pylist()
    for change, what in changes:
        if change == "append":
            picked = pa.array([values[i % len(values)] for i in [0, *what]], data_type)
            array = picked.slice(1) if sliced else picked
            held.append(array)
            expected += array.to_pylist()
        elif change == "drop":
            held.drop(min(what, len(expected)))
            expected = expected[what:]
        else:
            # All of the first third, and every so many of the others.
            first = len(expected) // 3
            held.keep(first, pa.array(range(first, len(expected), what), pa.int64()).to_numpy())
            expected = expected[:first] + expected[first::what]
        ids = pa.array(range(len(expected)), pa.int64()).to_numpy()
        taken = held.take(ids)
        assert taken.type == data_type
        assert taken.to_pylist() == expected
        assert held.take(ids[::-1]).to_pylist() == expected[::-1]


def test_numbers_are_not_copied_where_they_come_in_whole() -> None:
    array = pa.array(range(100), pa.int64())
    held = make_column(pa.int64())
    held.append(array)
    assert isinstance(held, FixedWidth)
    buffer = array.buffers()[1]
    assert buffer is not None
    assert held.values.ctypes.data == buffer.address


def test_what_was_handed_over_is_not_written_to() -> None:
    """Arrays that numpy made can be written to through Arrow."""
    given = np.arange(100)
    held = make_column(pa.int64())
    held.append(pa.array(given))
    held.keep(50, np.arange(60, 100))
    assert given.tolist() == list(range(100))
    assert held.take(np.arange(90)).to_pylist() == [*range(50), *range(60, 100)]


def test_rows_that_go_give_their_room_back() -> None:
    """An array that held more has not much more room than its rows need."""
    growing = Growing(np.int64)
    for start in range(0, 16_000, 1_000):
        growing.append(np.arange(start, start + 1_000))
    growing.drop(4_000)
    assert growing.values.tolist() == list(range(4_000, 16_000))
    assert growing.nbytes <= 1.25 * 8 * len(growing)
    growing.drop(12_000)
    assert growing.nbytes == 0


def test_room_to_grow_is_an_eighth() -> None:
    growing = Growing("int64")
    for _ in range(1_000):
        growing.append(pa.array(range(100), pa.int64()).to_numpy())
    assert 800_000 <= growing.nbytes <= 800_000 * 1.13
