"""Bills, sides and duels: who is cheaper, and when one is sure."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.policies.auto.duel import LOST, MOST_ROWS, OPEN, WON, Bill, Cost, Duel, Trail

COSTS = st.lists(st.integers(1, 50).map(float), min_size=2, max_size=40)


def cases(costs: list[float]) -> tuple[float, float, float]:
    """Rows of some costs, as a round counts them."""
    return float(len(costs)), float(np.sum(costs)), float(np.square(costs).sum())


def begun(*, turns: bool = False, warm: int = 0) -> Duel:
    return Duel("content", turns, warm, 1.0)


def fought(challenger: list[float], champion: list[float], *, rounds: int = 1, turns: bool = False) -> Duel:
    duel = begun(turns=turns)
    for _ in range(rounds):
        duel.count(cases(challenger), cases(champion))
    return duel


@given(steps=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 20).map(float)), min_size=1, max_size=8))
def test_a_bill_knows_what_each_row_has_cost(steps: list[tuple[int, float]]) -> None:
    """Rows are lost on the way: their cost is that of the steps that they took."""
    lefts = sorted((left for left, _ in steps), reverse=True)
    bill, trail, costs = Bill(), Trail(), np.zeros(max(lefts))
    for left, (_, price) in zip(lefts, steps, strict=True):
        bill.pay(trail, left, price)
        costs[:left] += price
    assert bill.seconds == pytest.approx(costs.sum())
    assert bill.squares == pytest.approx(np.square(costs).sum())


def test_calls_are_paid_beside_rows() -> None:
    bill = Bill()
    bill.pay(Trail(), 10, 2.0)
    bill.call(3.0)
    assert (bill.seconds, bill.calls, bill.total) == (20.0, 3.0, 23.0)


@given(costs=COSTS)
def test_a_side_has_the_mean_and_its_standard_error(costs: list[float]) -> None:
    side = Cost(half_life=1e12)
    for cost in costs:
        side.add(1.0, cost, cost * cost)
    assert side.cases == pytest.approx(len(costs))
    assert side.mean == pytest.approx(np.mean(costs))
    assert side.error == pytest.approx(np.std(costs) / np.sqrt(len(costs) - 1), abs=1e-3)


def test_a_side_without_cases_is_sure_of_nothing() -> None:
    side = Cost()
    assert (side.cases, side.mean, side.error) == (0.0, 0.0, float("inf"))
    side.add(0.0, 0.0, 0.0)
    assert side.error == float("inf")


def test_old_cases_fade() -> None:
    side = Cost(half_life=100.0)
    for cost in (1.0, 9.0):
        for _ in range(20):
            side.add(100.0, 100.0 * cost, 100.0 * cost * cost)
    assert side.mean == pytest.approx(9.0, rel=0.01)
    assert side.cases < 201


@pytest.mark.parametrize(
    ("challenger", "champion", "expected"),
    [
        ([1.0, 2.0] * 200, [3.0, 4.0] * 200, WON),
        ([3.0, 4.0] * 200, [1.0, 2.0] * 200, LOST),
        ([1.0, 2.0] * 200, [1.0, 2.0] * 200, OPEN),
        ([1.0, 2.0] * 10, [3.0, 4.0] * 200, OPEN),
        ([1.0, 2.0] * 200, [3.0, 4.0] * 10, OPEN),
        ([1.0], [], OPEN),
    ],
)
def test_who_is_cheaper_wins_when_enough_cases_of_both_say_so(
    challenger: list[float], champion: list[float], expected: str
) -> None:
    """Each side has its own cases: neither may be forgotten, nor taken for the other."""
    duel = fought(challenger, champion)
    assert duel.judge(0.0, 3.5, is_young=False) == expected
    gain, _ = duel.compare(0.0)
    if expected in (WON, LOST):
        assert gain == pytest.approx(float(np.mean(champion) - np.mean(challenger)))


def test_a_tie_is_lost_in_the_end() -> None:
    rounds = MOST_ROWS // 400
    assert fought([1.0, 2.0] * 200, [1.0, 2.0] * 200, rounds=rounds - 1).judge(0.0, 1.5, is_young=False) == OPEN
    assert fought([1.0, 2.0] * 200, [1.0, 2.0] * 200, rounds=rounds).judge(0.0, 1.5, is_young=False) == LOST


def test_what_a_challenger_thinks_counts_unless_it_is_young() -> None:
    duel = fought([1.0, 2.0] * 400, [3.0, 4.0] * 400)
    assert duel.judge(1.0, 3.5, is_young=False) == WON
    assert duel.judge(5.0, 3.5, is_young=False) == LOST
    assert duel.judge(5.0, 3.5, is_young=True) == OPEN


def test_nothing_is_said_of_rounds_in_which_a_challenger_still_learns() -> None:
    duel = begun(warm=2)
    for _ in range(2):
        duel.count(cases([9.0] * 300), cases([1.0] * 300))
    assert (duel.seen, duel.rounds, duel.judge(0.0, 1.0, is_young=False)) == (0.0, 0, OPEN)
    duel.count((0.0, 0.0, 0.0), cases([1.0] * 300))
    assert duel.champion.cases == 300


def test_a_few_rounds_that_are_alike_by_chance_are_not_believed() -> None:
    duel = begun(turns=True)
    for _ in range(2):
        duel.count((1.0, 1.0, 1.0), (1.0, 1.03, 1.03**2))
    assert duel.compare(0.0)[1] > 0.03
    assert duel.judge(0.0, 1.0, is_young=False) == OPEN


@given(rounds=st.lists(st.tuples(COSTS, COSTS), max_size=5), turns=st.booleans(), warm=st.integers(0, 2))
def test_a_restart_goes_on_as_it_was(rounds: list[tuple[list[float], list[float]]], *, turns: bool, warm: int) -> None:
    steady, stopped = begun(turns=turns, warm=warm), begun(turns=turns, warm=warm)
    for challenger, champion in rounds:
        stopped = Duel.restore(json.loads(json.dumps(stopped.snapshot())))
        for duel in (steady, stopped):
            duel.count(cases(challenger), cases(champion))
        assert stopped == steady
