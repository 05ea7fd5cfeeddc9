"""A star of lookups: so many rows find a key, and so many rows with it."""

from __future__ import annotations

from typing import Any

import pytest

import eddy
from eddy.jobs.experiments.workloads.ordering.lookups import lookups

ROWS = 4_000


@pytest.mark.parametrize(
    ("match", "fan_out"), [(0.1, 20), (0.9, 2), ([0.2, 0.5, 1.0], [1, 3, 2]), ([[0.2, 0.5, 1.0]], [[1, 3, 2]])]
)
def test_probes_find_what_is_asked_for(match: Any, fan_out: Any) -> None:
    workload = lookups(match=match, fan_out=fan_out, keys=50, rows=ROWS)
    stream = workload.data["s"]
    shares, made = ([one] * 3 if not isinstance(one, list) else list(_flat(one)) for one in (match, fan_out))
    for number in range(3):
        table, keys = workload.data[f"d{number + 1}"], stream[f"fk{number + 1}"].to_pylist()
        known = set(table["pk"].to_pylist())
        assert (len(known), table.num_rows) == (50, 50 * made[number])
        assert sum(key in known for key in keys) / ROWS == pytest.approx(shares[number], abs=0.04)


def _flat(values: list[Any]) -> list[Any]:
    return values[0] if isinstance(values[0], list) else values


def test_the_best_order_costs_what_it_says() -> None:
    workload = lookups(match=[0.9, 0.1, 0.5], fan_out=[5, 3, 1], keys=50, rows=ROWS)
    assert workload.best == ["probe_d2", "probe_d3", "probe_d1"]
    assert workload.course is not None
    run = eddy.run_local(workload.query, workload.data, policy={"name": "fixed", "order": workload.best})
    assert run.report.batches()["routing_calls"].sum() == workload.course.sum()
    other = eddy.run_local(workload.query, workload.data, policy="fixed")
    assert other.report.batches()["routing_calls"].sum() > workload.course.sum()
    assert other.results.num_rows == run.results.num_rows
