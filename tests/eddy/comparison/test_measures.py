"""What is written down about a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import eddy
from eddy.comparison.contender import Contender
from eddy.comparison.measures import (
    adapting,
    candidates_a_tuple,
    decided_calls,
    distance_from_best,
    index_work,
    learning_time,
    measure,
    output_rate,
    profiled_share,
    regret_after,
    rows_to_gain,
    settling_point,
    sum_quickest,
    time_over_written,
)
from eddy.comparison.workload import Workload
from eddy.contracts import Hop, Leg, Setting, Task
from eddy.jobs.experiments.workloads.joins.multi_route import multi_route
from eddy.jobs.experiments.workloads.ordering.lookups import lookups
from eddy.jobs.experiments.workloads.ordering.traps import traps
from eddy.jobs.experiments.workloads.stream_star import stream_star
from eddy.observe.insight import Insight, Regret
from eddy.policies.fixed import Fixed
from eddy.wiring import PolicyChoice

BATCH = 100


def drifting(*points: int) -> Workload:
    star = stream_star(2, [[0.5, 0.5]] * 4, rows=1)
    return Workload(name="drifting", query=star.query, data=star.data, drift_points=points, facts={"classes": 4})


def batches(*calls: float) -> pd.DataFrame:
    """Micro-batches of 100 tuples with so many calls a tuple."""
    return pd.DataFrame({"rows": BATCH, "routing_calls": [call * BATCH for call in calls]})


@pytest.mark.parametrize(
    ("calls", "points", "tuples"),
    [
        ([2] * 5 + [2] * 10, [500], 0),
        ([2] * 5 + [4, 4, 3] + [2] * 12, [500], 300),
        ([1] * 5 + [4, 4, 3] + [2] * 12, [450], 400),
        ([2] * 5 + [3] + [2] * 9 + [3, 3] + [2] * 9, [500, 1_500], 200),
        ([2] * 15, [], None),
    ],
)
def test_how_long_it_takes_to_settle(calls: list[float], points: list[int], tuples: float | None) -> None:
    found = settling_point(drifting(*points), batches(*calls))
    assert found == ({} if tuples is None else {"settled_tuples": tuples, "settled_class_tuples": tuples / 4})


LEAST, MOST = [100] * 10, [300] * 10
ROLES = ["baseline", "", "bound"]


@pytest.mark.parametrize(
    ("calls", "points", "lost"),
    [
        ([300] * 5 + [100] * 5, [500], 0),
        ([300] * 7 + [100] * 3, [500], 200),
        # Half of the gain of a micro-batch counts half, and four fifths of it are enough.
        ([300] * 5 + [200, 200, 140, 140, 140], [500], 100),
        # One lucky micro-batch is none that has noticed.
        ([300] * 5 + [100, 300, 300, 100, 100], [500], 200),
        ([300] * 10, [500], 500),
        ([300] * 2 + [100] * 3 + [300] * 4 + [100], [0, 500], 400),
    ],
)
def test_rows_are_lost_until_the_gain_is_made(calls: list[int], points: list[int], lost: float) -> None:
    courses = [([BATCH] * 10, own) for own in (MOST, calls, LEAST)]
    found = [one["rows_to_gain"] for one in rows_to_gain(points, courses, ROLES)]
    assert found[1:] == [lost, 0]


def test_micro_batches_may_be_of_any_size() -> None:
    courses = [([1_000], [2_500]), ([BATCH] * 10, [300] * 6 + [100] * 4), ([500, 500], [500, 500])]
    found = rows_to_gain([500], courses, ROLES)
    assert [round(one["rows_to_gain"]) for one in found] == [500, 100, 0]


def test_the_best_baseline_says_what_can_be_gained() -> None:
    courses = [([BATCH] * 10, own) for own in ([900] * 10, MOST, [300] * 7 + [100] * 3, LEAST)]
    found = rows_to_gain([500], courses, ["baseline", "baseline", "", "bound"])
    assert found[2] == {"rows_to_gain": 200}


@pytest.mark.parametrize(("points", "roles"), [([], ROLES), ([5], ["baseline", "", ""]), ([5], ["", "", "bound"])])
def test_where_nothing_changes_or_nobody_knows_no_rows_are_counted(points: list[int], roles: list[str]) -> None:
    assert rows_to_gain(points, [([BATCH] * 10, MOST)] * 3, roles) == [{}] * 3


@pytest.mark.parametrize(
    ("own", "regret", "late", "rows"),
    [
        # What was before the change does not count.
        ([9] * 4 + [1] * 6, 1.0, 1.0, 0),
        ([1] * 4 + [3] * 3 + [1] * 3, 2.0, 1.0, 300),
        ([1] * 4 + [2] * 6, 2.0, 2.0, 600),
        # One cheap micro-batch is none that has noticed.
        ([1] * 4 + [2, 1, 2, 1, 1, 1], 4 / 3, 1.0, 300),
    ],
)
def test_the_regret_of_a_design_is_its_cost_over_the_bound_s(
    own: list[int], regret: float, late: float, rows: int
) -> None:
    costs = {"seconds": [own, [1] * 10], "candidates": [[10 * cost for cost in own], [10] * 10]}
    found = regret_after(400, [BATCH] * 10, costs, ["", "bound"])
    for name in costs:
        assert found[0][f"regret_{name}"] == pytest.approx(regret)
        assert found[0][f"regret_{name}_late"] == pytest.approx(late)
    assert found[0]["regret_rows"] == rows
    assert set(found[1].values()) == {1.0, 0.0}


@pytest.mark.parametrize(("start", "roles"), [(1_000, ["", "bound"]), (400, ["", "baseline"])])
def test_there_is_no_regret_without_a_change_or_a_bound(start: int, roles: list[str]) -> None:
    assert regret_after(start, [BATCH] * 10, {"candidates": [[1] * 10] * 2}, roles) == [{}, {}]


SWITCHED = 1_200


class Switching(Fixed):
    """Takes the order of the query until some rows have come, and then the one that is best by then."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._rows, self._best = 0, Fixed(setting, order=["op8", "op7"])

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        self._rows += task.rows
        return super().plan(task, ready) if self._rows <= SWITCHED else self._best.plan(task, ready)


def test_a_run_is_held_against_the_best_order_of_its_time() -> None:
    workload = traps("4.6.1", rows=2_000)
    assert workload.course is not None
    before, after = workload.course[:1_000].sum(), workload.course[1_000:].sum()
    late = workload.course[500:1_000].sum() + workload.course[1_500:].sum()
    found = {}
    for policy in (Switching, Fixed):
        report = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=BATCH).report
        calls = report.batches()["routing_calls"].to_numpy()
        found[policy] = distance_from_best(workload, report)
        told = {
            "over_best": pytest.approx(calls.sum() / (before + after) - 1),
            "over_best_late": pytest.approx((calls[5:10].sum() + calls[15:].sum()) / late - 1),
            "stays_after": SWITCHED - 1_000 if policy is Switching else 0,
        }
        assert found[policy] == told | {"stays_after_slowest": told["stays_after"]}
        assert found[policy].items() <= measure(workload, 0, report).items()
    assert found[Switching]["over_best_late"] < 0.05
    assert found[Fixed]["over_best_late"] > 0.5


def test_of_several_changes_the_mean_and_the_slowest_are_told() -> None:
    selectivities = {"table": "uniform", "selectivity": [0.1, 0.9]}
    drift = {"kind": "recurring", "period": 1_000, "selectivities": {**selectivities, "rotate": 1}}
    workload = stream_star(2, selectivities, rows=3_000, drift=drift)

    class Turning(Fixed):
        """Follows the first change after 200 rows, and the second one after 600."""

        def __init__(self, setting: Setting) -> None:
            super().__init__(setting)
            self._rows, self._other = 0, Fixed(setting, order=["op2"])

        def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
            self._rows += task.rows
            return self._other.plan(task, ready) if 1_200 < self._rows <= 2_600 else super().plan(task, ready)

    report = eddy.run_local(workload.query, workload.data, policy=Turning, batch_rows=BATCH).report
    found = distance_from_best(workload, report)
    assert (found["stays_after"], found["stays_after_slowest"]) == (400, 600)
    assert found["over_best_late"] == pytest.approx(1 / 15 * 0.8 / 1.1, rel=0.3)


def test_calls_count_as_much_as_operators_cost() -> None:
    workload = stream_star(2, {"table": "uniform", "selectivity": [0.5, 0.5]}, rows=400, cost_us=[1, 9])
    for order in (["op1", "op2"], ["op2", "op1"]):
        policy = {"name": "fixed", "order": order}
        report = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=BATCH).report
        rows = report.operators().set_index("operator")["rows_in"]
        assert workload.course is not None
        spent = (rows["op1"] + 9 * rows["op2"]) / workload.course.sum()
        assert distance_from_best(workload, report)["over_best"] == pytest.approx(spent - 1)
        assert (spent == pytest.approx(1)) == (order == workload.best)


def test_where_nobody_knows_the_best_order_nothing_is_told() -> None:
    workload = stream_star(2, [[0.5, 0.5]], rows=50)
    report = eddy.run_local(workload.query, workload.data).report
    assert distance_from_best(replace(workload, course=None), report) == {}
    assert distance_from_best(replace(workload, course=np.ones(49)), report) == {}


def test_candidates_of_joins_are_counted_beside_the_tuples() -> None:
    workload = lookups(tables=2, match=1.0, fan_out=3, keys=10, rows=100)
    report = eddy.run_local(workload.query, workload.data).report
    assert candidates_a_tuple(workload, report) == {"candidates": 3 + 9}
    star = stream_star(2, [[0.5, 0.5]], rows=50)
    assert candidates_a_tuple(star, eddy.run_local(star.query, star.data).report) == {}


def test_what_indexes_give_is_counted_right_or_not() -> None:
    workload = multi_route(streams=3, paths=2, rows=600, window=100, phase=100)
    for kind in ("patterns", {"kind": "hash", "count": 1, "theta": 0.5}):
        report = eddy.run_local(workload.query, workload.data, index=kind, batch_rows=BATCH).report
        counted = report.indexes()
        assert index_work(workload, report) == {
            "index_candidates": counted["candidates"].sum() / 600,
            "rows_sorted": counted["sorted_rows"].sum() / 600,
        }
        assert counted["candidates"].sum() >= counted["matches"].sum()
    star = stream_star(2, [[0.5, 0.5]], rows=50)
    assert index_work(star, eddy.run_local(star.query, star.data).report) == {}


def test_what_is_profiled_counts_as_much_as_it_costs() -> None:
    workload = stream_star(2, [[0.5, 0.5]], rows=1, cost_us=[1, 9])
    frame = pd.DataFrame(
        [("op1", "unclassified", 90), ("op2", "unclassified", 50), ("op1", "profiling", 10), ("op2", "profiling", 40)],
        columns=["operator", "kind", "calls"],
    )
    assert profiled_share(workload, frame) == {"profiled": (10 + 9 * 40) / (100 + 9 * 90)}
    assert profiled_share(workload, frame[:0]) == {}
    assert profiled_share(replace(workload, prices={}), frame) == {"profiled": 50 / 190}


def told(*rows: tuple[str, str, int]) -> pd.DataFrame:
    """What a policy says its routing calls were decided with."""
    return pd.DataFrame(rows, columns=["kind", "attribute", "calls"])


def test_shares_of_right_and_wrong_classifiers() -> None:
    star = stream_star(2, [[0.5, 0.5]], rows=1)
    frame = told(
        ("classified", "s.attrC", 60), ("classified", "s.kind", 10), ("unclassified", "", 10), ("profiling", "", 20)
    )
    assert learning_time(star, frame) == {"right": 0.6, "wrong": 0.1, "unclassified": 0.1, "profiling": 0.2}
    assert learning_time(star, told()) == {}
    assert learning_time(drifting(), frame) == {}


def test_content_says_what_its_calls_were_decided_with() -> None:
    star = stream_star(3, {"table": "skew", "A": 0.05}, rows=10_000)
    run = eddy.run_local(star.query, star.data, policy={"name": "content", "costs": "unit"}, batch_rows=1_000)
    shares = learning_time(star, run.report.learning())
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["right"] > 0.5


def test_the_quickest_of_each_micro_batch_counts() -> None:
    assert sum_quickest([[3, 1, 2], [1, 2, 2]]) == 1 + 1 + 2


def test_the_seconds_of_a_row_are_those_of_its_run() -> None:
    star = stream_star(2, [[0.5, 0.5]], rows=50)
    run = eddy.run_local(star.query, star.data, batch_rows=10, clock=iter(range(100_000)).__next__)
    row = measure(star, run.results.num_rows, run.report)
    assert row["seconds"] == run.report.batches()["seconds"].sum()
    assert (row["tuples"], row["results"]) == (50, run.results.num_rows)


def test_who_is_slower_has_produced_less_by_then() -> None:
    results = [10] * 40
    first, second = output_rate([[[1.0] * 40], [[2.0] * 40]], [results, results])
    assert first == {"produced_25%": 0.25, "produced_50%": 0.5, "produced_75%": 0.75, "produced_100%": 1.0}
    assert second == {name: share / 2 for name, share in first.items()}


def test_decisions_are_counted_and_timed() -> None:
    star = stream_star(3, {"table": "skew", "A": 0.05}, rows=10_000)
    run = eddy.run_local(
        star.query, star.data, policy="query_mesh", batch_rows=1_000, clock=iter(range(10**9)).__next__
    )
    found = decided_calls(run.report.decisions())
    assert found["decisions"] >= 1
    assert found["milliseconds_to_decide"] >= 1_000
    assert decided_calls(run.report.decisions()[:0]) == {}


class Accounted(Fixed):
    """Spends 11 seconds for 10 in each of two micro-batches, and 9 in all others: an arm is in charge then."""

    batches = 0

    def learn(self) -> None:
        self.batches += 1

    @property
    def insight(self) -> Insight:
        is_adopted = self.batches >= 3
        spent = 11.0 * min(self.batches, 2) + 9.0 * max(self.batches - 2, 0)
        account = {"spent": spent, "written": 10.0 * self.batches, "error": 0.0, "saved": 0.0}
        besides = dict.fromkeys(("sampling", "duels", "control", "learning"), 0.0)
        state, arm = ("in charge", "content") if is_adopted else ("in a duel", "written order")
        return Insight(regrets=[Regret(stream="s", state=state, arm=arm, **account, **besides)])


def test_an_account_says_what_it_cost_and_when_an_arm_was_adopted() -> None:
    star = stream_star(2, [[0.5, 0.5]], rows=100)
    run = eddy.run_local(star.query, star.data, policy=Accounted, batch_rows=20)
    found = adapting(run.report)
    assert found == {"regret": pytest.approx((2 * 11 + 3 * 9) / 50 - 1), "adopted_after": 60}
    assert found.items() <= measure(star, 0, run.report).items()
    early = eddy.Report(run.report.counters[:2])
    assert adapting(early) == {"regret": pytest.approx(0.1)}
    assert adapting(eddy.run_local(star.query, star.data, policy="fixed").report) == {}


def test_auto_is_seen_to_adopt_an_arm() -> None:
    star = stream_star(6, {"table": "skew", "A": 0.05}, rows=40_000)
    policy = {"name": "auto", "costs": "unit", "attributes": [star.attribute]}
    run = eddy.run_local(star.query, star.data, policy=policy, batch_rows=1_000)
    found = adapting(run.report)
    assert 0 < found["adopted_after"] < 40_000
    charged = [any(a.arm != "written order" for a in c.insight.regrets) for c in run.report.counters]
    assert found["adopted_after"] == 1_000 * (charged.index(True) + 1)


def test_time_is_held_against_the_written_order() -> None:
    found = time_over_written([[[3.0, 1.0], [1.0, 2.0]], [[4.0, 4.0]], [[1.0, 1.0]]], written=1)
    assert found == [{"over_written": 0.25}, {"over_written": 1.0}, {"over_written": 0.25}]


@pytest.mark.parametrize(
    ("policy", "batch_rows", "is_it"),
    [
        ("fixed", None, True),
        ({"name": "fixed"}, None, True),
        ({"name": "fixed", "order": ["b"]}, None, False),
        ("fixed", 10, False),
        ("auto", None, False),
        (Accounted, None, False),
    ],
)
def test_the_written_order_is_known_when_it_is_seen(policy: Any, batch_rows: int | None, is_it: bool) -> None:
    assert Contender(label="it", policy=policy, batch_rows=batch_rows).is_written_order == is_it


def test_a_comparison_has_the_time_over_the_written_order_where_somebody_keeps_an_account() -> None:
    star = stream_star(2, [[0.5, 0.5]], rows=100)
    policies: dict[str, PolicyChoice] = {"fixed": "fixed", "told": Accounted, "source": "source"}
    rows = eddy.compare(star.query, star.data, policies, repeats=1, batch_rows=20, quiet=True).rows.to_pylist()
    quiet = {row["policy"]: row["quiet_seconds"] for row in rows}
    assert {row["policy"]: row["over_written"] for row in rows} == {
        policy: pytest.approx(seconds / quiet["fixed"]) for policy, seconds in quiet.items()
    }
    assert [row["policy"] for row in rows if row["regret"] is not None] == ["told"]
    others = {name: policy for name, policy in policies.items() if name != "told"}
    plain = eddy.compare(star.query, star.data, others, repeats=1, batch_rows=20, quiet=True)
    assert "over_written" not in plain.rows.column_names
