"""Predicates without an answer: whose error it is, what becomes of it, and what is told of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.errors import RowError
from eddy.predicates.faults import FIRST_FAILING, LARGEST_FAULT, PENDING, Faults
from eddy.predicates.row_errors import ask_by_halves
from eddy.tuples.halves import MOST_SINGLE_ROWS
from tests.eddy.test_engine import engine, pairs, query

BAD = {3, 7}


def by_series(v: pd.Series) -> pd.Series:
    if v.isin(BAD).any():
        raise ValueError("a bad one")
    return v % 2 == 1


def by_numpy(v: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return by_series(pd.Series(v)).to_numpy()


def by_row(v: int) -> bool:
    if v in BAD:
        raise ValueError("a bad one")
    return v % 2 == 1


FORMS: list[dict[str, Any]] = [
    {"function": by_series},
    {"function": by_numpy},
    {"function": by_row, "rowwise": True},
    {"where": "v % 2 = 1 and 1 / ((v - 3) * (v - 7)) < 2"},
]


def run(filters: list[eddy.Filter], rows: int = 100, **more: Any) -> eddy.local.Run:
    asked = eddy.Query(streams=[eddy.Stream("a", time="v")], filters=filters, **more)
    return eddy.run_local(asked, {"a": pa.table({"v": range(rows)})}, policy="random", batch_rows=30)


def values(found: eddy.local.Run) -> list[int]:
    return sorted(found.results["a_v"].to_pylist())


@pytest.mark.parametrize("form", FORMS)
def test_each_row_answers_for_itself(form: dict[str, Any]) -> None:
    odd = [v for v in range(100) if v % 2]
    assert values(run([eddy.Filter("f", on="a", on_error="drop", **form)])) == [v for v in odd if v not in BAD]
    assert values(run([eddy.Filter("f", on="a", on_error="keep", **form)])) == odd
    with pytest.raises(eddy.QueryError, match=r'filter "f"(.|\n)*first of 2 such rows or combinations has a.v = 3;'):
        run([eddy.Filter("f", on="a", **form)])


@pytest.mark.parametrize("form", FORMS)
def test_what_another_predicate_drops_is_no_error(form: dict[str, Any]) -> None:
    guard = eddy.Filter("guard", on="a", where="v not in (3, 7)")
    for filters in ([guard, eddy.Filter("f", on="a", **form)], [eddy.Filter("f", on="a", **form), guard]):
        assert values(run(filters)) == [v for v in range(100) if v % 2 and v not in BAD]


def test_errors_are_counted_and_values_shown_only_if_asked_for() -> None:
    filters = [eddy.Filter("f", on="a", function=by_series, on_error="drop")]
    (row,) = run(filters).report.errors().to_dict("records")
    kind = row.pop("kind")
    assert row == {"batch": 0, "predicate": "f", "on_error": "drop", "rows": 2, "sample": ""}
    assert kind.startswith("ValueError at line ")
    assert kind.endswith(" of test_faults.py")
    assert run(filters).report.batches()["errors"].tolist() == [2, 0, 0, 0]
    (shown,) = run(filters, show_values=True).report.errors()["sample"]
    assert "raised ValueError: a bad one" in shown
    assert shown.endswith("; the row: a.v = 3")


def test_a_function_of_single_rows_is_asked_once_about_each() -> None:
    asked: list[int] = []

    def count(v: int) -> bool:
        asked.append(v)
        return by_row(v)

    run([eddy.Filter("f", on="a", function=count, rowwise=True, on_error="drop")])
    assert asked == list(range(100))


def test_a_row_function_may_raise_what_ends_a_loop() -> None:
    def stops(v: int) -> bool:
        if v in BAD:
            raise StopIteration
        return True

    found = run([eddy.Filter("f", on="a", function=stops, rowwise=True, on_error="drop")], rows=10)
    assert values(found) == [0, 1, 2, 4, 5, 6, 8, 9]


def test_a_row_function_whose_result_is_no_boolean_is_wrong_for_that_row() -> None:
    def odd(v: int) -> Any:
        return "yes" if v in BAD else True

    guard = eddy.Filter("guard", on="a", where="v not in (3, 7)")
    asked = eddy.Filter("f", on="a", function=odd, rowwise=True, on_error="drop")
    assert len(values(run([asked, guard], rows=10))) == 8
    with pytest.raises(eddy.QueryError, match=r"expected one boolean for each of 1 rows, got .*string"):
        run([asked], rows=10)


@given(rows=st.integers(0, 200), bad=st.sets(st.integers(0, 199)))
def test_the_rows_that_raise_are_found_with_a_bounded_number_of_calls(rows: int, bad: set[int]) -> None:
    calls = 0

    def ask(part: npt.NDArray[np.int64]) -> list[int]:
        nonlocal calls
        calls += 1
        if bad & set(part.tolist()):
            raise RowError("bad", kind="bad")
        return [int(row) for row in part]

    found = ask_by_halves(ask, rows)
    good = [row for part, _ in found.parts for row in part.tolist()]
    assert sorted(good) == [row for row in range(rows) if row not in bad]
    assert sorted(found.faulty.tolist()) == [row for row in range(rows) if row in bad]
    assert all(part.tolist() == answer for part, answer in found.parts)
    assert calls <= rows + rows // (MOST_SINGLE_ROWS // 2) + 2


NULLS = pa.table({"v": range(6), "w": [1, None, 3, None, 5, 6], "s": ["a", "b", None, None, "e", "f"]})


@pytest.mark.parametrize("rowwise", [False, True])
def test_rows_with_nulls_are_skipped_if_it_is_asked_for_and_counted(rowwise: bool) -> None:
    asked: list[float] = []

    def look(w: Any, s: Any) -> Any:
        asked.extend([w] if rowwise else w)
        if 6 in asked[-1:]:
            raise ValueError("the last one")
        return w != 1

    look.__annotations__ = {} if rowwise else {"s": pa.Array}
    one = eddy.Filter("f", on="a", function=look, rowwise=rowwise, nulls="skip", on_error="keep")
    found = eddy.run_local(eddy.Query(streams=[eddy.Stream("a", time="v")], filters=[one]), {"a": NULLS}, batch_rows=4)
    assert values(found) == [4, 5]
    assert set(asked) == {1, 5, 6}
    counts = found.report.operators(by_batch=True)[["rows_in", "evaluated", "skipped", "rows_out"]]
    assert counts.to_numpy().tolist() == [[4, 4, 3, 0], [2, 2, 0, 2]]
    assert found.report.operators()["skipped"].tolist() == [3]
    assert found.report.batches()["errors"].tolist() == [0, 1]


def test_a_stored_row_is_skipped_once() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(5), delay=0) for s in "ab"]
    skips = eddy.Filter("f", on="b", function=lambda w: w > 0, columns=["w"], nulls="skip")
    asked = eddy.Query(streams=streams, joins=["a.k = b.k"], filters=[skips])
    rows = pa.table({"ts": [1, 1, 1], "k": [7, 7, 7], "w": [1, None, None]})
    policy = {"name": "fixed", "order": ["probe_b", "probe_a", "f"]}
    run = eddy.run_local(asked, {"a": [rows, rows], "b": [rows, rows.slice(0, 0)]}, policy=policy)
    assert run.results.num_rows == 6
    assert run.report.operators()["skipped"].sum() == 2


SLOW = [eddy.Stream(s, time="ts", window=eddy.Range(5), delay=0) for s in "ab"]


def divided(**more: Any) -> eddy.Query:
    return query(streams=SLOW, filters=[eddy.Filter("f", on="a", where="6 / k > 1", **more)])


def test_an_error_waits_for_the_row_that_makes_a_result_of_it() -> None:
    running = engine(divided())
    assert pairs(running, a=[(1, 0), (1, 2)], b=[]) == []
    assert pairs(running, a=[], b=[(2, 2)]) == [(1, 2)]
    with pytest.raises(eddy.QueryError, match=r"division by zero(.|\n)*has a.ts = 1, b.ts = 3"):
        pairs(running, a=[], b=[(3, 0)])


def test_an_error_is_forgotten_with_its_row() -> None:
    running = engine(divided())
    pairs(running, a=[(1, 0)], b=[(1, 7)])
    pairs(running, a=[(20, 7)], b=[(20, 7)])
    assert pairs(running, a=[], b=[(21, 0)]) == []


@pytest.mark.parametrize(("on_error", "found"), [("drop", []), ("keep", [(1, 3)])])
def test_a_restart_may_treat_errors_in_another_way(on_error: str, found: list[tuple[int, int]]) -> None:
    first = engine(divided())
    pairs(first, a=[(1, 0)], b=[])
    saved = first.snapshot()
    again = engine(divided(on_error=on_error))
    again.restore(saved)
    assert pairs(again, a=[], b=[(3, 0)]) == found
    same = engine(divided())
    same.restore(saved)
    with pytest.raises(eddy.QueryError, match="division by zero"):
        pairs(same, a=[], b=[(3, 0)])


def test_after_a_restart_a_function_that_had_no_answer_is_asked_again() -> None:
    working = False

    def mended(k: int) -> bool:
        if not working:
            raise ValueError("not yet")
        return k > 0

    asked = query(streams=SLOW, filters=[eddy.Filter("f", on="a", function=mended, rowwise=True)])
    first = engine(asked)
    pairs(first, a=[(1, 0), (1, 2)], b=[])
    again = engine(asked)
    again.restore(first.snapshot())
    working = True
    assert pairs(again, a=[], b=[(3, 0), (3, 2)]) == [(1, 3)]


def test_more_kinds_of_errors_than_there_are_numbers_share_the_last() -> None:
    faults = Faults()
    errors = [RowError(f"text {n}", kind=f"kind {n}") for n in range(400)]
    numbers = faults.note("f", errors, "fail")
    assert numbers.tolist() == [min(FIRST_FAILING + n, LARGEST_FAULT) for n in range(400)]
    assert faults.find(FIRST_FAILING).text == "text 0"
    assert len(faults.list_counts()) == 400
    rejected = faults.note("g", errors, "reject")
    assert rejected.tolist() == [min(PENDING + n, FIRST_FAILING - 1) for n in range(400)]
    assert faults.find(PENDING)[:2] == ("g", "kind 0")


def hangs(v: int) -> bool:
    while v == 3:
        time.sleep(0.001)
    return True


def hangs_at_once(v: pd.Series) -> pd.Series:
    time.sleep(60)
    return v > 0


def computes(v: pd.Series) -> pd.Series:
    while True:
        v = v + 1


@pytest.mark.parametrize(
    ("function", "rowwise", "rows"),
    [(hangs, True, "row 4 of 10"), (hangs_at_once, False, "10 rows"), (computes, False, "10 rows")],
)
def test_a_call_that_takes_too_long_is_ended(function: Callable[..., Any], rowwise: bool, rows: int) -> None:
    asked = eddy.Filter(
        "slow", on="a", function=function, rowwise=rowwise, columns=["v"], time_limit="50 milliseconds", on_error="drop"
    )
    message = rf'filter "slow": .* called with {rows}, .*time_limit of 0.05 seconds; .*; rows of "a" with v from 0 to 9'
    with pytest.raises(eddy.QueryError, match=message):
        run([asked], rows=10)


def test_a_timer_of_somebody_else_goes_on() -> None:
    before = signal.setitimer(signal.ITIMER_REAL, 1_000)
    try:
        found = run([eddy.Filter("f", on="a", function=by_row, rowwise=True, time_limit="1 hour", on_error="drop")])
        left, _ = signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
    assert 900 < left <= 1_000
    assert len(values(found)) == 48
