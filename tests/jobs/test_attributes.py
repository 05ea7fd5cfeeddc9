"""Columns as people have them: each tells its classes, the truth is told to `knows` alone, and the answer is naive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eddy
from eddy.comparison.workload import Workload
from eddy.jobs.experiments.workloads.attributes import attributes
from eddy.jobs.experiments.workloads.shapes import OUTLIER, SENTINEL, SHAPES, shape
from tests.jobs.test_stream_star import ROWS, SIGMAS, SKEWED, column, outcomes

EVEN = [[0.5] * 4] * 4
OWN = {"own": True, "selectivities": {"table": "random", "classes": 24}, "shape": {"kind": "codes", "values": 24}}
KINDS: list[Any] = [*sorted(set(SHAPES) - {"ids"}), {"kind": "text", "values": 1_000, "zipf": True}]


def made(**changes: Any) -> Workload:
    return attributes(**{"operators": 4, "selectivities": SKEWED, "rows": ROWS, **changes})


def calls(workload: Workload, policy: Any) -> float:
    run = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=1_000)
    return float(run.report.batches()["routing_calls"].sum() / workload.tuples)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_value_tells_its_class(kind: Any) -> None:
    told = shape(kind)(np.random.default_rng(1), ROWS, 4)
    values, classes = told.column.to_numpy(zero_copy_only=False), told.classes
    assert set(classes) == {0, 1, 2, 3}
    if isinstance(values[0], str) or kind == "codes":
        pairs = set(zip(values.tolist(), classes.tolist(), strict=True))
        assert len(pairs) == len(set(values.tolist()))
        return
    ordinary = values < SENTINEL if kind == "sentinel" else values < OUTLIER
    in_order = classes[ordinary][np.argsort(values[ordinary], kind="stable")]
    # Whole numbers at the edge of two classes may be of both.
    assert (np.maximum.accumulate(in_order) - in_order).mean() < 0.01
    assert np.bincount(classes[ordinary]) / ordinary.sum() == pytest.approx(0.25, abs=0.02)


def test_there_is_one_outlier_and_every_twentieth_is_a_sentinel() -> None:
    assert (column(made(shape="outlier"), "value") == OUTLIER).sum() == 1
    assert (column(made(shape="sentinel"), "value") == SENTINEL).mean() == pytest.approx(0.05, abs=0.01)


def test_a_lognormal_is_as_wide_as_it_is_told_to_be() -> None:
    narrow, wide = (np.log(column(made(shape={"kind": "lognormal", "sigma": s}), "value")).std() for s in (1, 2.5))
    assert (narrow, wide) == (pytest.approx(1, abs=0.05), pytest.approx(2.5, abs=0.1))


@pytest.mark.parametrize("values", [50, 200, 1_000])
def test_texts_are_even_or_zipf(values: int) -> None:
    even, zipf = (
        np.unique(column(made(shape={"kind": "text", "values": values, "zipf": z}), "value"), return_counts=True)[1]
        for z in (False, True)
    )
    assert len(even) == values
    assert even.max() < ROWS / values * 2
    assert zipf.max() / ROWS == pytest.approx(1 / (1 / np.arange(1, values + 1)).sum(), abs=0.02)


def test_ids_are_nearly_in_order_and_no_column_is_right() -> None:
    workload = made(shape={"kind": "ids", "apart": 50})
    values = column(workload, "value").astype(np.int64)
    places = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    assert len(np.unique(values)) == ROWS
    assert 25 <= np.abs(places - np.arange(ROWS)).max() <= 50
    assert (workload.truth, workload.hidden, workload.attribute) == (None, (), "s.ts")
    assert "s.value" in workload.list_facts()["$columns"]


@pytest.mark.parametrize("changes", [*({"shape": kind} for kind in KINDS), OWN, {"appear": 0.5}], ids=str)
def test_the_truth_is_what_is_measured(changes: dict[str, Any]) -> None:
    workload = made(**changes)
    assert workload.truth is not None
    truth, passed = column(workload, "truth"), outcomes(workload)
    assert sorted(set(truth)) == workload.truth["values"]
    for value in workload.truth["values"]:
        own = passed[truth == value]
        promised = np.array([workload.truth["selectivities"][f"op{number + 1}"][value] for number in range(4)])
        # Of a mean of unlike chances the error is smaller than of like ones.
        error = np.sqrt(promised * (1 - promised) / len(own))
        assert (np.abs(own.mean(axis=0) - promised) <= SIGMAS * error + 1e-12).all()


@pytest.mark.parametrize(
    "changes", [{"shape": "outlier"}, OWN, {"appear": 0.5}, {"shape": "ids"}, {"dear": 3}], ids=str
)
def test_the_answer_is_the_naive_one(changes: dict[str, Any]) -> None:
    workload = made(**{"rows": 3_000, "cost_us": 0.01, **changes})
    expected = np.flatnonzero(outcomes(workload).all(axis=1)).tolist()
    for policy in ("fixed", {"name": "content", "attributes": workload.list_facts()["$columns"]}):
        run = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=500)
        assert sorted(run.results["id"].to_pylist()) == expected


@pytest.mark.parametrize("changes", [{"shape": "plain"}, {"shape": {"kind": "text", "values": 1_000}}, OWN], ids=str)
def test_who_is_told_the_truth_needs_the_fewest_calls(changes: dict[str, Any]) -> None:
    workload = made(**changes)
    chances = 1 + np.sort(outcomes(workload).astype(float), axis=1).cumprod(axis=1)[:, :-1].sum(axis=1).mean()
    knows = calls(workload, {"name": "knows", "truth": workload.truth, "costs": "unit"})
    assert chances <= knows < 0.9 * calls(workload, {"name": "source", "costs": "unit"})


def test_only_knows_may_read_the_truth() -> None:
    workload = made()
    assert workload.hidden == ("s.truth",)
    columns = workload.list_facts()["$columns"]
    assert "s.truth" not in columns
    assert "s.value" in columns


def test_totals_stay_where_classes_appear() -> None:
    passed = outcomes(made(appear=0.5, selectivities={"table": "random"}, rows=60_000))
    before, after = passed[:30_000].mean(axis=0), passed[30_000:].mean(axis=0)
    assert before == pytest.approx(after, abs=0.02)
    assert made(appear=0.5).drift_points == (ROWS // 2,)


def test_each_class_has_a_dear_operator_which_comes_last() -> None:
    workload = made(selectivities=EVEN, dear=20, cost_us=0.01)
    assert workload.truth is not None
    told = np.array([workload.truth["selectivities"][f"op{number + 1}"] for number in range(4)])
    assert sorted(told.argmax(axis=0)) == [0, 1, 2, 3]
    assert np.unique(told.round(9)).tolist() == [0.5, 0.975]


def test_a_dear_row_takes_so_many_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []
    monkeypatch.setattr("eddy.jobs.experiments.workloads.columns.burn", spent.append)
    workload = made(selectivities=EVEN, dear=20, cost_us=3)
    outcomes(workload)
    assert spent == pytest.approx([3 * ROWS * (1 + 19 / 4)] * 4, rel=0.1)


def test_rows_in_lockstep_pass_or_fail_together() -> None:
    passed = outcomes(made(selectivities=EVEN, correlation=1.0))
    assert (passed == passed[:, :1]).all()


def test_a_policy_counts_calls_where_operators_are_alike() -> None:
    assert [made(rows=100, cost_us=cost).list_facts()["$costs"] for cost in (0, 5)] == ["unit", "time"]
