"""Streams that all join each other: their answer is the naive one, and they have as many best orders as asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import eddy
from eddy.comparison.workload import Workload
from eddy.jobs.experiments.workloads.joins.multi_route import Recipe, best_orders, multi_route
from eddy.query import Range
from tests.reference import Question, Source, answer


def question(workload: Workload) -> Question:
    """The query in the words of the reference."""
    streams = {}
    for stream in workload.query.streams:
        assert isinstance(stream.window, Range)
        assert stream.time is not None
        streams[stream.name] = Source(time=stream.time, span=stream.window.ticks)
    conditions = []
    for join in workload.query.joins:
        (one, key), (other, same) = (side.strip().split(".") for side in str(join).split("="))
        conditions.append(lambda found, a=one, b=other, k=key, m=same: found[a][k] == found[b][m])
    columns = [str(column).split(" ")[0].partition(".") for column in workload.query.select or ()]
    return Question(streams=streams, conditions=conditions, select=[(one, name) for one, _, name in columns])


TINY: dict[str, dict[str, Any]] = {
    "four streams": {"rows": 48, "phase": 5, "window": 6, "cardinality": 4},
    "change": {
        "streams": 3,
        "rows": 75,
        "paths": 2,
        "phase": 10,
        "window": 7,
        "cardinality": 8,
        "skew": 0.5,
        "change": {"at": 12, "cardinality": 3, "fan_out": 2, "skew": 0.0},
    },
    "many columns": {"streams": 3, "paths": 1, "rows": 60, "window": 9, "cardinality": 4, "selected": 2},
}


@pytest.mark.parametrize("name", TINY)
def test_the_answer_is_the_naive_one(name: str) -> None:
    workload = multi_route(**TINY[name], seed=3)
    rows = {stream: table.to_pylist() for stream, table in workload.data.items()}
    wanted = answer(question(workload), [rows])
    assert sum(wanted.values()) > 3
    for policy in ("fixed", "random", {"name": "source", "costs": "unit"}):
        done = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=20)
        found = sorted(tuple(row.values()) for row in done.results.to_pylist())
        assert found == sorted(wanted.elements())


@pytest.mark.parametrize(
    ("streams", "paths"), [(3, 2), (4, 1), (4, 2), (4, 6), (4, [6, 2, 2, 2]), (4, [6, 6, 2, 2]), (4, [6, 6, 6, 2])]
)
def test_every_stream_goes_through_as_many_best_orders_as_asked_for(streams: int, paths: int | Sequence[int]) -> None:
    each = [paths] * streams if isinstance(paths, int) else paths
    recipe = Recipe(streams=streams, paths=each, cardinality=1_000, skew=0.0, fan_out=1)
    dealings = np.array(recipe.deal(np.random.default_rng(5), 10_000))
    orders = best_orders(streams, dealings, 10_000)
    assert [len(np.unique(column)) for column in orders.T] == list(each)


def test_the_best_order_looks_at_the_fewest_candidates() -> None:
    workload = multi_route(streams=3, paths=1, rows=15_000, window=2_000, cardinality=500)
    assert workload.best is not None

    def candidates(order: Sequence[str]) -> float:
        policy = {"name": "fixed", "order": order}
        report = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=1_000).report
        return float(report.operators()["evaluated"].sum())

    assert candidates(workload.best) < 0.9 * candidates(workload.best[::-1])


def test_domains_change_with_each_phase_and_with_the_change() -> None:
    workload = multi_route(rows=40_000, phase=2_500, cardinality=100, change={"at": 5_000, "cardinality": 10_000})
    keys = workload.data["a"].column("ab").to_numpy()
    largest = [int(keys[start : start + 2_500].max()) for start in range(0, 10_000, 2_500)]
    assert max(largest[:2]) < 1_000
    assert min(largest[2:]) > 400
    assert workload.drift_points == (10_000, 20_000, 30_000)


def test_paths_may_be_written_as_a_text() -> None:
    one, other = (multi_route(rows=400, paths=paths) for paths in ("6 6 2 2", [6, 6, 2, 2]))
    assert one.data["c"].equals(other.data["c"])


def test_small_keys_are_frequent_where_they_are_skewed() -> None:
    even, skewed = (multi_route(rows=8_000, skew=skew).data["a"].column("ab").to_numpy() for skew in (0.0, 0.7))
    assert (skewed < np.median(even)).mean() > 0.75
