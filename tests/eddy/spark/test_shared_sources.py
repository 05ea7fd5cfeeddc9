"""One source under several names on Spark: read, sent and stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.query.binding import bind
from eddy.spark.cell import unpack_arrivals
from eddy.spark.layout.hashing import label
from eddy.spark.layout.layout import Layout
from eddy.spark.layout.planning import plan_layout
from eddy.spark.layout.shared import SharedLayout, StreamLayout
from eddy.spark.parcels import Naming, pack
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import BIG, local, odd, rows
from tests.tries import fewer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema({"id": pa.int64(), "ts": pa.int64(), "k": pa.int64(), "m": pa.int64()})

JOINS = (
    ["a.k = b.k", "b.k = c.k"],
    ["a.k = b.m", "b.m = c.k"],
    ["a.k = b.k", "b.m = c.m"],
    ["a.k < b.k", "b.k = c.k"],
    ["a.k = b.m", "c.ts > a.ts"],
)
"""Joins by which rows go to the same cells under all names, or to others under each."""


def one_source(joins: Sequence[str], names: str = "abc") -> eddy.Query:
    streams = [eddy.Stream(n, time="ts", delay=0, window=eddy.Range(50), source="all") for n in names]
    return eddy.Query(streams=streams, joins=joins, select=["a.id"])


def lay_out(query: eddy.Query, cells: int, heavy: Mapping[str, Sequence[Any]]) -> Layout:
    return plan_layout(bind(query, dict.fromkeys("abc", SCHEMA)), cells, heavy=heavy)


@fewer(2)
@given(
    joins=st.sampled_from(JOINS),
    cells=st.integers(1, 7),
    keys=st.lists(st.tuples(st.none() | st.integers(0, 5), st.none() | st.integers(0, 5)), max_size=30),
    marked=st.lists(st.sampled_from("abc"), unique=True),
    seed=st.integers(0, 99),
    is_heavy=st.booleans(),
)
def test_each_cell_gets_each_row_once_that_some_name_needs(
    joins: list[str],
    cells: int,
    keys: list[tuple[int | None, int | None]],
    marked: list[str],
    seed: int,
    is_heavy: bool,
) -> None:
    """It has under every name the rows that a parcel for this name alone would bring, and the same copies."""
    query = one_source(joins)
    layout = lay_out(query, cells, {"a.k": [1, 2]} if is_heavy and "a.k = " in joins[0] else {})
    numbers, chance = range(len(keys)), np.random.default_rng(seed)
    columns = [pa.array(part, pa.int64()) for part in (numbers, numbers, [k for k, _ in keys], [m for _, m in keys])]
    batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    marks = {name: chance.random(len(keys)) < 0.5 for name in marked}
    sent = batch
    for name, mask in marks.items():
        sent = sent.append_column(f"{name}>", pa.array(mask))
    parcels = list(pack([sent], query.streams[0], layout, naming=Naming(SharedLayout.of(layout, "abc"), marked)))
    frame = pa.Table.from_batches(parcels).to_pandas() if parcels else None
    for cell in range(layout.cells):
        came = unpack_arrivals(
            [] if frame is None else [frame[frame["cell"] == label(cell)]], {"all": SCHEMA}, {"all": "abc"}
        )
        ids = came.rows["all"].column("id").to_numpy()
        assert len(set(ids.tolist())) == len(ids)
        needed = np.zeros(len(ids), np.bool_)
        for name in "abc":
            wanted = came.wanted.get(name, np.ones(len(ids), np.bool_))
            copied = came.copies.get(name, np.zeros(len(ids), np.bool_))
            own = batch.filter(pa.array(marks[name])) if name in marks else batch
            alone = {
                row: is_copy
                for placed in layout.place(name, own)
                if placed.cell == cell
                for row, is_copy in zip(
                    placed.rows.column("id").to_pylist(),
                    [False] * placed.rows.num_rows if placed.copied is None else placed.copied.tolist(),
                    strict=True,
                )
            }
            assert dict(zip(ids[wanted].tolist(), copied[wanted].tolist(), strict=True)) == alone
            needed |= wanted
        assert needed.all()


def test_names_that_are_joined_by_one_column_go_together() -> None:
    """Then nothing is said of the rows of a parcel, and it is as large as one for a single name."""
    for joins, is_alike in zip(JOINS, (True, False, False, False, False), strict=True):
        assert goes_together(lay_out(one_source(joins), 4, {}), "abc") == is_alike
    heavy = lay_out(one_source(JOINS[0]), 4, {"a.k": [1]})
    assert not goes_together(heavy, "abc")
    # Rows of the others with a heavy value are copied under both names.
    assert goes_together(heavy, "bc")


@pytest.mark.parametrize("cells", [1, 3])
def test_queries_that_read_other_columns_go_together(cells: int) -> None:
    """A layout is planned for what its own query reads; rows have the columns of all."""
    query = eddy.Query(streams=[eddy.Stream(n, time="ts") for n in "ab"], joins=["a.k = b.k"], select=["a.k AS k"])
    own = [pa.schema([field for field in SCHEMA if field.name != left]) for left in ("m", "id")]
    layouts = [plan_layout(bind(query, dict.fromkeys("ab", schema)), cells) for schema in own]
    shared = SharedLayout({f"{n}.a": StreamLayout(layout, "a") for n, layout in enumerate(layouts)})
    assert len(shared.groups) == 1
    rows = pa.RecordBatch.from_pylist([{"id": n, "ts": n, "k": n, "m": n} for n in range(9)], schema=SCHEMA)
    placed = shared.place(rows, {})
    assert sorted(n for part in placed for n in part.rows.column("m").to_pylist()) == [*range(9)]
    assert not any(part.wanted or part.copied for part in placed)


def test_each_name_hears_how_far_its_own_rows_have_come() -> None:
    """A row that Spark has dropped for one name makes none late there."""
    query = one_source(JOINS[0])
    layout = SharedLayout.of(lay_out(query, 2, {}), "abc")
    rows = [{"id": n, "ts": at, "k": 1, "m": 1} for n, at in enumerate([5, 9, 7])]
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    marks = {"a": [True, False, True], "c": [False, False, False]}
    for name, mask in marks.items():
        batch = batch.append_column(f"{name}>", pa.array(mask))
    parcels = list(pack([batch], query.streams[0], layout.names["a"].layout, tell=2, naming=Naming(layout, [*marks])))
    frame = pa.Table.from_batches(parcels).to_pandas()
    for cell in range(2):
        came = unpack_arrivals([frame[frame["cell"] == label(cell)]], {"all": SCHEMA}, {"all": "abc"})
        assert came.newest == {"a": 7_000, "b": 9_000}


def goes_together(layout: Layout, names: str) -> bool:
    return len(SharedLayout.of(layout, names).groups) == 1


WINDOW = eddy.Range("15 seconds")
FIRST = [BIG, eddy.Filter("odd", on="b", function=odd)]
BOTH = [BIG, eddy.Filter("low", on="b", where="v < 90"), eddy.Filter("spark", on="b", where="pmod(b.v, 2) = 1")]


@pytest.mark.parametrize(
    ("joins", "filters", "cells", "pushdown"),
    [
        (["a.k = b.k and a.v < b.v"], FIRST, 3, True),
        pytest.param(["a.k = b.v"], BOTH, 4, True, marks=pytest.mark.long),
        (["a.k = b.v"], BOTH, 4, False),
        pytest.param(["a.k = b.k and a.v < b.v"], BOTH, 2, True, marks=pytest.mark.long),
    ],
)
def test_a_self_join_answers_as_two_stores_do(
    spark: SparkSession,
    tmp_path: Path,
    joins: list[str],
    filters: list[eddy.Filter],
    cells: int,
    pushdown: bool,
) -> None:
    """By one column and by two, with filters that Spark evaluates under one name, both or none."""
    streams = [eddy.Stream(name, time="ts", window=WINDOW, delay="60 seconds", source="views") for name in "ab"]
    query = eddy.Query(streams=streams, joins=joins, filters=filters)
    data = {"views": rows(3)}
    frames = feeds.streams(spark, tmp_path / "in", data)
    # A filter of Spark's own SQL, which the local engine has not.
    known = [replace(f, where="b.v % 2 = 1") if f.name == "spark" else f for f in filters]
    expected = local(replace(query, filters=known), data)
    assert sum(expected.values()) > 9
    found = feeds.answer(eddy.attach(query, frames, cells=cells, pushdown=pushdown), tmp_path / "checkpoint")
    assert found.rows == expected
    counted = found.report.streams().groupby("stream")[["rows", "late"]].sum()
    assert (counted["rows"] == 120).all() != pushdown
    assert {len(progress.sources) for progress in found.query.recentProgress} == {1}


def test_a_statement_reads_a_view_once(spark: SparkSession, tmp_path: Path) -> None:
    frames = feeds.streams(spark, tmp_path / "in", {"views": rows(4)})
    frames["views"].createOrReplaceTempView("views")
    text = """
        SELECT a.v AS one, b.v AS other FROM STREAM views WATERMARK ts DELAY OF INTERVAL 1 MINUTE [RANGE 9 SECONDS] AS a
        JOIN STREAM views WATERMARK ts DELAY OF INTERVAL 1 MINUTE [ROWS 3] AS b ON a.k = b.k
    """
    found = feeds.answer(eddy.attach(text, cells=1), tmp_path / "checkpoint")
    assert found.rows == local(eddy.Statement(text).query, {"views": rows(4)})
    assert {len(progress.sources) for progress in found.query.recentProgress} == {1}
