"""Charges: what rows in the written order would cost if all streams went that way, whatever the arms of others do."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.contracts import NO_FEATURES, Hop, Leg, Observation, Prices, Setting, Statistic
from eddy.observe.prices import ALONE
from eddy.policies.auto.arms import Arm, Kept, Lane, put_on_lane
from eddy.policies.auto.charges import Charges
from eddy.policies.auto.duel import Bill, Trail
from eddy.policies.fixed import Fixed

G, PROBE, F = Hop("g"), Hop("probe_a", "a.k"), Hop("f", "stored")
"""The way of a row of `b` in the written order: its own filter, the rows of `a` that it joins, and their filter."""

SECONDS = {G: 3.0, PROBE: 0.25, F: 8.0, ALONE: 0.125}
JUDGED = {"f": "a", "g": "b"}


def known_prices() -> Prices:
    prices = Prices(["probe_a", "probe_b"])
    for rows in (10, 200, 40) * 9:
        for hop, seconds in SECONDS.items():
            work = 2 * rows if hop is PROBE else rows
            prices.add(hop, Statistic(rows, rows, rows, work * seconds))
    return prices


def step(hop: Hop, legs: Sequence[Leg], made: Sequence[Sequence[int]], evaluated: float) -> Observation:
    """A step of some legs: how many tuples come out of each of theirs."""
    outcomes = np.array([count for part in made for count in part])
    rows = len(outcomes)
    return Observation(
        origin="b",
        legs=tuple(legs),
        rows=tuple(map(len, made)),
        hops=(hop,),
        outcomes=(outcomes,),
        statistics=(Statistic(rows, evaluated, float(outcomes.sum()), 0.0),),
        buckets=Kept(np.zeros((rows, 0), np.uint8), ()),
    )


def walk(asked: int, passed: int, found: Sequence[int], dropped: int, unknown: int) -> tuple[Bill, Charges]:
    """Rows of `b` in the written order, some of which others have asked about, and that find some rows of `a`."""
    charges, bill = Charges(known_prices(), unit=False, stream="b", judged=JUDGED), Bill(Bill())
    bill.rows = len(found)
    legs = put_on_lane([Leg(route=(G, PROBE, F))], None, bill)
    charges.charge(step(G, legs, [[1] * passed + [0] * (len(found) - passed)], asked))
    several = list(found[:passed])
    if several:
        charges.charge(step(PROBE, legs, [several], sum(several)))
    if tuples := sum(several):
        gone = min(dropped, tuples)
        charges.charge(step(F, legs, [[1] * (tuples - gone) + [0] * gone], min(unknown, tuples)))
    return bill, charges


FOUND = st.lists(st.integers(0, 3), min_size=1, max_size=9)


@given(found=FOUND, more=st.data())
def test_the_standard_is_what_rows_cost_if_all_streams_go_in_the_written_order(
    found: Sequence[int], more: st.DataObject
) -> None:
    """Beside an arm of `a` rows find more, and ask; others may have asked about them. The standard has none of it."""
    rows = len(found)
    passed = more.draw(st.integers(0, rows))
    extra = [more.draw(st.integers(0, 2)) if place < passed else 0 for place in range(rows)]
    all_found = [one + other for one, other in zip(found, extra, strict=True)]
    pure, _ = walk(rows, passed, found, 0, 0)
    mixed, charges = walk(
        more.draw(st.integers(0, rows)), passed, all_found, sum(extra), more.draw(st.integers(0, sum(all_found)))
    )
    assert mixed.standard.seconds == pytest.approx(pure.standard.seconds)
    assert pure.standard.seconds == pytest.approx(pure.seconds)
    assert mixed.standard.calls == mixed.calls
    assert charges.arrears.spared >= 0.0


@given(found=FOUND, more=st.data())
def test_what_rows_cost_is_their_bill_less_what_others_have_asked_for_them(
    found: Sequence[int], more: st.DataObject
) -> None:
    rows = len(found)
    passed, asked = more.draw(st.integers(0, rows)), more.draw(st.integers(0, rows))
    tuples = sum(found[:passed])
    unknown = more.draw(st.integers(0, tuples))
    bill, charges = walk(asked, passed, found, 0, unknown)
    prices = charges.find_price
    worth = (
        prices(G).unit * asked
        + prices(PROBE).unit * (passed + tuples)
        + prices(F).unit * unknown
        + prices(ALONE).unit * (rows + passed + tuples)
    )
    assert bill.seconds - charges.arrears.spared == pytest.approx(worth)


def test_who_is_in_charge_elsewhere_leaves_arrears_and_a_control_does_not() -> None:
    """Rows that go on in the written order ask to learn something: that is no fault of those that they ask about."""
    prices = known_prices()
    arm = Arm("source", Fixed(Setting(operators=("g", "probe_a"))), NO_FEATURES, "b", 0.0)
    lanes = [Lane(Bill(), Trail(), alone=False, arm=who) for who in (arm, None)]
    legs = [Leg(route=(F,), tag=lane) for lane in lanes]
    asked = step(F, legs, [[1, 1, 0], [1]], 2)
    for charge, expected in ((arm, 1.5), (None, 0.5)):
        owner = Charges(prices, unit=False, stream="a", judged=JUDGED)
        owner.arrears.note_asked(asked, by=charge)
        assert owner.arrears.asked == pytest.approx(expected * owner.find_price(F).unit)
    owner = Charges(prices, unit=False, stream="a", judged=JUDGED)
    owner.arrears.note_asked(step(F, [Leg(route=(F,))], [[1, 0]], 2), by=arm)
    assert owner.arrears.asked == pytest.approx(2 * owner.find_price(F).unit)
    # What is asked about others, or about nobody's rows, is none of its business.
    owner.arrears.settle()
    for hop in (G, PROBE):
        owner.arrears.note_asked(step(hop, [Leg(route=(hop,))], [[1, 0]], 2), by=arm)
    assert owner.arrears.asked == 0.0


def test_idle_rows_pay_for_what_others_have_left_to_them() -> None:
    charges = Charges(known_prices(), unit=False, stream="b", judged=JUDGED)
    charges.arrears.note_idle(step(G, [Leg(route=(G,))], [[1, 0, 1]], 2))
    charges.arrears.note_idle(step(F, [Leg(route=(F,))], [[1, 0]], 2))
    again = Charges(known_prices(), unit=False, stream="b", judged=JUDGED)
    again.arrears.restore(json.loads(json.dumps(charges.arrears.snapshot())))
    expected = 2 * charges.find_price(F).unit - charges.find_price(G).unit
    for one in (charges, again):
        assert one.arrears.settle_idle() == pytest.approx(expected)
        assert one.arrears.settle_idle() == 0.0


def test_only_calls_count_where_they_are_the_unit() -> None:
    """Each stream makes its own."""
    charges = Charges(Prices(), unit=True, stream="b", judged=JUDGED)
    assert not charges.arrears.judges
    bill = Bill()
    legs = put_on_lane([Leg(route=(G,))], None, bill)
    charges.charge(step(G, legs, [[1, 0, 1]], 0))
    assert (bill.seconds, bill.calls) == (3.0, 0.0)
    assert bill.standard is bill
