"""The workload `points` is what table 5.2 of the thesis says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eddy
from eddy.jobs.experiments.workloads.joins.points import PAIRS, RATES, SELECTIVITIES
from eddy.jobs.workloads.registry import build

ROWS = 200_000


@pytest.mark.parametrize("point", RATES)
def test_rates_and_selectivities_are_those_of_the_table(point: str) -> None:
    made = build("points", {"point": point, "rows": ROWS}, seed=1)
    rates = [made.data[name].num_rows / made.data["t"].num_rows for name in "rstu"]
    assert rates == pytest.approx(list(RATES[point]), rel=0.001)
    for (one, other), told in zip(map(tuple, PAIRS), SELECTIVITIES[point], strict=True):
        assert share_that_joins(made.data[one]["k"], made.data[other]["k"]) == pytest.approx(told, rel=0.05, abs=1e-9)


def share_that_joins(one: Any, other: Any) -> float:
    """The share of all pairs of rows with the same key."""
    keys, counts = np.unique(one.to_numpy(), return_counts=True)
    others, more = np.unique(other.to_numpy(), return_counts=True)
    _, places, where = np.intersect1d(keys, others, return_indices=True)
    return float((counts[places] * more[where]).sum()) / len(one) / len(other)


def test_there_are_results_by_keys_that_all_streams_have() -> None:
    counts = []
    for common in (0.0, 0.5):
        made = build("points", {"point": "d4", "rows": 4_000, "window": 400, "common": common}, seed=0)
        counts.append(eddy.run_local(made.query, made.cut(100), policy="fixed").results.num_rows)
    assert counts[0] == 0 < counts[1]
