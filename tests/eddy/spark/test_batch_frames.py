"""attach over a batch frame, where nothing is to be kept: Spark's own answer, its report, rows that are put aside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import eddy
from eddy.engine.snapshot import unpack
from eddy.engine.snapshot_file import read_file
from tests.sparks import WITHOUT_STATE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 2_000


def is_third(k: pd.Series) -> pd.Series:
    return k % 3 == 0


def divides(k: int) -> bool:
    return 1_000 // (k % 7) > 200


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.range(ROWS).selectExpr("id AS k", "concat('row ', id) AS text", "array(id) AS `odd name`")


def query(**more: Any) -> eddy.Query:
    filters = [
        eddy.Filter("low", on="a", where="k < 1500"),
        eddy.Filter("third", on="a", function=is_third, columns=["k"]),
        eddy.Filter("divides", on="a", function=divides, columns=["k"], rowwise=True, on_error="reject"),
    ]
    return eddy.Query(
        name="batch", streams=[eddy.Stream("a")], filters=filters, select=["a.text", "a.k AS key"], **more
    )


@WITHOUT_STATE
def test_the_answer_and_its_report(frame: DataFrame) -> None:
    answer = eddy.attach(query(), {"a": frame})
    assert not answer.isStreaming
    assert answer.columns == ["text", "key"]
    assert sorted(row["key"] for row in answer.collect()) == [k for k in range(0, 1_500, 3) if 0 < k % 7 < 5]
    report = eddy.report_of(answer)
    # Spark has evaluated the text before.
    assert report.operators()["operator"].tolist() == ["third", "divides"]
    assert report.streams()["rows"].sum() == 1_500
    assert "evaluated by Spark, before: k < 1500" in eddy.explain(answer)


@WITHOUT_STATE
def test_rows_without_an_answer_are_put_aside(frame: DataFrame) -> None:
    """With all columns of the stream, whatever is selected."""
    aside = eddy.rejected(eddy.attach(query(), {"a": frame}))
    assert aside.columns == ["k", "text", "odd name", "rejected_by", "rejected_because"]
    found = aside.collect()
    assert sorted(row["k"] for row in found) == [*range(0, 1_500, 21)]
    assert {row["rejected_by"] for row in found} == {"divides"}


@pytest.mark.parametrize(
    ("query", "options", "said"),
    [
        (query(), {"state": "store"}, "since state and cells are of one, got a batch one"),
        (query(), {"cells": 2}, "since state and cells are of one, got a batch one"),
        (query(), {"remember": "x", "state": "none", "policy": "fixt"}, 'unknown policy "fixt"'),
        (query(), {"remember": 3}, "attach: remember: expected the path of a folder, got 3"),
        (query(max_results=5), {}, "since max_results counts the results of a whole micro-batch, got a batch one"),
    ],
    ids=["state", "cells", "policy", "path", "limit"],
)
def test_what_needs_state_needs_a_stream(frame: DataFrame, query: eddy.Query, options: Any, said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        eddy.attach(query, {"a": frame}, **options)


def test_where_there_is_state_nothing_else_is_remembered(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value AS k", "'x' AS text")
    with pytest.raises(eddy.QueryError, match="attach: remember: expected none where there is a state store"):
        eddy.attach(query(), {"a": stream}, state="store", remember="learned")


@WITHOUT_STATE
def test_what_was_learned_outlives_the_call(frame: DataFrame, tmp_path: Path) -> None:
    """The answer is the same, and whoever comes next goes on."""
    for seed in (1, 2):
        answer = eddy.attach(query(), {"a": frame}, remember=tmp_path / "learned", seed=seed, policy="source")
        assert answer.count() == len([k for k in range(0, 1_500, 3) if 0 < k % 7 < 5])
        found = [*map(read_file, (tmp_path / "learned").iterdir())]
        # Files of one application stay: their writers may be at work yet.
        assert len(found) >= seed
        assert max(unpack(one)[0]["came"]["a"]["rows"] for one in found if one) > (seed - 1) * 1_000
