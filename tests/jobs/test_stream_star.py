"""Stream-Star is what it promises: seeded, with its selectivities, and one answer in both forms."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import eddy
from eddy.comparison.workload import Workload
from eddy.jobs.experiments.workloads.ordering.exact import cost_by_row
from eddy.jobs.experiments.workloads.selectivities import selectivities
from eddy.jobs.experiments.workloads.stream_star import stream_star
from eddy.tuples.arrays import Mask

ROWS = 20_000
SIGMAS = 5
"""Of the standard error of a share: of the hundreds of shares that are looked at, none is that far off by chance."""

SKEWED = {"table": "skew", "A": 0.1}


def outcomes(workload: Workload) -> Mask:
    """What passes which operator, found with the filters themselves."""
    masks = []
    for filter in workload.query.filters:
        assert filter.function is not None
        assert filter.columns is not None
        masks.append(filter.function(column(workload, filter.columns[0])))
    return np.array(masks).T


def column(workload: Workload, name: str = "attrC") -> np.ndarray[Any, Any]:
    return workload.data["s"].column(name).to_numpy()


def near(passed: Mask, promised: np.ndarray[Any, Any]) -> bool:
    """Whether shares are what they should be, as far as their number can tell."""
    error = np.sqrt(promised * (1 - promised) / len(passed))
    return bool((np.abs(passed.mean(axis=0) - promised) <= SIGMAS * error + 1e-12).all())


@pytest.mark.parametrize("choice", [SKEWED, {"table": "random"}, {"table": "random", "aggregate": 0.3}])
@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_each_class_has_the_selectivities_it_promises(choice: dict[str, Any], correlation: float) -> None:
    workload = stream_star(4, choice, rows=ROWS, seed=1, correlation=correlation)
    promised, passed = selectivities(choice, 4, seed=1).values, outcomes(workload)
    for number, row in enumerate(promised):
        assert near(passed[column(workload) == number], row)


def test_classes_are_equally_frequent() -> None:
    workload = stream_star(5, SKEWED, rows=ROWS)
    assert near(np.eye(5, dtype=np.bool_)[column(workload)], np.full(5, 0.2))


def test_outcomes_are_independent_unless_asked_for() -> None:
    choice = {"table": "uniform", "selectivity": 0.5}
    apart, together = (outcomes(stream_star(2, choice, rows=ROWS, correlation=c)) for c in (0.0, 1.0))
    assert near(apart[:, :1] & apart[:, 1:], np.array([0.25]))
    assert (together[:, 0] == together[:, 1]).all()


def test_the_truth_is_the_table() -> None:
    workload = stream_star(3, [[0.32, 0.10, 0.55], [0.31, 0.20, 0.65], [0.27, 0.90, 0.60]], rows=10)
    assert workload.truth == {
        "attribute": "s.attrC",
        "values": [0, 1, 2],
        "selectivities": {"op1": [0.32, 0.31, 0.27], "op2": [0.10, 0.20, 0.90], "op3": [0.55, 0.65, 0.60]},
    }
    assert workload.attribute == "s.attrC"


def test_no_other_attribute_says_anything() -> None:
    workload = stream_star(2, {"table": "uniform"}, rows=ROWS, seed=2)
    passed = outcomes(workload)
    names = [name for name in workload.data["s"].schema.names if name not in {"ts", "id"}]
    assert len(names) == 1 + 2 + 8
    for name in names:
        _, codes = np.unique(column(workload, name), return_inverse=True)
        for part in range(8):
            chosen = codes * 8 // (codes.max() + 1) == part
            if chosen.any():
                assert near(passed[chosen], np.array([0.5, 0.5])), name


# --- drift


def test_a_sudden_change_happens_where_it_says() -> None:
    after = {"table": "random", "rotate": 1}
    drift = {"kind": "sudden", "at": ROWS // 4, "selectivities": after}
    workload = stream_star(3, {"table": "random"}, rows=ROWS, seed=3, drift=drift)
    passed, classes = outcomes(workload), column(workload)
    for part, choice in ((slice(0, ROWS // 4), {"table": "random"}), (slice(ROWS // 4, ROWS), after)):
        for number, row in enumerate(selectivities(choice, 3, seed=3).values):
            assert near(passed[part][classes[part] == number], row)
    assert workload.drift_points == (ROWS // 4,)
    assert workload.truth is not None
    assert [phase["from"] for phase in workload.truth["phases"]] == [0, ROWS // 4]


def test_a_gradual_change_is_half_done_halfway() -> None:
    drift = {"kind": "gradual", "start": 0, "end": ROWS, "selectivities": [[0.9]]}
    passed = outcomes(stream_star(1, [[0.1]], rows=ROWS, drift=drift))
    assert near(passed[: ROWS // 10], np.array([0.14]))
    assert near(passed[-ROWS // 10 :], np.array([0.86]))


def test_a_recurring_change_comes_back() -> None:
    drift = {"kind": "recurring", "period": 5_000, "selectivities": [[0.9]]}
    workload = stream_star(1, [[0.1]], rows=ROWS, drift=drift)
    shares = outcomes(workload).reshape(4, 5_000).mean(axis=1)
    assert np.allclose(shares, [0.1, 0.9, 0.1, 0.9], atol=SIGMAS * 0.3 / np.sqrt(5_000))
    assert workload.drift_points == (5_000, 10_000, 15_000)


@pytest.mark.parametrize("form", ["filters", "tables"])
def test_permuted_operators_change_their_selectivities_among_each_other(form: str) -> None:
    shares = [0.1, 0.3, 0.5, 0.7, 0.9]
    choice, drift = {"table": "uniform", "selectivity": shares}, {"kind": "permuted", "period": ROWS // 4}
    workload = stream_star(5, choice, rows=ROWS, seed=1, drift=drift, form=form)
    passed = outcomes(stream_star(5, choice, rows=ROWS, seed=1, drift=drift))
    assert workload.truth is not None
    told = [phase["selectivities"] for phase in workload.truth["phases"]]
    orders = [[each[0] for each in one.values()] for one in told]
    assert orders[0] == shares
    assert all(sorted(one) == shares for one in orders)
    assert len(set(map(tuple, orders))) == 4
    for number, one in enumerate(orders):
        assert near(passed[number * ROWS // 4 : (number + 1) * ROWS // 4], np.array(one))
    assert workload.drift_points == (5_000, 10_000, 15_000)
    assert workload.course is not None
    assert workload.course.mean() == pytest.approx(1 + 0.1 + 0.03 + 0.015 + 0.0105, rel=0.03)


# --- filters that depend on each other


@pytest.mark.parametrize("more", [{"groups": 2}, {"groups": 3, "same": 0.9}, {"correlation": 0.5}])
def test_the_best_order_is_found_on_the_data(more: dict[str, Any]) -> None:
    choice = {"table": "uniform", "selectivity": [0.5, 0.45, 0.55, 0.6]}
    workload = stream_star(4, choice, rows=ROWS, **more)
    assert workload.best is not None
    assert workload.course is not None
    passed, numbers = outcomes(workload), [int(name[2:]) - 1 for name in workload.best]
    course = {order: cost_by_row(passed, order, np.ones(4)).mean() for order in permutations(range(4))}
    assert workload.course.mean() == course[tuple(numbers)] == min(course.values())
    assert workload.facts["groups"] == more.get("groups", 1)


def test_filters_of_a_group_agree_within_each_class() -> None:
    workload = stream_star(4, {"table": "uniform", "selectivity": 0.5, "classes": 2}, rows=ROWS, groups=2)
    passed, classes = outcomes(workload), column(workload)
    for one, other, agree in ((0, 1, 0.8), (2, 3, 0.8), (0, 2, 0.5), (1, 3, 0.5)):
        for number in (0, 1):
            same = (passed[:, one] == passed[:, other])[classes == number]
            assert near(same[:, None], np.array([agree]))


def test_each_operator_may_have_its_cost() -> None:
    choice = {"table": "uniform", "selectivity": [0.5, 0.6]}
    costs: list[Any] = [0, [9, 1], [[9, 1]]]
    cheap, dear, listed = (stream_star(2, choice, rows=500, cost_us=cost) for cost in costs)
    assert (outcomes(cheap) == outcomes(dear)).all()
    assert (cheap.best, dear.best, listed.best) == (["op1", "op2"], ["op2", "op1"], ["op2", "op1"])
    assert (cheap.prices, dear.prices) == ({"op1": 1, "op2": 1}, {"op1": 9, "op2": 1})
    assert dear.facts["cost_us"] == "9, 1"
    assert dear.course is not None
    assert dear.course.mean() == pytest.approx(1 + 0.6 * 9, rel=0.1)


# --- the query


@pytest.mark.parametrize("policy", ["fixed", "random"])
def test_filters_and_tables_give_the_same_answer(policy: str) -> None:
    filters, tables = (stream_star(3, SKEWED, rows=2_000, seed=6, form=form) for form in ("filters", "tables"))
    assert filters.data["s"].equals(tables.data["s"])
    expected = np.flatnonzero(outcomes(filters).all(axis=1)).tolist()
    for workload in (filters, tables):
        run = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=500)
        assert sorted(run.results["id"].to_pylist()) == expected


def test_the_truth_names_the_operators_of_the_form() -> None:
    workload = stream_star(2, SKEWED, rows=50, form="tables")
    run = eddy.run_local(workload.query, workload.data)
    assert workload.truth is not None
    assert set(run.report.operators()["operator"]) <= set(workload.truth["selectivities"])


def test_work_on_top_changes_no_answer() -> None:
    cheap, dear = (stream_star(2, SKEWED, rows=1_000, cost_us=cost) for cost in (0, 2))
    assert (outcomes(cheap) == outcomes(dear)).all()


def test_the_bound_is_that_of_the_table() -> None:
    workload = stream_star(4, SKEWED, rows=10)
    assert workload.facts["best_calls"] == pytest.approx(1 + 0.1 * (1 + 0.5 ** (1 / 3) + 0.5 ** (2 / 3)), abs=1e-4)
