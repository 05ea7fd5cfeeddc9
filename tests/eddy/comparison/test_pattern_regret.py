"""The regret of indexes is told pattern by pattern."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.comparison.pattern_regret import compare_patterns, count_by_pattern, sum_up_patterns

ROWS = [100] * 4
CHANGED_AT = 200


def counted(**candidates: list[int]) -> dict[str, Any]:
    """Candidates of each pattern in each micro-batch; as many seconds, and ten tuples each."""
    cells = [(pattern, number, cost) for pattern, costs in candidates.items() for number, cost in enumerate(costs)]
    patterns, numbers, costs = zip(*cells, strict=True)
    return {
        "pattern": [pattern.replace("_", ", ") for pattern in patterns],
        "number": list(numbers),
        "seconds": [cost / 10 for cost in costs],
        "candidates": list(costs),
        "tuples": [10] * len(costs),
    }


def test_each_pattern_is_held_against_the_bound_after_the_change() -> None:
    ours = counted(k=[1, 1, 30, 10], k_v=[9, 9, 10, 10])
    bound = counted(k=[9, 9, 10, 10], k_v=[1, 1, 10, 10])
    found = compare_patterns(CHANGED_AT, ROWS, [ours, bound], ["", "bound"])
    assert [{**row, "share": 0.5} == row for row in found[0]] == [True, True]
    assert {row["pattern"]: row["regret_candidates"] for row in found[0]} == {"k": 2.0, "k, v": 1.0}
    assert {row["pattern"]: row["regret_seconds"] for row in found[0]} == {"k": 2.0, "k, v": 1.0}
    assert {row["regret_candidates"] for row in found[1]} == {1.0}


@pytest.mark.parametrize(("start", "roles"), [(400, ["", "bound"]), (CHANGED_AT, ["", "baseline"])])
def test_there_is_none_without_a_change_or_a_bound(start: int, roles: list[str]) -> None:
    assert compare_patterns(start, ROWS, [counted(k=[1] * 4)] * 2, roles) == [[], []]


def test_rare_patterns_do_not_count_among_the_worst() -> None:
    rows = [
        {"share": 0.6, "regret_candidates": 1.0, "regret_seconds": 1.2},
        {"share": 0.395, "regret_candidates": 1.3, "regret_seconds": 0.9},
        {"share": 0.005, "regret_candidates": math.inf, "regret_seconds": 9.0},
    ]
    assert sum_up_patterns(rows) == {
        "regret_patterns": 2.0,
        "regret_patterns_above": 1.0,
        "regret_seconds_worst": 1.2,
        "regret_candidates_worst": 1.3,
    }
    assert sum_up_patterns([]) == {}


def test_candidates_by_pattern_are_those_of_all_indexes() -> None:
    chance = np.random.default_rng(0)
    query = eddy.Query(
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(40), delay=0) for name in "abc"],
        joins=["a.k = b.k", "b.v = c.v", "a.w = c.w"],
        select=["a.ts"],
    )
    data = {
        name: pa.table({"ts": np.arange(300), **{key: chance.integers(0, 9, 300) for key in "kvw"}}) for name in "abc"
    }
    report = eddy.run_local(query, data, policy="random", index="bits", batch_rows=50).report
    found = count_by_pattern(report)
    assert sum(found["candidates"]) == report.indexes()["candidates"].sum() > 0
    probes = report.operators()
    assert sum(found["tuples"]) == probes.loc[probes["pattern"] != "", "rows_in"].sum()
    assert {"a.k", "a.k, a.w", "b.k, b.v", "c.v, c.w"} <= set(found["pattern"])
