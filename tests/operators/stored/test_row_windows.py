"""Windows of the newest rows of each value, as a list of lists would have them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.operators.stored.columns import make_column
from eddy.operators.stored.row_windows import HAS_LEFT, STAYS, NewestOfEach, number_values
from eddy.query.binding import bind

VALUES = st.lists(st.lists(st.sampled_from([None, 0, 1, 2]), max_size=6), max_size=6)


@given(batches=VALUES, count=st.integers(1, 3), clears=st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_row_leaves_with_the_row_that_outruns_it(
    batches: list[list[int | None]], count: int, clears: list[bool]
) -> None:
    column = make_column(pa.int64())
    window = NewestOfEach(count, [column])
    stored: list[int] = []  # the numbers of the rows, as they came
    came: dict[int | None, list[int]] = defaultdict(list)
    arrived = 0
    for batch, clear in zip(batches, clears, strict=False):
        fresh = len(stored)
        column.append(pa.array(batch, pa.int64()))
        for value in batch:
            came[value].append(arrived)
            stored.append(arrived)
            arrived += 1
        window.append(fresh, len(stored), arrived - len(batch))
        ends = {one: rows[n + count] for rows in came.values() for n, one in enumerate(rows[:-count])}
        first = arrived - len(batch)
        for row, rank in zip(stored, window.ranks.tolist(), strict=True):
            end = ends.get(row)
            assert rank == STAYS if end is None else rank == HAS_LEFT if end < first else stored[rank] == end
        left = window.settle(len(stored))
        assert [stored[n] for n in left] == [row for row in stored if ends.get(row, -1) >= first]
        if clear:
            kept = np.array([n for n, row in enumerate(stored) if row not in ends], np.int64)
            for one in (column, *window.rowwise):
                one.keep(0, kept)
            stored = [stored[n] for n in kept]
            assert (window.ranks == STAYS).all()


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (pa.array([0.0, -0.0, None, np.nan, -np.nan], pa.float64()), [0, 0, 2, 1, 1]),
        (pa.array(["a", None, "b", "a"]).dictionary_encode(), [0, 2, 1, 0]),
        (pa.array([True, False, None]), [0, 1, 2]),
        (pa.nulls(3), [0, 0, 0]),
    ],
)
def test_values_that_are_equal_have_one_number(values: pa.Array, numbers: list[int]) -> None:
    found = number_values([values], len(values)).tolist()
    alike = [[a == b for b in numbers] for a in numbers]
    assert [[a == b for b in found] for a in found] == alike


def test_what_is_stored_is_the_newest_report_of_each_car() -> None:
    rng = np.random.default_rng(1)
    reports, cars = 60_000, 3_000
    tables = {
        "reports": pa.table({"t": np.arange(reports), "car": rng.integers(0, cars, reports)}),
        "tolls": pa.table({"t": np.arange(reports), "car": rng.integers(0, cars, reports)}),
    }
    query = eddy.Query(
        streams=[
            eddy.Stream("reports", time="t", window=eddy.Rows(1, by="car"), delay=0),
            eddy.Stream("tolls", time="t", window=eddy.Range(0), delay=0),
        ],
        joins=["reports.car = tolls.car"],
    )
    run = eddy.run_local(query, tables, batch_rows=1_000)
    streams = run.report.streams()
    assert streams[streams["stream"] == "reports"]["stored"].max() <= 1.2 * cars
    newest: dict[int, int] = {}
    expected = set()
    for t, (report, toll) in enumerate(
        zip(tables["reports"]["car"].to_pylist(), tables["tolls"]["car"].to_pylist(), strict=True)
    ):
        newest[report] = t
        if toll in newest:
            expected.add((toll, newest[toll], t))
    # A report finds tolls too, those of its own time: these had not come before it.
    found = {(r["reports_car"], r["reports_t"], r["tolls_t"]) for r in run.results.to_pylist()}
    assert found == expected


SCHEMA = pa.schema([("t", pa.int64()), ("car", pa.int64()), ("where", pa.list_(pa.int64()))])


@pytest.mark.parametrize(
    ("window", "told"),
    [
        (lambda: eddy.Rows(1, by="color"), r"window Rows\(1, by=\('color',\)\): unknown column \"color\""),
        (lambda: eddy.Rows(1, by=["where"]), 'rows cannot be counted by column "where" of type list'),
        (lambda: eddy.Rows(1, by=["car", "car"]), 'entry "car" stands twice'),
        (lambda: eddy.Rows(1, by=[""]), "window Rows: by: expected one text or more"),
    ],
)
def test_columns_that_are_none(window: Any, told: str) -> None:
    def ask() -> None:
        streams = [eddy.Stream("a", time="t", window=window()), eddy.Stream("b", time="t")]
        bind(eddy.Query(streams=streams, joins=["a.car = b.car"]), {"a": SCHEMA, "b": SCHEMA})

    with pytest.raises(eddy.QueryError, match=told):
        ask()


def test_columns_are_found_in_any_case() -> None:
    streams = [eddy.Stream("a", time="t", window=eddy.Rows(1, by="CAR")), eddy.Stream("b", time="t")]
    bound = bind(eddy.Query(streams=streams, joins=["a.t = b.t"]), {"a": SCHEMA, "b": SCHEMA})
    assert bound.query.streams[0].window == eddy.Rows(1, by="car")
    assert bound.find_stored("a").names == ["t", "car", "where"]
