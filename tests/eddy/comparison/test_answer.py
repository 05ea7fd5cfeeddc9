"""Digests of answers: equal where a naive comparison says so, and nowhere else."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.comparison.answer import agree, digest, digest_in_order
from eddy.errors import EngineError

VALUES = st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.one_of(st.none(), st.sampled_from(["", "a", "b"])))
ROWS = st.lists(VALUES, max_size=5)


def answer(rows: list[Any]) -> pa.Table:
    return pa.table({"n": pa.array([n for n, _ in rows], pa.int64()), "t": pa.array([t for _, t in rows], pa.string())})


@given(ROWS, ROWS)
def test_equal_for_the_same_multiset_of_rows_and_for_no_other(first: list[Any], second: list[Any]) -> None:
    assert (digest(answer(first)) == digest(answer(second))) == (Counter(first) == Counter(second))


@given(ROWS, ROWS)
def test_in_order_equal_for_the_same_list(first: list[Any], second: list[Any]) -> None:
    assert (digest_in_order(answer(first)) == digest_in_order(answer(second))) == (first == second)


@pytest.mark.parametrize(
    ("type", "one", "other"),
    [
        (pa.int64(), 2**53, 2**53 + 1),
        (pa.decimal128(20, 2), Decimal("1.10"), Decimal("1.20")),
        (pa.list_(pa.int64()), [1, 2], [2, 1]),
        (pa.struct([("a", pa.int64())]), {"a": 1}, {"a": 2}),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)], [("a", 2)]),
        (pa.binary(), b"a", b"b"),
        (pa.timestamp("us", "UTC"), 1, 2),
        (pa.float64(), 0.1, 0.2),
        (pa.bool_(), True, False),
        (pa.date32(), 1, 2),
    ],
)
def test_every_type_is_told_apart_beside_a_null(type: pa.DataType, one: Any, other: Any) -> None:
    first, same, second = (pa.table({"a": pa.array([v, None], type)}) for v in (one, one, other))
    assert digest(first) == digest(same) != digest(second)
    assert digest(first) == digest(first.take(pa.array([1, 0])))


def test_columns_are_told_apart() -> None:
    one, other = pa.table({"a": [1], "b": [2]}), pa.table({"a": [2], "b": [1]})
    assert digest(one) != digest(other)
    assert digest(pa.table({"a": pa.array([], pa.int64())})) == digest(pa.table({"a": pa.array([], pa.int64())}))


def test_answers_that_differ_are_an_error() -> None:
    first = ("first", digest(pa.table({"id": [1, 2]})))
    agree(first, ("second", digest(pa.table({"id": [2, 1]}))), "lab")
    with pytest.raises(EngineError, match='lab: the policies "first" and "third" give different answers, 2 and 1 rows'):
        agree(first, ("third", digest(pa.table({"id": [1]}))), "lab")
