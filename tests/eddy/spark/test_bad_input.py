"""What is wrong is said at attach() where it can be known there, and else by one clear error of a worker."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import eddy
from eddy.spark.before import frames as frames_module
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import query, rows, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SLOW = r'filter "slow": .* called with 1 rows, .*time_limit of 0.1 seconds; .*; rows of "a" with ts from 20'


def holds_a_lock() -> Callable[..., Any]:
    lock = threading.Lock()

    def function(v: pd.Series) -> Any:
        with lock:
            return v > 0

    return function


@pytest.fixture(scope="module")
def frames(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, DataFrame]:
    place = tmp_path_factory.mktemp("bad")
    return feeds.streams(spark, place, {"a": rows(1), "b": rows(2)})


Change = Callable[[Any, dict[str, Any]], tuple[eddy.Query, dict[str, Any], dict[str, Any]]]

CASES: list[tuple[Change, str]] = [
    (lambda s, f: (query(), {"a": f["a"]}, {}), 'expected data for every stream and table, got none for "b"'),
    (lambda s, f: (query(), {**f, "c": f["a"]}, {}), 'unknown stream or table "c"'),
    (lambda s, f: (query(), {}, {}), 'expected a streaming DataFrame for "a", "b", got none'),
    (lambda s, f: (query(), {**f, "a": rows(1)[0]}, {}), 'frame "a": expected a streaming DataFrame, got Table'),
    (
        lambda s, f: (query(), {**f, "a": s.createDataFrame(rows(1)[0])}, {}),
        'frame "a": expected a streaming DataFrame, since rows are kept to be joined, got a batch one; read it with',
    ),
    (lambda s, f: (query(), {**f, "a": f["a"].drop("ts")}, {}), 'stream "a": time "ts": unknown column "ts"'),
    (
        lambda s, f: (query(), {**f, "a": f["a"].withColumn("ts", f["a"].ts.cast("string"))}, {}),
        'stream "a": time "ts": expected a time column that is a timestamp, .* got string',
    ),
    (lambda s, f: (query(), {**f, "a": f["a"].drop("k")}, {}), 'unknown column "a.k"'),
    (
        lambda s, f: (query(), {**f, "a": f["a"].selectExpr("ts", "v", "array(k) AS k")}, {}),
        'join "a.k = b.k": ',
    ),
    (
        lambda s, f: (query(), {**f, "a": f["a"].selectExpr("*", "interval 1 month AS m")}, {}),
        'frame "a": column "m": Spark cannot hand values of type interval month to Python',
    ),
    (lambda s, f: (query(), f, {"policy": "fixt"}), 'unknown policy "fixt"; did you mean "fixed"'),
    (lambda s, f: (query(), f, {"cells": 0}), "cells: expected a whole number from 1 to"),
    (lambda s, f: (query(), f, {"seed": -1}), "seed: expected a whole number of 0 or more, got -1"),
    (
        lambda s, f: (
            query(streams=[eddy.Stream(n, time="ts", max_ahead="3 days", arrived="at") for n in "ab"]),
            {name: frame.withColumn("at", frame.ts.cast("timestamp_ntz")) for name, frame in f.items()},
            {},
        ),
        'stream "a": arrived: expected a column of the kind of time "ts", a timestamp, got "at", which is .* without',
    ),
    (
        lambda s, f: (
            query(streams=[eddy.Stream(n, time="ts", max_ahead="3 days", arrived="at") for n in "ab"]),
            {name: frame.selectExpr("*", "interval 1 month AS at") for name, frame in f.items()},
            {},
        ),
        'frame "a": column "at": Spark cannot hand values of type interval month to Python',
    ),
    (
        lambda s, f: (query(filters=[eddy.Filter("locked", on="a", function=holds_a_lock())]), f, {}),
        'filter "locked": its function cannot be sent to the workers, TypeError: .*lock',
    ),
    (
        lambda s, f: (query(tables=[eddy.Table("t")], joins=["a.k = b.k", "a.k = t.k"]), {**f, "t": f["a"]}, {}),
        'table "t": expected a batch DataFrame, got a streaming one',
    ),
    (
        lambda s, f: (query(tables=[eddy.Table("t")], joins=["a.k = b.k", "a.k = t.k"]), {**f, "t": [1]}, {}),
        'table "t": expected a batch DataFrame of Spark or pandas, .* got list',
    ),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_can_be_known_is_said_at_once(spark: SparkSession, frames: Mapping[str, DataFrame], number: int) -> None:
    change, message = CASES[number]
    asked, given, options = change(spark, dict(frames))
    with pytest.raises(eddy.QueryError, match=message):
        eddy.attach(asked, given, **options)


def test_a_table_must_be_small(frames: Mapping[str, DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames_module, "LARGEST_TABLE", 1 << 20)
    asked = query(tables=[eddy.Table("t")], joins=["a.k = b.k", "a.k = t.k"])
    large = pa.table({"k": pa.array(range(200_000), pa.int64())})
    with pytest.raises(eddy.QueryError, match=r'table "t": expected at most 1 MB.*got 1 MB; select only the columns'):
        eddy.attach(asked, {**frames, "t": large})


def test_a_column_that_no_one_reads_may_be_of_any_type(frames: Mapping[str, DataFrame]) -> None:
    strange = frames["a"].selectExpr("*", "interval 1 month AS m")
    assert eddy.attach(query(select=["a.v", "b.v AS w"]), {**frames, "a": strange}).columns == ["v", "w"]


def fails(v: Any) -> Any:
    raise ValueError("no such luck")


def test_a_function_that_fails_is_named_with_its_own_line(spark: SparkSession, tmp_path: Path) -> None:
    asked = query("a", filters=[eddy.Filter("luck", on="a", function=fails)])
    frame = eddy.attach(asked, feeds.streams(spark, tmp_path / "in", {"a": [table([1], [1], [1])]}), cells=1)
    message = (
        r'QueryError: filter "luck": function "fails" raised ValueError: no such luck, at line \d+ of .*bad_input.py: '
        r'raise ValueError\("no such luck"\); it was called with 1 rows of a.v int32'
    )
    with pytest.raises(StreamingQueryException, match=message):
        feeds.answer(frame, tmp_path / "checkpoint")


def waits(v: Any) -> Any:
    time.sleep(60)
    return v > 0


@pytest.mark.parametrize(
    ("names", "changes", "message"),
    [
        ("a", {"filters": [eddy.Filter("slow", on="a", function=waits, time_limit="100 milliseconds")]}, SLOW),
        (
            "ab",
            {"max_state": 10},
            r'the stored rows have grown to \d+ bytes, and max_state allows 10: "a" \d rows .*; .*narrow the windows',
        ),
    ],
)
def test_what_is_too_slow_or_too_much_ends_a_query(
    spark: SparkSession, tmp_path: Path, names: str, changes: dict[str, Any], message: str
) -> None:
    frames = feeds.streams(spark, tmp_path / "in", {name: [table([1], [1], [1])] for name in names})
    with pytest.raises(StreamingQueryException, match=message):
        feeds.answer(eddy.attach(query(names, **changes), frames, cells=1), tmp_path / "checkpoint")


def test_what_a_source_could_not_read_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    lines = ['{"ts": "2024-01-01T00:00:01Z", "v": 1}', '{"ts": "2024-01-01T00:00:02Z", "v": "x"}', "{", '{"v": 3}']
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text("\n".join(lines))
    frame = spark.readStream.schema("ts timestamp, v int, _corrupt_record string").json(str(tmp_path / "in"))
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts", malformed="_corrupt_record")], select=["a.v"])
    found = feeds.answer(eddy.attach(asked, {"a": frame}, cells=1), tmp_path / "checkpoint")
    assert sorted(found.rows) == [(1,)]
    assert found.report.streams()[["rows", "malformed", "untimed"]].sum().tolist() == [4, 2, 1]


def test_a_module_that_a_worker_does_not_have_is_named(spark: SparkSession, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "only_here.py").write_text("def bad(v):\n    return v > 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    only_here = importlib.import_module("only_here")
    asked = query("a", filters=[eddy.Filter("bad", on="a", function=only_here.bad)])
    frame = eddy.attach(asked, feeds.streams(spark, tmp_path / "in", {"a": [table([1], [1], [1])]}), cells=1)
    with pytest.raises(
        StreamingQueryException, match=r'filter "bad".*cannot be loaded on a worker.*only_here.*--py-files'
    ):
        feeds.answer(frame, tmp_path / "checkpoint")
