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


def test_a_challenger_that_still_learns_can_win_and_cannot_lose() -> None:
    for costs, expected in (([9.0, 8.0] * 150, OPEN), ([1.0, 2.0] * 150, WON)):
        duel = begun(warm=2)
        duel.count(cases(costs), cases([3.0, 4.0] * 150))
        assert duel.judge(0.0, 3.5, is_young=False) == expected
    duel = begun(warm=2)
    for _ in range(2):
        duel.count(cases([9.0, 8.0] * 150), cases([3.0, 4.0] * 150))
        assert duel.judge(0.0, 3.5, is_young=False) == OPEN
        duel.end_warming()
    # What learning has cost is not held against it.
    assert (duel.challenger.cases, duel.champion.cases, duel.seen) == (0, 0, 600)
    duel.count(cases([1.0, 2.0] * 150), cases([3.0, 4.0] * 150))
    assert duel.judge(0.0, 3.5, is_young=False) == WON


def test_its_first_plan_alone_loses_no_challenger_a_duel_unless_it_is_far_too_dear() -> None:
    """The first plan is made from what it knew of others' rows."""
    for costs, expected in (([4.0, 5.0] * 200, [OPEN, LOST]), ([6.0, 7.0] * 200, [LOST])):
        duel, verdicts = begun(), []
        for _ in expected:
            duel.count(cases(costs), cases([3.0, 4.0] * 200))
            verdicts.append(duel.judge(0.0, 3.5, is_young=False))
        assert verdicts == expected


def test_rows_are_held_against_those_of_their_own_round() -> None:
    """The stream gets dearer for both, and the challenger has more of its rows by then: it is cheaper in each round."""
    duel = begun()
    duel.count(cases([1.0, 2.0] * 10), cases([2.0, 3.0] * 450))
    duel.count(cases([7.0, 8.0] * 250), cases([8.0, 9.0] * 250))
    assert duel.challenger.mean > duel.champion.mean
    gain, error = duel.compare(0.0)
    assert gain == pytest.approx(1.0)
    assert 0.1 < error < 0.3
    assert duel.judge(0.0, 5.0, is_young=False) == WON


def test_rounds_of_a_single_row_are_compared_once_there_are_some_of_both() -> None:
    duel = begun()
    for number in range(500):
        own = (1.0, 1.0 + number % 2, (1.0 + number % 2) ** 2)
        duel.count(own, (0.0, 0.0, 0.0))
        duel.count((0.0, 0.0, 0.0), (1.0, own[1] + 2, (own[1] + 2) ** 2))
    assert duel.compare(0.0)[0] == pytest.approx(2.0, abs=0.1)
    assert duel.judge(0.0, 3.5, is_young=False) == WON


def test_a_hope_that_was_for_nothing_is_given_up_soon_unless_a_sample_has_shown_it() -> None:
    """A tie otherwise takes thousands of rows."""
    for glanced, expected in ((True, LOST), (False, OPEN)):
        duel = Duel("source", turns=False, warm=0, hoped=1.5, glanced=glanced)
        for _ in range(2):
            duel.count(cases([3.0, 4.0] * 250), cases([3.0, 4.0] * 250))
        assert duel.judge(0.0, 3.5, is_young=False) == expected


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
            duel.count((0.0, 0.0, 0.0), cases(champion))
            if duel.warm:
                duel.end_warming()
        assert stopped == steady
