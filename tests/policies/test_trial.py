"""A new classifier stays only if it pays, whether operators may be taken in any order or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Leg, Policy, Setting
from eddy.policies.content.trial import MOST_CONTROL, MOST_TO_DECIDE, ROWS_TO_DECIDE, HalfTrial
from eddy.tuples import Hop

HOP = Hop("f")
ROWS = 4 * ROWS_TO_DECIDE


def split(trial: HalfTrial, old_price: float, new_price: float) -> None:
    """A micro-batch of which some rows go each way."""
    parts = trial.split(np.arange(ROWS), np.random.default_rng(0))
    legs = [Leg(route=(HOP,), rows=part) for part in parts]
    for leg, new, price in zip(legs, (False, True), (old_price, new_price), strict=True):
        marked = trial.mark([leg], new=new)
        trial.pay(marked, [len(leg.rows) if leg.rows is not None else 0], price)


def test_rows_of_one_micro_batch_decide() -> None:
    for new_price, is_lost in ((1.0, False), (1.1, False), (1.5, True)):
        trial = HalfTrial([HOP])
        assert not trial.is_over
        split(trial, 1.0, new_price)
        assert trial.is_over
        assert trial.is_lost == is_lost


def test_no_more_rows_do_without_than_decide() -> None:
    trial = HalfTrial([HOP])
    old, new = trial.split(np.arange(20_000), np.random.default_rng(0))
    assert ROWS_TO_DECIDE < len(old) < 1.2 * MOST_CONTROL
    assert len(old) + len(new) == 20_000


def test_what_surely_costs_something_must_be_seen_to_pay() -> None:
    for new_price, is_lost in ((0.8, False), (0.97, True), (1.0, True)):
        trial = HalfTrial([HOP])
        rounds = 0
        while not trial.is_over:
            split(trial, 1.0, new_price)
            trial.spend(0.05 * ROWS, new=True)
            rounds += 1
        assert trial.is_lost == is_lost
        assert (rounds > 1) == (new_price > 0.8)
        assert rounds <= MOST_TO_DECIDE // ROWS_TO_DECIDE + 1


def test_each_way_pays_for_the_steps_that_it_takes() -> None:
    trial = HalfTrial([HOP])
    split(trial, 1.0, 1.0)
    legs = trial.mark([Leg(route=(HOP,))] * 3, new=True) + trial.mark([Leg(route=(HOP,))], new=False)
    trial.pay(legs, [1, 1, 1, 1], 0.0, step=7.0)
    trial.pay(legs[:2], [1, 1], 0.0, step=7.0)
    assert trial.snapshot()[-1] == [7.0, 14.0]


def test_legs_that_are_not_on_trial_cost_nothing() -> None:
    trial = HalfTrial([HOP])
    split(trial, 1.0, 1.0)
    before = trial.snapshot()
    trial.pay([Leg(route=(HOP,))], [ROWS], 5.0)
    assert trial.snapshot() == before


def test_a_trial_goes_on_after_a_restart() -> None:
    trial = HalfTrial([HOP])
    split(trial, 1.0, 2.0)
    trial.spend(3.0, new=True)
    assert HalfTrial.restore(trial.snapshot()).snapshot() == trial.snapshot()


def drifting(rows: int) -> dict[str, pa.Table]:
    """A stream whose filters hang on its class in the second half only, and two tables, the second behind the first."""
    rng = np.random.default_rng(3)
    kind, late = rng.integers(0, 3, rows), np.arange(rows) >= rows // 2
    columns: dict[str, Any] = {"ts": np.arange(rows), "kind": kind, "one": np.ones(rows, np.int64)}
    for i in range(3):
        columns[f"p{i}"] = rng.random(rows) < np.where(late, np.where(kind == i, 0.05, 0.9), 0.5)
    return {"s": pa.table(columns), "near": pa.table({"one": [1], "two": [2]}), "far": pa.table({"two": [2]})}


def question(*, dependent: bool) -> eddy.Query:
    filters = [eddy.Filter(f"f{i}", on="s", where=f"p{i}") for i in range(3)]
    tables = [eddy.Table("near"), eddy.Table("far")] if dependent else []
    joins = ["s.one = near.one", "near.two = far.two"] if dependent else []
    return eddy.Query(
        streams=[eddy.Stream("s", time="ts")], tables=tables, joins=joins, filters=filters, select=["s.ts"]
    )


@pytest.mark.parametrize("dependent", [False, True])
def test_what_is_found_later_is_tried_and_kept_if_it_pays(dependent: bool) -> None:
    held: list[Policy] = []

    def build(setting: Setting) -> Policy:
        choice = {"name": "content", "attributes": ["s.kind"], "costs": "unit"}
        held.append(wiring.make_policy(choice, setting))
        return held[-1]

    data = drifting(60_000)
    tables = {table: data[table].to_batches()[0] for table in ("near", "far") if dependent}
    asked = question(dependent=dependent)
    engine = wiring.engine(asked, {"s": data["s"].schema}, build, tables=tables, clock=float, seed=0)
    trials, calls = [], []
    for part in data["s"].to_batches(max_chunksize=1_000):
        list(engine.run({"s": part}))
        calls.append(sum(s.rows_in for hop, s in engine.read_counters().operators.items() if hop.operator[0] == "f"))
        trials.append(held[0].snapshot()["known"]["s"]["trial"])
    assert not any(trials[:30])
    tried = [trial for trial in trials if trial is not None]
    assert {operator for trial in tried for operator, _ in trial[0]} <= {"f0", "f1", "f2"}
    assert tried
    assert trials[-1] is None
    assert sum(calls[-5:]) < 0.9 * sum(calls[25:30])


def test_a_policy_goes_on_with_its_trial_after_a_restart() -> None:
    data, held = drifting(40_000), []

    def build(setting: Setting) -> Policy:
        held.append(wiring.make_policy({"name": "content", "attributes": ["s.kind"], "costs": "unit"}, setting))
        return held[-1]

    def make() -> Any:
        return wiring.engine(question(dependent=False), {"s": data["s"].schema}, build, tables={}, clock=float, seed=0)

    engine, again = make(), make()
    for part in data["s"].to_batches(max_chunksize=1_000):
        list(engine.run({"s": part}))
        if (trial := held[0].snapshot()["known"]["s"]["trial"]) is not None:
            again.restore(engine.snapshot())
            assert held[1].snapshot()["known"]["s"]["trial"] == trial
            return
    pytest.fail("nothing was tried")
