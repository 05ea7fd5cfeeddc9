"""Reports from many cells become one, however they come in."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import eddy
from eddy.observe import wire
from eddy.observe.counters import Counters, StreamCount
from eddy.observe.insight import Decision, Insight, RouteCost, Use
from eddy.observe.statistics import Statistic
from eddy.spark import progress
from eddy.spark.progress import Progress
from eddy.tuples import Hop
from tests.accounts import REASONS, STATES, Accounted, account
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import query, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PATIENCE = 600
"""Looks until what a listener hears of must have come; normally it has come before the first or the second."""


def counters(rows: int, stored: int, calls: int = 0, bucket: int = 0) -> Counters:
    """Counters of a cell where rows with x=7 fall into some bucket."""
    use = Use(operator="f", kind="classified", attribute="a.x", gain_ratio=calls / 10, calls=calls)
    way = RouteCost(route=("f",), share=1.0, predicted=2.0, observed=calls)
    return Counters(
        batch=0,
        streams={"a": StreamCount(rows=rows, untimed=1, late=2, ahead=0, stored=stored, nbytes=1, newest=100 + stored)},
        results=rows,
        decisions=1,
        seconds=0.5,
        planning=0.25,
        learning=0.125,
        operators={Hop("f"): Statistic(rows, rows, 1, 0.5)},
        routes={("a", f"x#{bucket}", ("f",)): rows},
        classes={("a", f"x#{bucket}"): "x=7"},
        insight=Insight(
            uses=[use],
            decisions=[Decision(stream="a", number=bucket, reason="first rows", seconds=0.1, ways=(way,), tree=())],
        ),
        trees={("a", "", bucket): ("-> f",)},
        restoring=1,
        packing=2,
        saving=3,
        state=100,
        watermark=50,
    )


def reports(**parts: Counters) -> list[str]:
    return [json.dumps({"cell": int(cell[1:]), **wire.to_plain(part)}) for cell, part in parts.items()]


def test_cells_add_up_and_idle_ones_keep_what_they_store() -> None:
    run = Progress()
    run.add(3, reports(c0=counters(4, 7, calls=1), c1=counters(6, 5, calls=3, bucket=1)))
    run.add(5, reports(c1=counters(2, 6, calls=4, bucket=1)))
    report = run.report()
    batches = report.batches().set_index("batch")
    assert batches["rows"].to_dict() == {3: 10, 5: 2}
    assert batches["late"].to_dict() == {3: 4, 5: 2}
    assert batches["state_bytes"].to_dict() == {3: 200, 5: 200}
    assert batches["restore_seconds"].to_dict() == {3: 2, 5: 1}
    assert batches["watermark"].to_dict() == {3: 50, 5: 50}
    assert report.streams()["stored"].tolist() == [12, 13]
    assert report.streams()["newest"].tolist() == [107, 107]
    assert report.operators()[["rows_in", "rows_out"]].to_numpy().tolist() == [[12, 3]]
    assert report.routes()[["class", "route", "tuples"]].to_numpy().tolist() == [["x=7", "f", 12]]
    decisions = report.decisions()
    assert decisions[["stream", "predicted", "observed", "tree"]].to_numpy().tolist() == [
        ["a, cell 0", 2.0, 1.0, "-> f"],
        ["a, cell 1", 2.0, 4.0, "-> f"],
    ]
    assert report.learning()["calls"].tolist() == [4, 1]
    assert report.learning()["gain_ratio"].round(3).tolist() == [0.25, 0.34]


def test_a_micro_batch_counts_once_and_one_without_rows_does_not() -> None:
    run = Progress()
    for number in (1, 0, 0, 1):
        run.add(number, reports(c0=counters(1, 1)))
    run.add(2, [])
    assert run.report().batches()["batch"].tolist() == [0, 1]


def test_a_report_that_was_too_long_lacks_its_longest_parts() -> None:
    [text] = reports(c0=counters(1, 1))
    short = {name: value for name, value in json.loads(text).items() if name not in {"routes", "insight"}}
    run = Progress()
    run.add(0, [json.dumps({**short, "left_out": ["routes", "insight"]})])
    assert run.report().batches()["rows"].tolist() == [1]
    assert run.report().routes().empty


def test_only_the_newest_reports_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = reports(c0=counters(1, 1))
    monkeypatch.setattr(progress, "MOST_CHARACTERS", 3 * len(sent[0]))
    run = Progress()
    for number in (0, 2, 1, 4, 3):
        run.add(number, sent)
    assert run.report().batches()["batch"].tolist() == [2, 3, 4]


def test_only_the_newest_runs_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "RUNS", type(progress.RUNS)())
    for number in range(progress.MOST_RUNS + 5):
        progress.find_run(str(number)).add(0, reports(c0=counters(number, 1)))
    assert list(progress.RUNS) == [str(number) for number in range(5, progress.MOST_RUNS + 5)]


def comparable(report: eddy.Report) -> Mapping[str, Any]:
    """What does not depend on a clock."""
    batches = report.batches()[["batch", "rows", "results", "routing_calls", "decisions", "late", "untimed"]]
    operators = report.operators()[["operator", "pattern", "rows_in", "evaluated", "rows_out"]]
    streams = report.streams()[["batch", "stream", "rows", "stored"]]
    frames = {"batches": batches, "operators": operators, "streams": streams, "routes": report.routes()}
    return {name: frame.to_dict("records") for name, frame in frames.items()}


def test_one_cell_reports_what_a_local_run_does(spark: SparkSession, tmp_path: Path) -> None:
    """With the same seed even the routes are the same."""
    data = {"a": rows(1), "b": rows(2)}
    policy = {"name": "random"}
    frame = eddy.attach(
        query(), feeds.streams(spark, tmp_path / "in", data), policy=policy, cells=1, seed=7, pushdown=False
    )
    found = feeds.answer(frame, tmp_path / "checkpoint")
    run = eddy.run_local(query(), data, policy=policy, seed=7)
    assert comparable(found.report) == comparable(run.report)
    assert (found.report.batches()["state_bytes"] > 0).all()


def test_accounts_and_decisions_of_cells_come_with_the_progress(spark: SparkSession, tmp_path: Path) -> None:
    """A cell that is called for the fourth time saves."""
    frames = feeds.streams(spark, tmp_path / "in", {"a": rows(1, count=100, batches=4)})
    found = feeds.answer(eddy.attach(query("a"), frames, policy=Accounted, cells=2), tmp_path / "checkpoint").report
    frame = found.regret()
    assert frame["batch"].tolist() == [0, 1, 2, 3]
    assert set(frame["stream"]) == {"a"}
    assert frame["state"].tolist() == list(STATES)
    for name in ("spent", "written", "saved", "sampling", "duels", "control", "learning"):
        expected = [2 * getattr(account("a", batch), name) for batch in range(4)]
        assert frame[name].tolist() == pytest.approx(expected)
    decided = found.decisions()
    assert set(decided["stream"]) == {"a, cell 0", "a, cell 1"}
    own = decided[(decided["stream"] == "a, cell 1") & (decided["policy"] == "auto")]
    assert own["reason"].tolist() == list(REASONS)


def test_a_query_without_an_eddy_has_no_report(spark: SparkSession, tmp_path: Path) -> None:
    plain = feeds.answer(feeds.stream(spark, tmp_path / "in", rows(1)), tmp_path / "checkpoint")
    with pytest.raises(eddy.QueryError, match=r'report_of: query ".*" has no reports of an eddy; .*eddy.attach'):
        eddy.report_of(plain.query)


def test_more_micro_batches_than_spark_remembers(spark: SparkSession, tmp_path: Path) -> None:
    """The listener hears of them all."""
    frames = feeds.streams(spark, tmp_path / "in", {"a": rows(1, count=10, batches=5)})
    frame = eddy.attach(query("a"), frames, cells=1)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "2")
    try:
        found = feeds.answer(frame, tmp_path / "checkpoint")
    finally:
        spark.conf.unset("spark.sql.streaming.numRecentProgressUpdates")
    for _ in range(PATIENCE):
        if len(found.report.counters) == 5:
            break
        time.sleep(0.1)
    assert found.report.batches()["batch"].tolist() == [0, 1, 2, 3, 4]
