"""Traps: what the two examples of Babu's thesis cost, in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eddy
from eddy.comparison.workload import Workload
from eddy.jobs.experiments.workloads.ordering.traps import traps

ROWS = 20_000
WRITTEN = [f"op{number}" for number in range(1, 9)]


def calls(workload: Workload, policy: Any, batch_rows: int = 1_000) -> Any:
    """The routing calls a tuple, by micro-batch."""
    report = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=batch_rows).report
    batches = report.batches()
    return (batches["routing_calls"] / batches["rows"]).to_numpy()


@pytest.mark.parametrize(
    ("order", "paper"), [(WRITTEN, 0.49 * 8 + 0.51), (["op1", "op8"], 1.49), (["op8", "op3"], 1.51)]
)
def test_example_4_5_1_costs_what_the_paper_says(order: list[str], paper: float) -> None:
    found = calls(traps("4.5.1", rows=ROWS), {"name": "fixed", "order": order})
    assert found.mean() == pytest.approx(paper, rel=0.02)


def test_example_4_5_1_has_its_best_order() -> None:
    workload = traps("4.5.1", rows=ROWS)
    assert workload.best is not None
    assert "op8" in workload.best[:2]
    assert workload.course is not None
    assert workload.course.mean() == pytest.approx(1.49, rel=0.01)
    assert calls(workload, {"name": "fixed", "order": workload.best}).mean() == pytest.approx(workload.course.mean())


def test_example_4_6_1_changes_halfway() -> None:
    workload = traps("4.6.1", rows=ROWS)
    assert workload.drift_points == (ROWS // 2,)
    assert workload.best is None
    written, best = (calls(workload, {"name": "fixed", "order": order}) for order in (WRITTEN, ["op8", "op7"]))
    assert written.mean() == pytest.approx(4.5, rel=0.02)
    assert best[10:].mean() == pytest.approx(1 + 1 / 8, rel=0.02)
    assert workload.course is not None
    assert workload.course[: ROWS // 2].mean() == pytest.approx(4.5, rel=0.02)
    assert workload.course[ROWS // 2 :].mean() == pytest.approx(1 + 1 / 8, rel=0.02)


def test_no_swap_of_neighbours_is_better_after_the_change() -> None:
    workload = traps("4.6.1", rows=ROWS)
    passed = outcomes(workload)[ROWS // 2 :]
    for place in range(7):
        left = passed[passed[:, :place].all(axis=1)]
        own, next_one = (1 - left[:, place + offset].mean() for offset in (0, 1))
        assert own >= 0.9 * next_one


def outcomes(workload: Workload) -> Any:
    columns = workload.data["s"]
    judged = [
        filter.function(columns[(filter.columns or [""])[0]].to_numpy())
        for filter in workload.query.filters
        if filter.function is not None
    ]
    return np.array(judged).T


@pytest.mark.parametrize("example", ["4.5.1", "4.6.1"])
def test_the_truth_foretells_every_outcome(example: str) -> None:
    workload = traps(example, rows=2_000, change=500 if example == "4.6.1" else None, seed=3)
    truth, passed = workload.truth, outcomes(workload)
    assert truth is not None
    phases = truth.get("phases", [{"from": 0, **truth}])
    drawn = workload.data["s"]["number"].to_numpy()
    told = np.array([[phase["selectivities"][name] for name in WRITTEN] for phase in phases], np.float64)
    which = np.searchsorted([phase["from"] for phase in phases], np.arange(2_000), side="right") - 1
    assert (told[which, :, drawn - 1] == passed).all()
    assert (
        calls(workload, {"name": "knows", "truth": truth, "costs": "unit"}).mean()
        < 1.2 * calls(workload, {"name": "fixed", "order": ["op8", "op7"]}).mean()
    )
