"""The benchmarks in Spark run, on little data, and their contenders find the same; the pieces they are made of."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from benchmarks import feeds, spark_filters, spark_joins, spark_skeleton, statements
from benchmarks.measure import Line
from benchmarks.suite import Suite, slopes
from benchmarks.turns import Contender, start_all, turns
from benchmarks.workloads import COMMON, COMPLETE, Workload
from tests.sparks import WATERMARKS_IN_SQL

WARM = 2
"""Micro-batches: as many as show that they do not count."""


def numbers(rows: int) -> dict[str, pa.Table]:
    return {"s": pa.table({"id": list(range(rows))})}


@pytest.fixture
def own_files(spark: SparkSession) -> Iterator[None]:
    """Give queries the files of Spark as it is: RocksDB copies its own by them, and those of the tests know no copy."""
    settings = {"fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem", "fs.file.impl.disable.cache": "true"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key in settings:
        spark.conf.unset(key)


def plain(place: Path) -> Contender:
    """A query that does nothing."""
    return Contender(frame=lambda spark: feeds.stream(spark, place / "s"))


@pytest.mark.long
def test_each_turn_is_one_micro_batch_of_everybody(spark: SparkSession, tmp_path: Path) -> None:
    suite = Suite(warm=2, sizes=(3, 5), repeats=2, warm_batches=WARM)
    assert suite.batches == [2, 2, 3, 3, 3, 5, 5, 5]
    suite.write(tmp_path, numbers(suite.rows))
    shown: list[Mapping[str, Any]] = []
    times = list(suite.times(spark, {"a": plain(tmp_path), "b": plain(tmp_path)}, tmp_path, shown.append))
    assert [part.shape for part in times] == [(2, 2), (2, 2)]
    assert all((part > 0).all() for part in times)
    assert [len(answers["a"]) for answers in shown] == suite.batches[1:]
    edges = list(itertools.accumulate(suite.batches, initial=0))
    for number, answers in enumerate(shown, 1):
        expected = list(range(edges[number], edges[number + 1]))
        assert answers["a"]["id"].to_pylist() == answers["b"]["id"].to_pylist() == expected


def test_settings_are_those_of_one_contender(spark: SparkSession, tmp_path: Path) -> None:
    feeds.write(tmp_path / "s", [pa.table({"id": [1]})])
    key = spark_joins.PROVIDER
    before = spark.conf.get(key)
    theirs = replace(plain(tmp_path), settings={key: spark_joins.STORES[spark_joins.ROCKSDB][key]})
    with start_all(spark, {"a": theirs}, tmp_path) as running:
        assert spark.conf.get(key) == before
    assert not running["a"].query.isActive


def test_a_query_that_fails_says_why(spark: SparkSession, tmp_path: Path) -> None:
    feeds.write(tmp_path / "s", [pa.table({"id": [1]}), pa.table({"id": [0]})])
    broken = Contender(frame=lambda spark: feeds.stream(spark, tmp_path / "s").selectExpr("1 / id as id"))
    with start_all(spark, {"a": broken}, tmp_path) as running, pytest.raises(RuntimeError, match="DIVIDE_BY_ZERO"):
        turns(running, 1)


def test_a_micro_batch_may_be_several_files(spark: SparkSession, tmp_path: Path) -> None:
    feeds.write(tmp_path / "s", [pa.table({"id": [1, 2, 3]}), pa.table({"id": [4, 5]})], files=2)
    frame = Contender(frame=lambda spark: feeds.stream(spark, tmp_path / "s", 2))
    shown: list[Any] = []
    with start_all(spark, {"a": frame}, tmp_path) as running:
        turns(running, 1, agree=shown.append)
    assert sorted(shown[0]["a"]["id"].to_pylist()) == [4, 5]


def test_slopes_are_those_of_lines() -> None:
    sizes = [1_000, 10_000, 50_000]
    times = [np.array([[1.0 + size * 2e-5, 2.0 + size * 4e-5]] * 3) for size in sizes]
    np.testing.assert_allclose(slopes(sizes, times), [[2e-5, 4e-5]] * 3)


def test_the_skew_is_that_of_the_paper() -> None:
    far, near = spark_filters.selectivities(0.05), spark_filters.selectivities(0.95)
    assert far.shape == near.shape == (8, 6)
    np.testing.assert_allclose(far.prod(axis=1), 0.05)
    np.testing.assert_allclose(near.prod(axis=1), 0.05)
    assert sorted(far[0]) == [0.05, 1, 1, 1, 1, 1]


def test_the_static_order_is_the_best_there_is() -> None:
    def calls(values: Any, order: tuple[int, ...]) -> float:
        return float((1 + values[:, order].cumprod(axis=1)[:, :-1].sum(axis=1)).mean())

    for share in (0.05, 0.95):
        values = spark_filters.selectivities(share)
        best = min(calls(values, order) for order in itertools.permutations(range(6)))
        assert calls(values, tuple(spark_filters.best_static(values))) == pytest.approx(best)


def test_the_order_of_a_class_begins_with_the_filter_that_drops_most_of_it() -> None:
    orders = spark_filters.best_per_class(spark_filters.selectivities(0.05))
    assert [order[0] for order in orders] == [0, 1, 2, 3, 4, 5, 0, 1]


@pytest.mark.long
@pytest.mark.parametrize("benchmark", [spark_filters.far, spark_filters.near])
def test_filters_agree(spark: SparkSession, benchmark: Callable[..., Iterator[Line]]) -> None:
    lines = [str(line) for line in benchmark(sizes=(400,), repeats=1, warm=WARM)]
    assert [line for line in lines if line.startswith(spark_filters.CONTROL)]
    assert [line for line in lines if line.endswith((": met", ": missed"))]


@pytest.mark.long
@pytest.mark.usefixtures("own_files")
@pytest.mark.parametrize("workload", [COMMON, COMPLETE], ids=lambda workload: workload.name)
def test_sparks_own_joins_agree(spark: SparkSession, tmp_path: Path, workload: Workload) -> None:
    """Windows of few rows, so that many leave them; with either state store."""
    small = replace(workload, window=300)
    suite = Suite(warm=150, sizes=(200, 300), repeats=1, warm_batches=WARM)
    suite.write(tmp_path, spark_joins.tables(small.data(suite.rows)))
    compared = suite.compare(
        spark,
        spark_joins.contenders(small, tmp_path),
        tmp_path,
        baseline=spark_joins.OURS,
        goals=({}, spark_joins.FURTHER),
        agree=spark_joins.agree,
    )
    lines = [str(line) for line in compared]
    assert sum(line.startswith(spark_joins.ROCKSDB) for line in lines) == 3
    assert suite.rows == 2 * 150 + 2 * 200 + 2 * 300


@pytest.mark.parametrize("module", [spark_filters, spark_joins])
def test_answers_that_differ_are_found(module: Any) -> None:
    one = pa.table({"id": [1, 2]})
    module.agree({module.OURS: one, "other": pa.table({"id": [2, 1]})})
    with pytest.raises(AssertionError, match="do not agree: \\['other'\\]"):
        module.agree({module.OURS: one, "other": pa.table({"id": [1, 3]})})


@pytest.mark.long
def test_the_skeleton_runs_beside_ours(spark: SparkSession) -> None:
    for benchmark in (spark_skeleton.through, spark_skeleton.fixed):
        lines = [str(line) for line in benchmark(rows=300, repeats=1, warm=WARM)]
        assert [line for line in lines if line.startswith(spark_skeleton.BARE) and "goal" in line]


@pytest.mark.long
def test_beats_stand_beside_a_join_without(spark: SparkSession) -> None:
    lines = [str(line) for line in statements.beats(sizes=(300,), repeats=1, warm=WARM)]
    assert len([line for line in lines if "goal at most 1.02" in line]) == 2
    assert [line for line in lines if line.startswith(statements.CONTROL)]


@pytest.mark.long
@pytest.mark.usefixtures("own_files")
@WATERMARKS_IN_SQL
def test_groups_after_the_eddy_are_those_of_spark_alone(spark: SparkSession) -> None:
    dense = replace(COMMON, domains=lambda _: [200])
    told = statements.aggregate(sizes=(600,), repeats=1, warm=WARM + 2, fill=600, bound=100, workload=dense)
    lines = [str(line) for line in told]
    assert len([line for line in lines if "groups closed by all, and the same" in line]) == 1
    assert len([line for line in lines if line.startswith(statements.AGAIN)]) == 1


def test_groups_that_differ_are_found() -> None:
    def closed(**columns: list[int]) -> pa.Table:
        return pa.table({"first": [1, 2], "part": [0, 0], "n": [5, 6], **columns})

    groups = statements.Groups()
    groups.add({"ours": closed(), "theirs": closed().slice(0, 0)})
    with pytest.raises(AssertionError, match="no group has been closed by all"):
        groups.tell()
    groups.add({"theirs": closed().slice(0, 1)})
    assert groups.tell() == "1 groups closed by all, and the same; ours 2, theirs 1"
    with pytest.raises(AssertionError, match="theirs has closed a group twice: 1, 0"):
        groups.add({"theirs": closed().slice(0, 1)})
    with pytest.raises(AssertionError, match=r"do not agree: \(2, 0\)"):
        groups.add({"theirs": closed(n=[5, 7]).slice(1, 1)})


@pytest.mark.long
def test_state_is_told_for_each_window(spark: SparkSession) -> None:
    told = spark_skeleton.state(repeats=1, windows=(50, 1_500), wide=20, warm=WARM)
    lines = [str(line) for line in told]
    sizes = [float(line.split(": ")[1].split(" MB")[0]) for line in lines if "MB of rows a cell" in line]
    assert len(sizes) == 3
    assert sizes[0] <= sizes[1]
    assert [line for line in lines[-2:] if "goal: at most" in line] == lines[-2:]
