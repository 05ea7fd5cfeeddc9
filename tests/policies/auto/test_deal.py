"""Who gets which rows of a round."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.contracts import Prices
from eddy.policies.auto.deal import CONTROL_BURST, LARGEST_CHALLENGE, MOST_STARVED, Dealer, Hand
from eddy.policies.auto.duel import Duel
from eddy.policies.auto.ledger import CHALLENGER, CHAMPION, CONTROL, Ledger
from eddy.policies.shared.account import Account

LANES = [CHALLENGER, CONTROL, CHAMPION]


def dealer(*, left: float = 1e9, control: float = 0.01, turns: bool = False) -> Dealer:
    """One of a stream whose rows cost 1 in the written order, and that has so much left to spend."""
    ledger = Ledger(Account(0.02, allowance=left), Prices(), unit=True)
    ledger.turns = turns
    ledger.written.add(1_000.0, 1_000.0, 1_000.0)
    return Dealer(ledger, control)


def deal(one: Dealer, rows: int, duel: Duel | None, *, seed: int, controlled: bool) -> list[Hand]:
    chance = cache(lambda: np.random.default_rng(seed))
    hands = one.deal(rows, duel, 0.0, chance, controlled=controlled)
    one.end_round()
    return hands


def count(hands: list[Hand], rows: int) -> dict[str, int]:
    return {lane: rows if chosen is None else len(chosen) for lane, chosen in hands}


def begun() -> Duel:
    return Duel("content", turns=False, warm=0, hoped=0.5)


@given(
    sizes=st.lists(st.integers(1, 2_000), min_size=1, max_size=8),
    left=st.sampled_from([-5.0, 0.0, 3.0, 400.0, 1e9]),
    control=st.sampled_from([1e-9, 0.01, 0.5, 1.0]),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_every_row_is_dealt_once(sizes: list[int], left: float, control: float, flags: tuple[bool, bool, bool]) -> None:
    is_duel, turns, controlled = flags
    one = dealer(left=left, control=control, turns=turns)
    for seed, rows in enumerate(sizes):
        hands = deal(one, rows, begun() if is_duel else None, seed=seed, controlled=controlled)
        assert [lane for lane in LANES if lane in count(hands, rows)] == [lane for lane, _ in hands]
        dealt = [np.arange(rows) if chosen is None else chosen for _, chosen in hands]
        assert sorted(np.concatenate(dealt).tolist()) == list(range(rows))
        assert all((np.diff(part) > 0).all() for part in dealt)
        counts = count(hands, rows)
        assert controlled or CONTROL not in counts
        assert is_duel or CHALLENGER not in counts
        if left <= 0:
            assert CHALLENGER not in counts
        if not turns and rows > 1:
            assert counts.get(CHALLENGER, 0) <= rows * LARGEST_CHALLENGE


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 7, 100, 1_000])
def test_an_arm_in_charge_is_audited_whatever_the_size_of_rounds(rows: int, *, turns: bool) -> None:
    """About one row in a hundred goes on in the written order."""
    one = dealer(turns=turns)
    one.control_due = CONTROL_BURST
    rounds = max(20_000 // rows, 600)
    control = sum(
        count(deal(one, rows, None, seed=seed, controlled=True), rows).get(CONTROL, 0) for seed in range(rounds)
    )
    assert 0.004 < control / (rounds * rows) < 0.02


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 5, 1_000])
def test_both_sides_of_a_duel_get_rows_whatever_the_size_of_rounds(rows: int, *, turns: bool) -> None:
    one, found = dealer(turns=turns), dict.fromkeys(LANES, 0)
    for seed in range(40):
        for lane, dealt in count(deal(one, rows, begun(), seed=seed, controlled=False), rows).items():
            found[lane] += dealt
    assert found[CHALLENGER] >= 0.4 * 40 * rows
    assert found[CHAMPION] >= 0.4 * 40 * rows


def test_a_challenger_gets_no_more_rows_than_the_account_bears() -> None:
    """Feared is what the hope may be wrong by; with nothing left it waits."""
    assert CHALLENGER not in count(deal(dealer(left=-20.1), 1_000, begun(), seed=0, controlled=False), 1_000)
    duel = begun()
    duel.count((500.0, 1_000.0, 2_100.0), (500.0, 500.0, 600.0))
    few, many = (
        count(deal(dealer(left=left), 10_000, duel, seed=0, controlled=False), 10_000).get(CHALLENGER, 0)
        for left in (1_000.0, 1e9)
    )
    assert 0 < few < 0.2 * many


@pytest.mark.parametrize("turns", [False, True])
def test_a_challenger_that_gets_no_rows_is_said_to_wait(*, turns: bool) -> None:
    """Else the stream would be in a duel for ever, of which nobody has rows."""
    one = dealer(left=-20.1, turns=turns)
    for seed in range(20):
        deal(one, 1_000, begun(), seed=seed, controlled=False)
    assert one.starved >= MOST_STARVED
    one = dealer(turns=turns)
    for seed in range(20):
        deal(one, 1_000, begun(), seed=seed, controlled=False)
    assert one.starved == 0


def test_control_rows_come_together_and_soon_when_they_are_called() -> None:
    one = dealer()
    assert CONTROL not in count(deal(one, 1_000, None, seed=0, controlled=True), 1_000)
    for _ in range(20):
        one.end_round()
    one.call_control()
    assert one.wants_control
    assert count(deal(one, 1_000, None, seed=0, controlled=True), 1_000)[CONTROL] >= CONTROL_BURST
    assert not one.wants_control


@pytest.mark.parametrize("turns", [False, True])
def test_a_restart_goes_on_as_it_was(*, turns: bool) -> None:
    steady, stopped = dealer(left=30.0, turns=turns), dealer(left=30.0, turns=turns)
    for seed in range(100):
        again = dealer(left=30.0, turns=turns)
        again.restore(json.loads(json.dumps(stopped.snapshot())))
        stopped = again
        duel = begun() if seed % 40 < 20 else None
        hands = [deal(one, 300, duel, seed=seed, controlled=duel is None) for one in (steady, stopped)]
        assert count(hands[0], 300) == count(hands[1], 300)
        assert steady.snapshot() == stopped.snapshot()
