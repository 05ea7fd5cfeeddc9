"""Prices: a line through the steps of each hop."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.contracts import Hop, Prices, Statistic
from eddy.observe.prices import STEPS_TO_TRUST, USUAL_STEP

HOP, PROBE = Hop("f"), Hop("probe_b", "b.k")


def step(rows: float, seconds: float, evaluated: float | None = None) -> Statistic:
    return Statistic(rows, rows if evaluated is None else evaluated, rows, seconds)


def test_a_line_is_found_through_steps_of_unlike_sizes() -> None:
    prices = Prices()
    for rows in [1_000, 50, 16_000, 400, 2_000, 8_000] * 5:
        prices.add(HOP, step(rows, 80e-6 + rows * 2e-6))
    found = prices[HOP]
    assert found.step == pytest.approx(80e-6, rel=0.05)
    assert found.row == pytest.approx(2e-6, rel=0.01)
    assert found.seconds(rows=10_000, steps=3) == pytest.approx(20.24e-3, rel=0.02)


def test_steps_of_one_size_cost_what_they_cost_and_a_call_what_is_usual() -> None:
    prices = Prices()
    for _ in range(20):
        prices.add(HOP, step(1_000, 530e-6))
    assert prices[HOP].step == pytest.approx(USUAL_STEP, rel=0.01)
    assert prices[HOP].seconds(1_000) == pytest.approx(530e-6, rel=0.01)


def test_one_slow_call_is_not_believed_and_several_are() -> None:
    prices = Prices()
    for _ in range(20):
        prices.add(HOP, step(1_000, 1e-3))
    prices.add(HOP, step(1_000, 1.0))
    assert prices[HOP].seconds(1_000) < 1.1e-3
    for _ in range(5):
        prices.add(HOP, step(1_000, 1.0))
    assert prices[HOP].seconds(1_000) > 0.5


def test_a_probe_pays_for_its_candidates_and_a_filter_for_the_rows_that_it_had_not_judged() -> None:
    prices = Prices(["probe_b"])
    for candidates in [0, 500, 4_000] * 9:
        prices.add(PROBE, step(100, 30e-6 + (100 + candidates) * 1e-6, candidates))
        prices.add(HOP, step(100, 30e-6 + candidates / 50 * 1e-6, candidates / 50))
    assert prices.seconds(PROBE, step(100, 9.0, 1_000)) == pytest.approx(30e-6 + 1_100e-6, rel=0.05)
    assert prices.seconds(HOP, step(100, 9.0, 0)) == pytest.approx(30e-6, rel=0.05)
    assert prices[PROBE].load == pytest.approx(16, rel=0.1)


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 10**6), st.floats(-1, 1e4)),
        max_size=60,
    )
)
def test_prices_are_finite_and_not_negative_whatever_the_clock_says(steps: list[tuple[int, float]]) -> None:
    prices = Prices()
    for rows, seconds in steps:
        prices.add(HOP, step(rows, seconds))
        if len(steps) % 2:
            assert min(prices[HOP]) >= 0
    found = prices[HOP]
    assert np.isfinite(found).all()
    assert min(found) >= 0
    again = Prices()
    again.restore(json.loads(json.dumps(prices.snapshot())))
    assert again[HOP] == found


def test_a_restart_goes_on_as_it_was() -> None:
    steady, stopped = Prices(), Prices()
    for number in range(50):
        one = step(100 + 37 * number % 900, 1e-4 * (1 + number % 5))
        steady.add(HOP, one)
        stopped.add(HOP, one)
        again = Prices()
        again.restore(json.loads(json.dumps(stopped.snapshot())))
        stopped = again
        if number > STEPS_TO_TRUST:
            assert stopped[HOP] == pytest.approx(steady[HOP])


def test_nothing_is_known_of_a_hop_that_took_no_step() -> None:
    assert Prices()[HOP].seconds(1_000) == 0


def test_the_price_of_a_call_is_not_booked_on_its_rows_where_other_probes_tell_it() -> None:
    """Two probes, each with steps of one size: alone, the second's rows would seem fifty times as dear."""
    prices = Prices(["probe_a", "probe_b"])
    for _ in range(40):
        for name, rows in (("probe_a", 1_000), ("probe_b", 20)):
            prices.add(Hop(name), Statistic(rows, 0, rows, 200e-6 + 0.1e-6 * rows))
    found = [prices[Hop(name)].row for name in ("probe_a", "probe_b")]
    # A hundredth of the call is left on the rows; with the usual price of a call it would be 8.6 microseconds a row.
    assert found[0] == pytest.approx(0.1e-6, rel=0.1)
    assert found[1] < 0.3e-6
    assert prices[Hop("probe_b")].step == pytest.approx(200e-6, rel=0.05)
    again = Prices(["probe_a", "probe_b"])
    again.restore(prices.snapshot())
    assert [again[Hop(name)].row for name in ("probe_a", "probe_b")] == found


def test_rows_are_not_free_where_steps_of_one_size_waver() -> None:
    """The fewer rows took longer by chance; what rows take is not known, and nothing would be less than it."""
    prices, hop = Prices(), Hop("f")
    for _ in range(10):
        for rows, seconds in ((50, 70e-6), (60, 60e-6)):
            prices.add(hop, Statistic(rows, rows, rows, seconds))
    found = prices[hop]
    assert found.seconds(55) == pytest.approx(65e-6, rel=0.05)
    assert found.row == pytest.approx(0.1 * 65e-6 / 55, rel=0.05)
