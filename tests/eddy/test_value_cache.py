"""Answers by value: each value asked about once, bounded, told; faults, nulls and odd types as without."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.predicates.value_cache import ValueCache, make_keys
from eddy.tuples.arrays import Mask, RowIds
from tests.tries import fewer
from tests.values import given_values

NAN = math.nan
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int64(), [0, 1, 2**53, 2**53 + 1, -1]),
    "bool": (pa.bool_(), [True, False]),
    "float": (pa.float64(), [0.0, -0.0, 1.5, math.inf]),
    "half": (pa.float16(), [np.float16(0.0), np.float16(-0.0), np.float16(1.5)]),
    "text": (pa.string(), ["", "a", "A", "ß"]),
    "bytes": (pa.binary(), [b"", b"a"]),
    "decimal": (pa.decimal128(5, 2), [Decimal("1.00"), Decimal("-1.00")]),
    "far": (pa.timestamp("us"), [0, 2**63 - 1, -(2**63)]),
    "day": (pa.date32(), [datetime.date(2024, 1, 1), datetime.date(1, 1, 1)]),
    "clock": (pa.time64("ns"), [0, 1]),
    "span": (pa.duration("s"), [0, 5]),
    "words": (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
    "list": (pa.list_(pa.float64()), [[], [0.0], [-0.0], [None], [1.0, 2.0]]),
    "struct": (pa.struct({"a": pa.int64()}), [{"a": 1}, {"a": None}]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], []]),
    "interval": (pa.month_day_nano_interval(), [(1, 2, 3), (1, 2, 4)]),
    "none": (pa.null(), []),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_can_be_told_apart_have_keys_of_their_own(kind: str) -> None:
    """The same value twice has one key, and null has another than all."""
    data_type, values = KINDS[kind]
    given = pa.array([*values, None, *values, None], data_type)
    keys = make_keys([given_values(given)])
    assert keys is not None
    assert keys[: len(values) + 1] == keys[len(values) + 1 :]
    assert len(set(keys)) == len(values) + 1


def test_nan_is_a_value_and_no_null() -> None:
    keys = make_keys([given_values(pa.array([NAN, None, NAN, 0.0]))])
    assert keys is not None
    assert keys[0] == keys[2] != keys[1]
    assert len(set(keys)) == 3


def test_what_python_cannot_have_is_asked_about_as_without() -> None:
    """A time of the year 300,000 within a list."""
    far = pa.array([[2**63 - 1]] * 4, pa.list_(pa.timestamp("us")))
    assert make_keys([given_values(far)]) is None

    def all_pass(v: pa.Array) -> pa.Array:
        return pa.array([True] * len(v))

    passed, operators, _ = run(pa.table({"v": far}), all_pass, cache="9 values")
    assert (len(passed), operators["reused"].tolist()) == (4, [0])


CALLS = st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=20)


@given(CALLS, st.integers(1, 20))
def test_a_value_is_asked_about_once_while_it_is_held(calls: list[list[int]], most: int) -> None:
    """Never more than there may be, the same answers as the function's, and those of the last call are held."""
    cache, latest = ValueCache(most), list[int]()
    for values in calls:
        asked: list[int] = []

        def ask(rows: RowIds, values: list[int] = values, asked: list[int] = asked) -> Mask:
            asked.extend(values[row] for row in rows.tolist())
            return np.array([values[row] % 3 == 0 for row in rows.tolist()], np.bool_)

        found = cache.ask([given_values(pa.array(values, pa.int64()))], len(values), ask)
        assert found.tolist() == [value % 3 == 0 for value in values]
        assert set(Counter(asked).values()) <= {1}
        assert len(cache) <= most
        assert cache.take_reused() == len(values) - len(asked)
        if len(set(latest)) <= most * 7 // 8:
            assert not set(asked) & set(latest)
        latest = values


def run(table: pa.Table, function: Any, **options: Any) -> tuple[list[int], pd.DataFrame, pd.DataFrame]:
    """The numbers of the rows that pass; what was counted; and the errors."""
    asked = eddy.Filter("f", on="a", function=function, **options)
    query = eddy.Query(streams=[eddy.Stream("a")], filters=[asked], select=["a.row"])
    table = table.append_column("row", pa.array(range(len(table)), pa.int64()))
    found = eddy.run_local(query, {"a": table}, policy="fixed", batch_rows=7)
    return found.results["row"].to_pylist(), found.report.operators(), found.report.errors()


@pytest.mark.parametrize("on_error", ["drop", "keep"])
@pytest.mark.parametrize("rowwise", [True, False])
@pytest.mark.parametrize("nulls", ["show", "skip"])
@given(st.lists(st.none() | st.sampled_from([0.0, -0.0, 1.0, 2.0, NAN]), max_size=40), st.integers(1, 8))
@fewer(8)
def test_faults_and_nulls_are_as_without(
    on_error: str, rowwise: bool, nulls: str, values: list[float | None], most: int
) -> None:
    """A fault is told of as many rows, and is not kept: whoever asks again may get an answer."""

    def one(v: float | None) -> bool:
        return v is None or math.isnan(v) or math.copysign(1, v) / (v - 1) < 5

    def all_of(v: pd.Series) -> list[bool]:
        return [one(value) for value in v.tolist()]

    table = pa.table({"v": pa.array(values, pa.float64())})
    options = {"on_error": on_error, "rowwise": rowwise, "nulls": nulls, "columns": ["v"]}
    function = one if rowwise else all_of
    without, cached = run(table, function, **options), run(table, function, **options, cache=f"{most} values")
    assert cached[0] == without[0]
    assert cached[2].to_dict() == without[2].to_dict()
    for name in ("rows_in", "evaluated", "skipped", "rows_out"):
        assert cached[1][name].tolist() == without[1][name].tolist()


def test_a_fault_is_asked_about_again() -> None:
    asked: list[int] = []

    def flaky(v: int) -> bool:
        asked.append(v)
        if asked.count(1) == 1 and v == 1:
            raise OSError("busy")
        return True

    table = pa.table({"v": [1, 1, 2, 2, 3, 3, 3, *[1] * 7]})
    passed, operators, errors = run(table, flaky, rowwise=True, on_error="drop", cache="10 values")
    assert asked == [1, 2, 3, 1]
    assert len(passed) == 12
    assert errors["rows"].tolist() == [2]
    assert operators[["evaluated", "reused"]].to_numpy().tolist() == [[14, 10]]


def test_a_fault_that_everything_else_lets_pass_fails_the_query() -> None:
    with pytest.raises(eddy.QueryError, match="raised ZeroDivisionError"):
        run(pa.table({"v": [1, 0, 1, 0]}), lambda v: 1 / v > 0, rowwise=True, cache="10 values", columns=["v"])


def test_rows_of_a_join_and_of_two_inputs() -> None:
    """The values of all columns that the function is given, of whichever input, count as one."""
    rng = np.random.default_rng(5)
    data = {s: pa.table({"ts": range(300), "k": rng.integers(0, 9, 300), "v": rng.integers(0, 4, 300)}) for s in "ab"}
    asked: list[tuple[int, int]] = []

    def differ(a: int, b: int) -> bool:
        asked.append((a, b))
        return a != b

    found = []
    for cache in (None, "100 values"):
        asked.clear()
        both = eddy.Filter("both", on=["a", "b"], function=differ, columns=["a.v", "b.v"], rowwise=True, cache=cache)
        query = eddy.Query(
            streams=[eddy.Stream(s, time="ts", window=eddy.Range(20), delay=0) for s in "ab"],
            joins=["a.k = b.k"],
            filters=[both],
        )
        run = eddy.run_local(query, data, batch_rows=50)
        found.append(sorted(map(repr, run.results.to_pylist())))
        counts = run.report.operators().query("operator == 'both'")[["evaluated", "reused"]].sum()
        assert counts["evaluated"] - counts["reused"] == len(asked)
    assert found[0] == found[1] != []
    assert len(asked) == len(set(asked)) <= 16


@pytest.mark.parametrize("policy", ["source", "content", "auto", "query_mesh"])
def test_routes_by_calls_do_not_depend_on_it(policy: str) -> None:
    """Where only calls count, what is held changes no decision."""
    rng = np.random.default_rng(6)
    table = pa.table({"k": rng.integers(0, 5, 4_000), "v": rng.integers(0, 40, 4_000)})

    def even(v: pd.Series) -> pd.Series:
        return v % 2 == 0

    def third(v: pd.Series) -> pd.Series:
        return v % 3 == 0

    told = []
    for cache in (None, "10 values", "1000 values"):
        filters = [eddy.Filter(f.__name__, on="a", function=f, cache=cache) for f in (even, third)]
        query = eddy.Query(streams=[eddy.Stream("a")], filters=filters)
        choice = {"name": policy, "costs": "unit"}
        found = eddy.run_local(query, {"a": table}, policy=choice, batch_rows=250, clock=float)
        told.append(found.report.operators(by_batch=True)[["batch", "operator", "rows_in", "rows_out"]].to_dict())
    assert told[0] == told[1] == told[2]


def test_only_what_is_asked_costs() -> None:
    table = pa.table({"v": [1, 1, 2, 2, 2, 3]})
    _, operators, _ = run(table, lambda v: v > 1, columns=["v"], cache="10 values", cost=5)
    assert operators["cost"].tolist() == [15.0]


def test_nothing_is_kept_over_a_restart() -> None:
    """It is no part of the state: the answers come from the function again."""
    asked: list[int] = []

    @eddy.predicate(cache="10 values", rowwise=True)
    def odd(v: int) -> bool:
        asked.append(v)
        return v % 2 == 1

    for _ in range(2):
        assert eddy.where(pa.table({"v": [1, 2, 1, 2]}), odd)["v"].to_pylist() == [1, 1]
    assert asked == [1, 2, 1, 2]


@pytest.mark.parametrize("cache", ["", "0 values", "-3 values", "ten values", "10", 10, True, "1" * 20 + " values"])
def test_what_is_no_number_of_values_is_refused(cache: Any) -> None:
    with pytest.raises(eddy.QueryError, match='filter "f": cache: expected the most values that it holds, "10000'):
        eddy.Filter("f", on="a", function=lambda v: v > 1, cache=cache)
