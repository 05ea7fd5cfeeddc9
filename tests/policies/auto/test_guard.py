"""The guard: an arm that has become dearer than the written order has to go."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eddy.contracts import Statistic
from eddy.policies.auto.duel import HALF_LIFE_ROWS, Cost
from eddy.policies.auto.guard import LARGE_ROUND, QUIET_ROUNDS, ArmGuard, WholeGuard
from eddy.policies.shared.account import Account

WRITTEN = [3.0, 5.0]


def cases(costs: list[float]) -> tuple[float, float, float]:
    return float(len(costs)), float(np.sum(costs)), float(np.square(costs).sum())


def written() -> Cost:
    side = Cost()
    side.add(*cases(WRITTEN * 500))
    return side


@pytest.mark.parametrize(
    ("costs", "overhead", "is_failing"),
    [
        ([1.0, 3.0] * 500, 0.0, False),
        ([3.0, 5.0] * 500, 0.0, False),
        ([3.3, 5.3] * 500, 0.0, True),
        ([1.0, 3.0] * 500, 3.0, True),
        ([1.0, 3.0] * 500, 1.9, False),
        ([7.0, 9.0] * 50, 0.0, True),
        ([7.0, 9.0] * 5, 0.0, False),
    ],
)
def test_an_arm_that_is_dearer_has_to_go(costs: list[float], overhead: float, *, is_failing: bool) -> None:
    guard = ArmGuard(turns=False)
    guard.count(cases(costs))
    assert guard.fails(overhead, written()) == is_failing
    gain, _ = guard.saves(overhead, written())
    assert gain == pytest.approx(4.0 - float(np.mean(costs)) - overhead)


def test_nothing_is_said_before_there_are_rows_in_the_written_order() -> None:
    guard = ArmGuard(turns=False)
    guard.count(cases([90.0] * 500))
    assert not guard.fails(0.0, Cost())


def test_rows_that_surely_cost_something_else_by_now_are_judged_by_themselves() -> None:
    """Windows fill up: by all its rows the arm would be cheaper than the written order for many rounds more."""
    guard = ArmGuard(turns=False)
    for _ in range(100):
        guard.count(cases([1.0, 3.0] * 100))
    assert not guard.fails(0.0, written())
    guard.count(cases([4.5, 5.5] * 100))
    assert guard.arm.mean == pytest.approx(5.0)
    assert guard.fails(0.0, written())


def test_rows_fade_also_while_nobody_counts() -> None:
    guard, other = ArmGuard(turns=False), ArmGuard(turns=False)
    for each in (guard, other):
        each.count(cases([1.0, 3.0] * 1_000))
    guard.end_quiet(int(HALF_LIFE_ROWS), 0.0)
    for each in (guard, other):
        each.count(cases([2.0, 2.4] * 1_000))
    assert other.arm.mean < guard.arm.mean < 2.2
    assert guard.may_be_quiet(1_000, 0, is_due=False)


def test_arms_that_lose_together_go_together() -> None:
    """One stream's rows ask what others have left: each arm is better than going back alone, and all are worse."""
    guard, accounts = WholeGuard(), [Account(0.02), Account(0.02)]
    for number in range(20):
        assert not guard.fails
        accounts[0].pay_rows(written=10.0, spent=4.0 + number % 3)
        accounts[1].pay_rows(written=10.0, spent=14.0 + number % 2)
        guard.count(accounts)
    for number in range(20):
        accounts[1].pay_rows(written=10.0, spent=14.0 + number % 2)
        guard.count(accounts)
    assert guard.fails
    again = WholeGuard()
    again.restore(json.loads(json.dumps(guard.snapshot())))
    assert again.fails
    guard.forget(accounts)
    assert not guard.fails


def test_one_round_that_is_far_too_dear_is_enough() -> None:
    guard = ArmGuard(turns=False)
    for _ in range(100):
        assert not guard.count(cases([1.0, 3.0] * 100))
    assert guard.count(cases([9.0, 11.0] * 45))
    assert guard.arm.mean < 4.0
    assert guard.fails(0.0, written())
    # On the whole it is cheaper than the written order: nobody would understand that it has to go.
    assert guard.tell(0.4, 4.0) == "cost 2.60 times the written order in its last round"


def test_an_arm_that_was_always_dear_is_told_as_a_whole() -> None:
    guard = ArmGuard(turns=False)
    for _ in range(2):
        guard.count(cases([6.0, 8.0] * 100))
    assert guard.tell(1.0, 4.0) == "costs 2.00 times the written order"


def test_a_round_without_rows_says_nothing() -> None:
    guard = ArmGuard(turns=False)
    guard.count(cases([1.0, 3.0] * 100))
    before = guard.snapshot()
    assert not guard.count((0.0, 0.0, 0.0))
    assert guard.snapshot() == before


@pytest.mark.parametrize("turns", [False, True])
def test_a_restart_goes_on_as_it_was(*, turns: bool) -> None:
    steady, stopped = ArmGuard(turns=turns), ArmGuard(turns=turns)
    for number in range(20):
        stopped = ArmGuard.restore(json.loads(json.dumps(stopped.snapshot())))
        counted = cases([1.0 + number % 3, 3.0] * 30)
        assert steady.count(counted) == stopped.count(counted)
        assert steady == stopped


@pytest.mark.parametrize(
    ("rows", "rounds", "is_due", "is_quiet"),
    [
        (1_000, 0, False, True),
        (1_000, 0, True, False),
        (1_000, QUIET_ROUNDS, False, False),
        (LARGE_ROUND, 0, True, True),
        (LARGE_ROUND, QUIET_ROUNDS, True, False),
    ],
)
def test_large_rounds_are_divided_now_and_then(rows: int, rounds: int, *, is_due: bool, is_quiet: bool) -> None:
    """Control rows are due in each of them, and dividing a hundred thousand rows costs more than these do."""
    guard = ArmGuard(turns=False)
    assert not guard.may_be_quiet(rows, rounds, is_due=is_due)
    guard.count(cases([1.0, 3.0] * 2_000))
    assert guard.may_be_quiet(rows, rounds, is_due=is_due) == is_quiet


@pytest.mark.parametrize("unit", [False, True])
def test_a_quiet_round_that_took_far_more_than_usual_is_the_last(*, unit: bool) -> None:
    """In a join an order may become a hundred times as dear at once, and nobody counts for three rounds of four."""
    guard = ArmGuard(turns=False)
    guard.count(cases([1.0, 3.0] * 2_000))
    for steps, alarmed in (([900, 500, 900], False), ([1_000, 3_000], True)):
        for rows in steps:
            one = Statistic(rows, rows, rows, 0.0 if unit else float(rows))
            guard.glimpse((one,), unit=unit)
        guard.end_quiet(1_000, 300.0)
        assert guard.is_alarmed == alarmed
    again = ArmGuard.restore(json.loads(json.dumps(guard.snapshot())))
    for each in (guard, again):
        assert not each.may_be_quiet(1_000, 0, is_due=False)
        each.count(cases([1.0, 3.0] * 100))
        assert each.may_be_quiet(1_000, 0, is_due=False)
