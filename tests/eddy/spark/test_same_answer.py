"""Every policy, through Spark: the naive answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import StreamingQueryException

import eddy
from eddy.policies.registry import POLICIES
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import DAY, SECOND, WINDOW, local, query, rows, table
from tests.eddy.test_same_answer import rows_of
from tests.policies.choices import chosen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("big", "odd", "low", "far", "known")

LOOKUP = pa.table({"k": [0, 1, 2, 3, 4, 5, 6, 6, None], "name": list("abcdefghi")})

BATCHES = 2
"""Of every policy's query: the second goes on from the state of the first."""


def odd(v: npt.NDArray[np.int32]) -> Any:
    return v % 2 == 1


def everything() -> eddy.Query:
    """Three streams, a table, and filters of every kind: on a stream, on a table, on two streams."""
    return query(
        "abc",
        tables=[eddy.Table("t")],
        joins=["a.k = b.k", "b.k = c.k", "c.k = t.k"],
        filters=[
            eddy.Filter("big", on="a", where="a.v > 20"),
            eddy.Filter("odd", on="b", function=odd),
            eddy.Filter("low", on="c", where="c.v < 80"),
            eddy.Filter("far", on=("a", "c"), where="abs(a.v - c.v) > 10"),
            eddy.Filter("known", on="t", where="t.name <> 'c'"),
        ],
    )


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_gives_the_same_answer(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    data = {name: rows(seed, batches=BATCHES) for seed, name in enumerate("abc")}
    asked = everything()
    frames = {**feeds.streams(spark, tmp_path / "in", data), "t": LOOKUP}
    choice = chosen(policy, NAMES, "a.v")
    found = feeds.answer(eddy.attach(asked, frames, policy=choice, cells=3, pushdown=False), tmp_path / "checkpoint")
    expected = local(asked, {**data, "t": LOOKUP})
    assert found.rows == expected
    assert len(expected) > 100
    operators = set(found.report.operators()["operator"])
    assert set(NAMES) <= operators


@pytest.mark.parametrize(("count", "cells"), [(1_000, 3), (3, 1)])
def test_windows_of_rows_where_all_joins_share_a_key(
    spark: SparkSession, tmp_path: Path, count: int, cells: int
) -> None:
    """Then there may be several cells, and each has windows of its own; here every window holds all that can come.

    In few rows those that a filter drops count as well: Spark must not take them out before.
    """
    streams = [eddy.Stream(name, time="ts", window=eddy.Rows(count)) for name in "ab"]
    data = {name: rows(seed) for seed, name in enumerate("ab")}
    asked = query(streams=streams)
    found = feeds.answer(eddy.attach(asked, feeds.streams(spark, tmp_path / "in", data), cells=cells), tmp_path / "c")
    assert found.rows == local(asked, data)


@pytest.mark.parametrize(
    ("kind", "name", "unit"),
    [(pa.int32(), "int", ""), (pa.float64(), "double", ""), (pa.timestamp("us"), "timestamp_ntz", " seconds")],
    ids=str,
)
def test_times_of_other_types(spark: SparkSession, tmp_path: Path, kind: pa.DataType, name: str, unit: str) -> None:
    """Spark's watermark takes a number as a millisecond; nothing else is changed by that."""
    data = {name: [retimed(part, kind) for part in rows(seed)] for seed, name in enumerate("ab")}
    window, delay = (f"{WINDOW}{unit}", f"2{unit}") if unit else (WINDOW, 2)
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(window), delay=delay) for name in "ab"]
    asked = query(streams=streams)
    frames = feeds.streams(spark, tmp_path / "in", data)
    assert frames["a"].schema["ts"].dataType.simpleString() == name
    found = feeds.answer(eddy.attach(asked, frames, pushdown=False, cells=2), tmp_path / "checkpoint")
    run = eddy.run_local(asked, data)
    assert found.rows == rows_of(run.results)
    assert found.report.batches()["late"].sum() == run.report.batches()["late"].sum() > 0


def retimed(part: pa.Table, kind: pa.DataType) -> pa.Table:
    """The rows with times of another type; numbers are seconds of the first day."""
    times = part["ts"]
    if not pa.types.is_timestamp(kind):
        times = pc.divide(pc.subtract(times.cast(pa.int64()), DAY), SECOND)
    return part.set_column(0, "ts", times.cast(kind))


def arriving(part: pa.Table, *after: float | None) -> pa.Table:
    """The rows with a time at which they arrived, given in seconds."""
    return part.append_column("at", table(after, [0] * len(after), [0] * len(after))["ts"])


def test_rows_of_a_clock_that_runs_ahead(spark: SparkSession, tmp_path: Path) -> None:
    """One moves Spark's watermark, and makes all that follows late; with a limit it does not, as here so in Spark."""
    streams = [eddy.Stream(name, time="ts", window=eddy.Range("50 seconds"), delay="10 seconds") for name in "ab"]
    ahead = 300 * 365 * 86_400
    # Later rows are as far ahead as they may be, a microsecond further, or arrived at a time that nobody knows.
    data = {
        "a": [
            arriving(table([100, ahead], [1, 1], [1, 2]), 101, 102),
            arriving(table([103, 102], [1, 2], [3, 4]), 3, 1.999_999),
        ],
        "b": [
            arriving(table([100, ahead], [1, 2], [1, 2]), 101, 102),
            arriving(table([102, 101.000_05, 101.000_051], [1, 2, 2], [3, 4, 5]), None, 101, 101),
        ],
    }
    asked = query(streams=streams, filters=[], select=["a.v AS a", "b.v AS b"])
    frames = feeds.streams(spark, tmp_path / "in", data)
    found = feeds.answer(eddy.attach(asked, frames, cells=1), tmp_path / "with")
    assert sorted(found.rows) == [(1, 1)]
    assert found.report.batches()["late"].tolist() == [0, 5]
    limits = {"a": "100 seconds", "b": "50 microseconds"}
    limited = [replace(s, max_ahead=limits[s.name], arrived="at") for s in streams]
    asked = query(streams=limited, filters=[], select=["a.v AS a", "b.v AS b"])
    found = feeds.answer(eddy.attach(asked, frames, cells=3), tmp_path / "limited")
    assert sorted(found.rows) == [(1, 1), (1, 3), (3, 1), (3, 3)]
    assert found.rows == local(asked, data)
    assert found.report.batches()[["ahead", "late"]].sum().tolist() == [4, 0]
    failing = query(streams=[replace(s, bad_rows="fail") for s in limited], filters=[], select=["a.v"])
    with pytest.raises(StreamingQueryException, match='1 more than max_ahead, 100 seconds, after "at"'):
        feeds.answer(eddy.attach(failing, frames, cells=1), tmp_path / "failing")


def test_a_row_without_an_answer_fails_only_if_everything_else_lets_it_pass(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its key cannot be computed, nor a filter, so it goes to all cells; there another filter drops it, or none."""
    data = {
        "a": [table([100, 101], [0, 1], [1, 2]), table([102], [2], [3])],
        "b": [table([100, 101], [6, 3], [1, 2]), table([102], [5], [3])],
    }
    ratio = eddy.Filter("ratio", on="a", where="a.v / a.k > 0")
    frames = feeds.streams(spark, tmp_path / "in", data)
    guarded = query(
        joins=["6 div a.k = b.k"],
        filters=[ratio, eddy.Filter("some", on="a", where="a.k <> 0")],
        select=["a.v", "b.v AS w"],
    )
    found = feeds.answer(eddy.attach(guarded, frames, cells=3, pushdown=False), tmp_path / "guarded")
    assert sorted(found.rows) == [(2, 1), (3, 2)]
    open_ = query(joins=["6 div a.k = b.k"], filters=[ratio], select=["a.v", "b.v AS w"])
    with pytest.raises(StreamingQueryException, match="Everything else lets it pass"):
        feeds.answer(eddy.attach(open_, frames, cells=3), tmp_path / "open")
