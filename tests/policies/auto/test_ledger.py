"""The account and its ledger: what was spent, what the written order would have cost, and what is left."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.contracts import NO_FEATURES, Hop, Prices, Setting, Statistic, Statistics
from eddy.policies.auto.arms import Arm
from eddy.policies.auto.duel import Bill, Thinking, Trail
from eddy.policies.auto.guard import ArmGuard
from eddy.policies.auto.ledger import CHAMPION, SAMPLE, USUAL_SCREENING, Ledger
from eddy.policies.auto.prospect import Prospect
from eddy.policies.fixed import Fixed
from eddy.policies.shared.account import CREDIT, KINDS, Account

F, G = Hop("f"), Hop("g")


def test_what_is_left_falls_with_what_is_spent_and_grows_with_what_is_saved() -> None:
    account = Account(0.1, allowance=2.0)
    account.pay_rows(written=100.0, spent=100.0)
    assert account.left == pytest.approx(12.0)
    account.pay("duels", 5.0)
    assert account.left == pytest.approx(7.0)
    account.pay_rows(written=100.0, spent=60.0)
    assert account.left == pytest.approx(17.0 + CREDIT * 40.0)
    assert (account.saved, account.spent) == (40.0, 165.0)
    assert account.allows(37.0)
    assert not account.allows(37.1)


def test_what_is_lost_counts_whole_and_what_is_saved_in_part() -> None:
    account = Account(0.1)
    account.pay_rows(written=100.0, spent=130.0)
    assert account.saved == -30.0
    assert account.left == pytest.approx(-20.0)
    assert not account.allows(0.0)


@given(
    paid=st.lists(
        st.tuples(st.sampled_from([*KINDS, "rows"]), st.integers(0, 99).map(float), st.integers(0, 99).map(float))
    )
)
def test_the_books_balance(paid: list[tuple[str, float, float]]) -> None:
    """Spent = written - saved + everything besides; and never is more left than the shares of it."""
    account, rows, besides = Account(0.02, allowance=3.0), [0.0, 0.0], 0.0
    for kind, one, other in paid:
        if kind == "rows":
            account.pay_rows(one, other)
            rows = [rows[0] + one, rows[1] + other]
        else:
            account.pay(kind, one)
            besides += one
    assert account.spent == pytest.approx(rows[1] + besides)
    assert account.written == rows[0]
    saved = rows[0] - rows[1]
    assert account.left == pytest.approx(0.02 * rows[0] + 3.0 - besides + min(saved, CREDIT * saved))
    again = Account(0.02)
    again.restore(json.loads(json.dumps(account.snapshot())))
    assert (again.left, again.spent, again.optional) == (account.left, account.spent, account.optional)


def ledger(*, unit: bool = False) -> Ledger:
    """One whose operators take 1 and 3 seconds a row, and no time for a call."""
    prices = Prices()
    for rows in (10, 200, 40) * 9:
        for hop, seconds in ((F, 1.0), (G, 3.0)):
            prices.add(hop, Statistic(rows, rows, rows / 2, rows * seconds))
    return Ledger(Account(0.02), prices, unit=unit)


def test_idle_rows_cost_what_the_written_order_costs() -> None:
    one, statistics = ledger(), Statistics()
    for hop in (F, G):
        statistics.add(hop, Statistic(100, 100, 50, 0.0))
    one.idle_rows, one.idle_rounds = 100, 2
    assert one.settle_idle((F, G), statistics, 1, 1) == 0.0
    assert one.account.written == pytest.approx(100 * 2.5, rel=0.01)
    assert one.account.spent == one.account.written
    assert (one.idle_rows, one.idle_rounds, one.unsettled, one.usual) == (0, 0, 0.0, 50.0)
    assert one.account.allowance > 0
    statistics.add(F, Statistic(1e6, 1e6, 1e6, 0.0))
    one.idle_rows, one.idle_rounds = 100, 1
    assert one.settle_idle((F, G), statistics, 1, 1) == pytest.approx(1.5 / 2.5, rel=0.02)


def bill(rows: int, seconds: float) -> Bill:
    made = Bill()
    made.rows = rows
    made.pay(Trail(), rows, seconds)
    return made


def test_a_sample_costs_what_it_took_more_than_rows_do() -> None:
    one = ledger()
    one.settle(100, {CHAMPION: bill(60, 2.5), SAMPLE: bill(40, 4.0)}, ArmGuard(turns=False), None, None)
    assert one.in_order == 2.5
    assert one.account.optional["sampling"] == pytest.approx(40 * 1.5)
    assert one.account.written == pytest.approx(250.0)
    assert one.account.saved == 0
    assert one.account.spent == pytest.approx(60 * 2.5 + 40 * 4.0)


def test_only_calls_count_where_they_are_the_unit() -> None:
    one = ledger(unit=True)
    assert one.row_prices([F, G]) == [1.0, 1.0]
    assert (one.arm_price("content"), one.screening_price(5), one.least_thinking) == (0.0, 0.0, 0.0)
    assert one.waking_price("content", tells_classes=True) == 0.0


def test_an_arm_that_nobody_knows_is_taken_to_think_as_usual() -> None:
    one = ledger()
    assert one.arm_price("content") > 0
    assert one.waking_price("content", tells_classes=True) > one.waking_price("source", tells_classes=False)


def test_what_an_arm_takes_on_one_stream_is_what_others_expect() -> None:
    pool: list[Ledger] = []
    one, other = (Ledger(Account(0.02), ledger().prices, unit=False, pool=pool) for _ in range(2))
    for each in (one, other):
        each.usual, each.calls = 1_000.0, 1e-2
    expected = other.arm_price("source", tells_classes=False)
    assert expected < other.arm_price("source", tells_classes=True)
    thinking = one.thinking["source"] = Thinking()
    for _ in range(3):
        thinking.planning.add(1_000, 1_000, 3e-3)
    thinking.calls = 1.5e-2
    assert other.arm_price("source") == one.arm_price("source") == pytest.approx(8e-3, rel=0.01)
    other.thinking["source"] = Thinking()
    assert other.arm_price("source") == 0.0


def test_a_restart_goes_on_as_it_was() -> None:
    one = ledger()
    one.settle(100, {CHAMPION: bill(60, 2.5), SAMPLE: bill(40, 4.0)}, ArmGuard(turns=False), None, None)
    again = Ledger(Account(0.02), one.prices, unit=False)
    again.restore(json.loads(json.dumps(one.snapshot())), one.account.snapshot())
    assert again.snapshot() == one.snapshot()
    assert again.account.snapshot() == one.account.snapshot()
    for each in (one, again):
        each.settle(50, {CHAMPION: bill(50, 3.0)}, ArmGuard(turns=False), None, None)
    assert again.snapshot() == one.snapshot()


def test_a_stream_that_saves_up_wants_no_small_rounds_before_a_look_is_near() -> None:
    held = ledger()
    held.idle_rows, held.idle_rounds = 40_000, 2
    assert not held.is_time_to_look(31_000)
    assert not held.is_look_near(31_000, saves=True)
    held.idle_rounds = 31_000 // 500 - 3
    assert held.is_look_near(31_000, saves=True)
    assert not held.is_look_near(31_000, saves=False)


def test_a_sample_has_to_be_worth_what_rows_so_far_might_have_saved() -> None:
    """A stream of which a row costs a little more than it has to gets none at once, and one when it has grown old."""
    held = ledger()
    held.usual = 1_000.0
    prices = held.row_prices((F, G))
    prospect = Prospect(held, {})
    assert prospect.price_sample((F, G), prices[0], 1, 20_000) is None
    much, little = prices[0] + 0.5, prices[0] + 0.01
    price = prospect.price_sample((F, G), much, 1, 20_000)
    assert price == pytest.approx(500 * (sum(prices) - much) + held.screening_price(1))
    assert prospect.price_sample((F, G), little, 1, 20_000) is None
    assert prospect.price_sample((F, G), little, 1, 1_000_000) is not None


def test_dividing_a_sample_is_a_part_of_its_price() -> None:
    held = ledger()
    first = held.screening_price(4)
    for _ in range(5):
        held.pay_screening(5, 5 * 3e-3)
    assert held.screening_price(4) == pytest.approx(5 * 3e-3, rel=0.01)
    assert first == pytest.approx(5 * USUAL_SCREENING)
    assert held.account.optional["sampling"] == pytest.approx(25 * 3e-3)


def test_an_arm_in_charge_owes_for_each_row_what_others_ask_for_it() -> None:
    """Less what rows in the written order were spared; arrears are no part of the account, where others have paid."""
    one = ledger()
    arm = Arm("source", Fixed(Setting(operators=("f", "g"))), NO_FEATURES, "a", 0.0)
    one.note_round(100)
    one.charges.arrears.asked, one.charges.arrears.spared = 90.0, 10.0
    one.settle(100, {CHAMPION: bill(100, 2.5)}, ArmGuard(turns=False), arm, None)
    assert one.think(arm).arrears.mean == pytest.approx(0.8)
    assert one.extra(arm) == pytest.approx(0.8)
    assert (one.charges.arrears.asked, one.charges.arrears.spared) == (0.0, 0.0)
    # What was spared has been saved by nobody else.
    assert one.account.spent == pytest.approx(100 * 2.5 - 10.0)
    one.forget_arrears()
    assert one.think(arm).arrears.mean == 0.0


def test_idle_rows_have_spent_what_they_asked_for_the_arms_of_others() -> None:
    one, statistics = ledger(), Statistics()
    for hop in (F, G):
        statistics.add(hop, Statistic(100, 100, 50, 0.0))
    one.idle_rows, one.idle_rounds, one.charges.arrears.idle_asked = 100, 1, 30.0
    one.settle_idle((F, G), statistics, 1, 1)
    assert one.account.saved == pytest.approx(-30.0)
    assert one.account.written == pytest.approx(100 * 2.5, rel=0.01)
    assert one.charges.arrears.idle_asked == 0.0
