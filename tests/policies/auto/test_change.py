"""Streams that change, and short ones: what `auto` saves there, by calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import NO_FEATURES, Hop, Prices, Setting, Statistic, Statistics, fading
from eddy.engine import Engine
from eddy.observe.statistics import HALF_LIFE
from eddy.policies.auto.arms import Arm
from eddy.policies.auto.duel import MOST_ROWS, Bill, Trail
from eddy.policies.auto.guard import ArmGuard
from eddy.policies.auto.idle import IdleRows
from eddy.policies.auto.ledger import CHALLENGER, CHAMPION, Ledger
from eddy.policies.auto.prospect import Prospect
from eddy.policies.fixed import Fixed
from eddy.policies.shared.account import Account
from eddy.policies.shared.standing_order import RecentRates

F, G = Hop("f"), Hop("g")
TABLE = np.random.default_rng(99).random(10_007) < 0.5


def ask(keys: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A filter of which no range of its column tells anything."""
    found: np.ndarray[Any, np.dtype[np.bool_]] = TABLE[keys]
    return found


def stream(passes: Sequence[np.ndarray[Any, np.dtype[np.bool_]]], seed: int) -> tuple[eddy.Query, pa.Table]:
    chance = np.random.default_rng(seed)
    yes, no = np.flatnonzero(TABLE), np.flatnonzero(~TABLE)
    columns = {
        f"k{n}": np.where(one, chance.choice(yes, len(one)), chance.choice(no, len(one)))
        for n, one in enumerate(passes)
    }
    filters = [eddy.Filter(f"f_{name}", on="a", function=ask, columns=[name]) for name in columns]
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.ts"])
    return asked, pa.table({"ts": np.arange(len(passes[0])), **columns})


def count_calls(asked: eddy.Query, table: pa.Table, policy: Any, seed: int, cells: int) -> float:
    running = wiring.engine(asked, {"a": table.schema}, policy, tables={}, clock=float, seed=seed, cells=cells)
    calls = 0.0
    for part in table.to_batches(max_chunksize=1_000):
        list(running.run({"a": part}))
        calls += sum(s.rows_in for s in running.read_counters().operators.values())
    return calls


def find_share(shares: Any, rows: int, policy: Any, *, seed: int, cells: int) -> float:
    """What a policy's calls are of those in the written order; shares are of each part of the stream."""
    chance, table = np.random.default_rng(seed), np.atleast_2d(shares)
    passed = chance.random((rows, table.shape[1])) < np.repeat(table, rows // len(table), axis=0)
    asked, data = stream(list(passed.T), seed)
    spent, written = (count_calls(asked, data, one, seed, cells) for one in (policy, "fixed"))
    return spent / written


@pytest.mark.parametrize("seed", range(2))
def test_a_short_cell_that_changes_halfway_is_followed(seed: int) -> None:
    """As in the demo: a duel is under way when the stream changes, and its arm has not learned the new order yet."""
    policy = {"name": "auto", "costs": "unit"}
    found = [find_share([[0.1, 0.9, 0.5], [0.9, 0.1, 0.5]], 20_000, policy, seed=seed, cells=2)]
    assert np.mean(found) < 0.93


def test_short_cells_gain_before_they_can_pay_for_a_sample() -> None:
    policy = {"name": "auto", "costs": "unit"}
    found = find_share([[0.95, 0.9, 0.8, 0.6, 0.3, 0.1]], 5_000, policy, seed=0, cells=4)
    assert found < 0.75


def test_an_arm_that_profiles_begins_with_the_sample_that_was_taken() -> None:
    """Filters of which three mostly agree; the order that follows from each alone is not the best one."""
    chance = np.random.default_rng(0)
    base, noise = chance.random(20_000), chance.normal
    passes = [base > 0.4, base + noise(0, 0.01, 20_000) > 0.4, base + noise(0, 0.01, 20_000) > 0.4, base < 0.5]
    asked, data = stream(passes, 0)
    policy = {"name": "auto", "arms": ["a_greedy"], "costs": "unit"}
    spent, written = (count_calls(asked, data, one, 0, 1) for one in (policy, "fixed"))
    assert spent < 0.8 * written


def test_rows_of_a_stream_that_has_changed_are_not_held_against_older_ones() -> None:
    """A challenger pays for what it costs more than rows of its own round do, and not for the change."""
    ledger = Ledger(Account(0.02), Prices(), unit=True)
    ledger.settle(900, {CHAMPION: _bill(900, 1.0)}, ArmGuard(turns=False), None, None)
    arm = Arm("source", Fixed(Setting(operators=("f", "g"))), NO_FEATURES, "a", 0.0)
    ledger.settle(1_000, {CHAMPION: _bill(500, 2.0), CHALLENGER: _bill(500, 2.2)}, ArmGuard(turns=False), None, arm)
    assert ledger.account.optional["duels"] == pytest.approx(500 * 0.2)
    assert ledger.has_changed
    assert ledger.in_order == pytest.approx(2.0)
    assert ledger.account.written == pytest.approx(900 * 1.0 + 1_000 * 2.0)
    ledger.settle(1_000, {CHAMPION: _bill(1_000, 2.1)}, ArmGuard(turns=False), None, None)
    assert not ledger.has_changed
    spent = ledger.account.optional["duels"]
    ledger.settle(1_000, {CHAMPION: _bill(500, 2.3), CHALLENGER: _bill(500, 2.3)}, ArmGuard(turns=False), None, arm)
    assert not ledger.has_changed
    assert ledger.account.optional["duels"] == pytest.approx(spent)


def test_who_has_won_costs_what_it_did_in_the_duel() -> None:
    """Else another arm would be hoped to save all over again what is saved already, before a duel of another stream."""
    passed = np.random.default_rng(0).random((20_000, 3)) < [0.95, 0.6, 0.1]
    asked, data = stream(list(passed.T), 0)
    course = next((course for course, _ in follow(asked, data, "source", 1_000) if course.champion is not None), None)
    assert course is not None
    # It has not had a round for itself yet.
    assert 200 <= course.guard.arm.cases <= 1_000
    assert course.ledger.current(course.champion, course.guard) < 0.8 * course.ledger.in_order


def test_a_stream_that_changes_in_every_round_does_not_keep_a_duel_open() -> None:
    """Rows of a duel are held against those of their own round: the round that shows a change counts, or decides it."""
    odd = np.arange(40_000) // 1_000 % 2 == 1
    shares = np.column_stack([np.where(odd, 0.9, 0.45), np.full(len(odd), 0.9), np.full(len(odd), 0.75)])
    passed = np.random.default_rng(0).random(shares.shape) < shares
    asked, data = stream(list(passed.T), 0)
    lasted, longest = 0, 0
    for course, _ in follow(asked, data, "source", 1_000):
        lasted = 0 if course.duel is None else lasted + 1
        longest = max(longest, lasted)
    assert 0 < longest <= 2 * MOST_ROWS / 1_000 + 1


def test_a_stream_that_has_no_row_of_its_sample_yet_is_sampling() -> None:
    asked, data = stream([np.ones(1_000, np.bool_)] * 2, 0)
    steps = follow(asked, data, "content", 500)
    course, running = next((step for step in steps if step[0].sample is not None), (None, None))
    assert course is not None
    assert running is not None
    assert not len(course.sample)
    (told,) = running.read_counters().insight.regrets
    assert (told.state, told.arm) == ("sampling", "written order")


def follow(asked: eddy.Query, data: pa.Table, arm: str, rows: int) -> Iterator[tuple[Any, Engine]]:
    """Run `auto` with one arm, and give the course of the stream after each micro-batch."""
    policy = {"name": "auto", "arms": [arm], "costs": "unit"}
    running = wiring.engine(asked, {"a": data.schema}, policy, tables={}, clock=float, seed=0)
    held: Any = running.lanes[""]._policy
    for part in data.to_batches(max_chunksize=rows):
        list(running.run({"a": part}))
        yield held._courses["a"], running


def _bill(rows: int, price: float) -> Bill:
    made = Bill()
    made.rows = rows
    made.pay(Trail(), rows, price)
    return made


def _step(statistics: Statistics, rows: int, rates: Sequence[float]) -> None:
    for hop, rate in zip((F, G), rates, strict=True):
        statistics.add(hop, Statistic(rows, rows, round(rows * rate)))
        rows = round(rows * rate)


def test_idle_rows_show_a_change_at_the_next_look() -> None:
    statistics, idle, route = Statistics(), IdleRows(), (F, G)
    idle.begin(route, statistics)
    for rates in [(0.2, 0.9)] * 30 + [(0.9, 0.1)] * 2:
        _step(statistics, 1_000, rates)
        idle.look(route, statistics, 1_000)
        again = IdleRows()
        again.restore(idle.snapshot())
        assert again.snapshot() == idle.snapshot()
    fresh = idle.see(statistics)
    assert [fresh[hop].rate for hop in route] == pytest.approx([0.9, 0.1], abs=0.02)
    assert statistics[F].rate < 0.5
    idle.forget()
    assert idle.see(statistics) is statistics
    assert fading(1_000.0, HALF_LIFE) < 1


def test_a_glance_hopes_for_what_another_order_saves() -> None:
    ledger = Ledger(Account(0.02), Prices(), unit=True)
    ledger.note_round(1_000)
    ledger.row = 1.9
    for rates, expected in (((0.9, 0.1), 1 - 1.1 / 1.9), ((0.1, 0.9), 0.0), ((0.5, 0.48), 0.0)):
        statistics, prospect = Statistics(), Prospect(ledger, {"source": False, "content": True})
        _step(statistics, 20_000, rates)
        prospect.glance((F, G), statistics)
        assert prospect.glanced == pytest.approx(expected, abs=0.03)
        # Nobody tells rows apart by it.
        assert [name for name, _, _ in prospect.list_challengers("", ledger.in_order, 0)] == ["source"] * bool(expected)


def test_a_filter_that_hardly_saw_a_row_is_not_promised_anything() -> None:
    ledger, statistics = Ledger(Account(0.02), Prices(), unit=True), Statistics()
    statistics.add(F, Statistic(5_000, 5_000, 4_900))
    statistics.add(G, Statistic(20, 20, 1))
    prospect = Prospect(ledger, {"source": False})
    prospect.glance((F, G), statistics)
    assert prospect.glanced == 0.0


def test_a_duel_that_cost_little_is_fought_again_sooner_and_each_time_later() -> None:
    ledger = Ledger(Account(0.02), Prices(), unit=True)
    ledger.written.add(1_000.0, 2_000.0, 5_000.0)
    waits = [Prospect(ledger, {}).postpone("source", 0, lost) for lost in (-5.0, 240.0, 1e6)]
    assert waits == [4_000, 6_000, 20_000]
    prospect = Prospect(ledger, {})
    assert [prospect.postpone("source", 0, 240.0) for _ in range(3)] == [6_000, 12_000, 24_000]


def test_chance_makes_no_filter_look_changed() -> None:
    chance, recent, statistics = np.random.default_rng(1), RecentRates(), Statistics()
    for _ in range(2_000):
        rows = int(chance.integers(1, 400))
        one = Statistic(rows, rows, int(chance.binomial(rows, 0.3)))
        statistics.add(F, one)
        recent.count(F, one.rows_in, one.rows_out)
        assert recent.find(F, statistics[F]) == statistics[F]
