"""A policy learns only while that pays, and says so to nobody but its account."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Hop, Leg, Observation, Policy, Prices, Setting, Statistic
from eddy.engine import Engine
from eddy.observe.prices import ALONE, SHARED
from eddy.policies.shared.account import Account
from eddy.policies.shared.guard import FIRST_WAIT, REGRET, Guard
from eddy.policies.shared.merit import row_price, step_price

HOP = Hop("f")
STEP, ROW = 50e-6, 1e-6
ROUND = 1_000

KINDS = 3
RATES = np.where(np.eye(KINDS, dtype=bool), 0.05, 0.9)
CHEAP, DEAR = 2.0**-29, 2.0**-13
"""Seconds of a row: a look-up in an array, and a function in Python. Floats hold their sums exactly."""

THINKING = 2.0**-13
"""Seconds between two looks at the clock."""


# --- the guard by itself


def made(costs: Any = "time", *, row: float = ROW, try_rows: int = 4_000, price: float = 1e-3) -> Guard:
    """A guard of a stream whose only operator has been called often."""
    prices = Prices()
    for rows in [1_000, 50, 16_000, 400, 2_000, 8_000] * 5:
        prices.add(HOP, Statistic(rows, rows, rows, STEP + rows * row))
        prices.add_own(ALONE, rows, STEP)
        prices.add_own(SHARED, rows, STEP)
    return Guard(costs, prices, try_rows, price)


def step(rows: int) -> Observation:
    statistic = Statistic(rows, rows, rows, 0.0)
    leg = Leg(route=(HOP,))
    nobody: Any = None
    return Observation("s", (leg,), (rows,), (HOP,), (np.ones(rows, bool),), (statistic,), nobody)


def looked(guard: Guard) -> None:
    """A first round, on the common way; two operators, so that another order may save one of two calls."""
    guard.arrive(ROUND)
    guard.count_step(step(ROUND))
    guard.count_step(step(ROUND))
    guard.look()


def go(guard: Guard, rounds: int, *, spent: float, saved: float = 0.0, common: float = 2 * ROW) -> int:
    """Rounds that are all alike; says after how many it was given up."""
    for number in range(rounds):
        guard.arrive(ROUND)
        guard.count_step(step(ROUND))
        guard.spend(spent)
        guard.save(saved)
        if guard.close(common):
            return number
    return rounds


def test_a_stream_is_looked_at_first_and_tried_if_its_rows_are_dear_enough() -> None:
    for row, is_tried in ((CHEAP, False), (DEAR, True)):
        guard = made(row=row)
        assert guard.is_looking
        assert guard.is_closed
        looked(guard)
        assert guard.is_waiting != is_tried
        assert not guard.is_looking


def test_where_only_calls_count_there_is_no_look() -> None:
    assert not made("unit").is_closed


def test_what_costs_more_than_it_saves_is_given_up() -> None:
    guard = made()
    looked(guard)
    assert go(guard, 100, spent=1e-3, saved=0.5e-3) < 20
    assert guard.is_waiting


def test_what_saves_more_than_it_costs_goes_on() -> None:
    guard = made()
    looked(guard)
    assert go(guard, 100, spent=0.5e-3, saved=1e-3) == 100


def test_learning_that_takes_no_more_than_its_share_goes_on() -> None:
    guard = made()
    looked(guard)
    assert go(guard, 100, spent=REGRET * ROUND * 2 * ROW) == 100


def test_a_gain_of_long_ago_pays_for_nothing_new() -> None:
    guard = made()
    looked(guard)
    go(guard, 1_000, spent=0.1e-3, saved=1.5e-3)
    assert go(guard, 200, spent=1e-3) < 150


def test_a_dear_search_is_paid_back_by_what_it_found() -> None:
    guard = made()
    looked(guard)
    go(guard, 1, spent=0.1e-3, saved=0.0)
    guard.pay(1.0)
    assert go(guard, 100, spent=0.5e-3, saved=1e-3) == 100


@pytest.mark.parametrize("is_renewed", [False, True])
def test_what_was_found_at_last_goes_on_though_more_was_spent_than_may_be(is_renewed: bool) -> None:
    """The last round before it was decided otherwise had samples that cost more than a round saves."""
    guard = made()
    looked(guard)
    go(guard, 1, spent=5e-3, saved=0.0)
    guard.pay(1.0)
    if is_renewed:
        guard.renew()
    again = made()
    again.restore(json.loads(json.dumps(guard.snapshot())))
    assert again.is_overdrawn
    assert (go(again, 20, spent=0.5e-3, saved=1e-3) == 20) == is_renewed


def test_a_try_on_credit_is_remembered() -> None:
    guard = made()
    guard.restore({**guard.snapshot(), "credit": 1})
    assert guard.snapshot()["credit"] == 1


def test_one_slow_round_gives_nothing_up() -> None:
    guard = made()
    looked(guard)
    go(guard, 20, spent=20e-6)
    assert go(guard, 1, spent=10.0) == 1
    assert go(guard, 20, spent=20e-6) == 20


def test_waits_double_and_end_with_a_look() -> None:
    guard = made()
    waits = []
    for _ in range(4):
        looked(guard)
        go(guard, 200, spent=2e-3)
        rows = 0
        while guard.is_waiting:
            guard.arrive(ROUND)
            rows += ROUND
        assert guard.is_looking
        waits.append(rows)
    assert waits[0] >= FIRST_WAIT
    # A wait ends with a whole round.
    assert all(after >= 2 * (before - ROUND) for before, after in pairwise(waits))


def passing(guard: Guard, rounds: int, share: float, *, seconds: float = 20e-3) -> int:
    """Rounds of a wait in which the filter passes a share of the rows; says after how many it was over."""
    for number in range(rounds):
        guard.arrive(ROUND)
        if not guard.is_waiting:
            return number
        outcomes = np.arange(ROUND) < share * ROUND
        guard.notice(
            step(ROUND)._replace(
                outcomes=(outcomes,), statistics=(Statistic(ROUND, ROUND, float(outcomes.sum()), seconds),)
            )
        )
        guard.rest()
    return rounds


def test_a_wait_ends_when_filters_change_on_credit_once() -> None:
    guard = made()
    looked(guard)
    go(guard, 200, spent=2e-3)
    assert passing(guard, 20, 0.5) == 20
    assert passing(guard, 20, 0.8) < 5
    # It was for nothing: the next change has to wait until both tries are paid.
    looked(guard)
    go(guard, 200, spent=2e-3)
    assert passing(guard, 20, 0.8) == 20
    assert passing(guard, 20, 0.3) == 20
    rounds = passing(guard, 10_000, 0.3)
    assert 100 < rounds < 10_000


def test_a_wait_goes_on_where_steps_are_not_worth_counting_or_nothing_changes() -> None:
    for share, seconds in ((0.8, 1e-3), (0.5, 20e-3)):
        guard = made()
        looked(guard)
        go(guard, 200, spent=2e-3)
        assert passing(guard, 20, 0.5, seconds=seconds) == 20
        assert passing(guard, 20, share, seconds=seconds) == 20


def test_a_wait_goes_on_after_a_restart_as_it_was() -> None:
    steady, stopped = made(), made()
    for guard in (steady, stopped):
        looked(guard)
        go(guard, 200, spent=2e-3)
    for share in (0.5,) * 12 + (0.53,) * 12:
        again = made()
        again.restore(json.loads(json.dumps(stopped.snapshot())))
        stopped = again
        assert passing(steady, 1, share) == passing(stopped, 1, share)
        assert steady.snapshot() == stopped.snapshot()


def test_in_the_long_run_a_stream_that_gains_nothing_pays_its_share() -> None:
    guard = made()
    paid = rows = 0.0
    while rows < 20_000_000:
        size = 1_000 if not guard.is_waiting else 100_000
        guard.arrive(size)
        guard.count_step(step(size))
        if guard.is_looking:
            guard.count_step(step(size))
            guard.look()
        elif not guard.is_waiting:
            guard.spend(2e-3)
            paid += 2e-3
            guard.close(2 * ROW)
        rows += size
    assert 0 < paid < 1.5 * REGRET * rows * 2 * ROW


def test_a_guard_goes_on_after_a_restart() -> None:
    guard, other = made(), made()
    looked(guard)
    go(guard, 3, spent=1e-3)
    other.restore(json.loads(json.dumps(guard.snapshot())))
    assert go(guard, 50, spent=1e-3) == go(other, 50, spent=1e-3)
    assert guard.snapshot() == other.snapshot()


def test_an_account_fades() -> None:
    account = Account(REGRET, allowance=8.0)
    account.pay_rows(written=100.0, spent=50.0)
    account.pay("learning", 4.0)
    account.fade(0.5)
    assert (account.written, account.saved, account.allowance, account.spent_besides) == (50.0, 25.0, 4.0, 2.0)


def test_a_step_costs_the_call_and_the_router() -> None:
    prices = Prices()
    for rows in [1_000, 50, 16_000, 400, 2_000, 8_000] * 5:
        prices.add(HOP, Statistic(rows, rows, rows, STEP + rows * ROW))
        prices.add_own(SHARED, rows, 2 * STEP + rows * ROW)
    assert step_price([HOP], prices, "time") == pytest.approx(3 * STEP, rel=0.05)
    assert row_price(HOP, prices, "time") == pytest.approx(ROW, rel=0.05)
    assert (step_price([HOP], prices, "unit"), row_price(HOP, prices, "unit")) == (0.0, 1.0)


# --- the guard inside of policies


def stream(rows: int) -> pa.Table:
    """Rows of three kinds, each with a filter of its own that drops most of it."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, KINDS, rows)
    passed = {f"p{i}": rng.random(rows) < RATES[kind, i] for i in range(KINDS)}
    return pa.table({"ts": np.arange(rows), "kind": kind, **passed})


class Stream:
    """An engine over the stream, whose filters take so long for each row and whose policy thinks as long each time.

    While it thinks, the machine is busy `elsewhere` for some seconds; who thinks `by` "work" does not count them.
    """

    def __init__(self, policy: Any, row: float, *, elsewhere: float = 0.0, by: str = "work") -> None:
        self._now = self._thought = 0.0
        self._elsewhere, self._by = elsewhere, by
        self.held: list[Policy] = []

        def build(setting: Setting) -> Policy:
            self.held.append(policy(setting) if callable(policy) else wiring.make_policy(policy, setting))
            return self.held[-1]

        def work(values: np.ndarray) -> np.ndarray:
            self._now += row * len(values)
            return np.asarray(values, bool)

        filters = [eddy.Filter(f"f{i}", on="s", function=work, columns=[f"p{i}"]) for i in range(KINDS)]
        asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
        self.engine: Engine = wiring.engine(
            asked, {"s": stream(1).schema}, build, tables={}, clock=self._clock, seed=0, thinking=self._think
        )

    def _think(self) -> float:
        self._now += THINKING + self._elsewhere
        self._thought += THINKING
        return self._now if self._by == "wall" else self._thought

    def _clock(self) -> float:
        self._now += THINKING
        return self._now

    def run(self, rows: pa.Table, batch: int = ROUND) -> list[float]:
        """The calls a row of each micro-batch."""
        calls = []
        for part in rows.combine_chunks().to_batches(max_chunksize=batch):
            list(self.engine.run({"s": part}))
            calls.append(sum(s.rows_in for s in self.engine.read_counters().operators.values()) / part.num_rows)
        return calls


LEARNERS = [
    {"name": "content", "attributes": ["s.kind"]},
    {"name": "query_mesh", "attributes": ["s.kind"]},
]
NAMES = [str(choice["name"]) for choice in LEARNERS]


@pytest.mark.parametrize("choice", LEARNERS, ids=NAMES)
@pytest.mark.parametrize("row", [CHEAP, DEAR], ids=["cheap", "dear"])
def test_classes_are_told_apart_where_rows_are_dear_and_nowhere_else(choice: dict[str, Any], row: float) -> None:
    data = stream(40_000)
    found, fixed = Stream(choice, row), Stream("fixed", row)
    calls, usual = found.run(data), fixed.run(data)
    if row == DEAR:
        assert np.mean(calls[5:]) < 0.7 * np.mean(usual[5:])
        assert not found.engine.read_counters().decisions > ROUND
    else:
        assert np.mean(calls) == pytest.approx(np.mean(usual), rel=0.02)
        assert found.held[0].is_calm
        (steps,) = {len(found.engine.read_counters().operators)}
        assert steps == KINDS


@pytest.mark.parametrize("choice", LEARNERS, ids=NAMES)
def test_a_stream_that_pays_is_not_given_up_where_the_machine_is_busy(choice: dict[str, Any]) -> None:
    data = stream(40_000)
    usual = np.mean(Stream("fixed", DEAR).run(data)[5:])
    by_work, by_wall = (np.mean(Stream(choice, DEAR, elsewhere=0.25, by=by).run(data)[5:]) for by in ("work", "wall"))
    assert by_work < 0.7 * usual
    assert by_wall > 0.9 * usual


@pytest.mark.parametrize("choice", LEARNERS, ids=NAMES)
def test_a_stream_that_was_given_up_goes_on_as_it_was_after_a_restart(choice: dict[str, Any]) -> None:
    data = stream(20_000)
    first, second = Stream(choice, CHEAP), Stream(choice, CHEAP)
    first.run(data.slice(0, 5_000))
    second.engine.restore(first.engine.snapshot())
    assert first.run(data.slice(5_000)) == second.run(data.slice(5_000))
    assert first.engine.snapshot() == second.engine.snapshot()


@pytest.mark.parametrize("choice", LEARNERS, ids=NAMES)
def test_one_large_micro_batch_saves_what_small_ones_save(choice: dict[str, Any]) -> None:
    data = {"s": stream(60_000)}
    filters = [eddy.Filter(f"f{i}", on="s", where=f"p{i}") for i in range(KINDS)]
    asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])

    def calls(policy: Any, batch: int) -> float:
        found = eddy.run_local(asked, data, policy=policy, batch_rows=batch, clock=float)
        return float(found.report.batches()["routing_calls"].sum())

    unit = {**choice, "costs": "unit"}
    fixed, small, large = calls("fixed", ROUND), calls(unit, ROUND), calls(unit, 60_000)
    assert fixed - large > 0.85 * (fixed - small)


@pytest.mark.parametrize("choice", LEARNERS, ids=NAMES)
def test_a_few_rows_of_a_stream_that_was_given_up_go_to_those_that_see_none(choice: dict[str, Any]) -> None:
    """The first operator drops everything, so the others would never be called again, whatever they would drop."""
    rows = 200_000
    passed = {f"p{i}": np.full(rows, i > 0) for i in range(KINDS)}
    data = pa.table({"ts": np.arange(rows), "kind": np.arange(rows) % KINDS, **passed})
    calls = Stream(choice, CHEAP).run(data)
    assert 1.0 < np.mean(calls[-150:]) < 1.02


# --- samples that somebody else takes

SAMPLE = 500


class Handing(Policy):
    """Takes a sample through all operators in its first round and hands it on; from the second on another one plans."""

    def __init__(self, arm: Policy) -> None:
        self.arm, self.features = arm, arm.features
        self.rounds = 0
        self.planned: list[Leg] = []

    def plan(self, task: Any, ready: tuple[Hop, ...]) -> Any:
        if self.rounds:
            self.planned = list(self.arm.plan(task, ready))
            return self.planned
        rows = np.arange(task.rows)
        return [Leg(route=ready, rows=rows[:SAMPLE], exhaustive=True), Leg(route=ready, rows=rows[SAMPLE:])]

    def observe(self, observation: Observation) -> None:
        if self.rounds or observation.legs[0].exhaustive:
            self.arm.observe(observation)

    def learn(self) -> None:
        self.rounds += 1
        self.arm.learn()

    def snapshot(self) -> Any:
        return {**self.arm.snapshot(), "rounds": self.rounds}

    def restore(self, state: Any) -> None:
        self.rounds = state["rounds"]
        self.arm.restore(state)


def handing(choice: dict[str, Any]) -> Callable[[Setting], Policy]:
    return lambda setting: Handing(wiring.make_policy(choice, setting))


@pytest.mark.parametrize("costs", ["unit", "time"])
@pytest.mark.parametrize("restart", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("choice", LEARNERS, ids=NAMES)
def test_a_sample_of_somebody_else_counts_as_an_own_one(choice: dict[str, Any], restart: bool, costs: str) -> None:
    data = stream(4_000)
    asked = {**choice, "costs": costs}
    running = Stream(handing(asked), DEAR)
    running.run(data.slice(0, ROUND))
    if restart:
        again = Stream(handing(asked), DEAR)
        again.engine.restore(running.engine.snapshot())
        running = again
    calls = running.run(data.slice(ROUND))
    held = running.held[0]
    assert isinstance(held, Handing)
    best = float(np.cumprod([1.0, 0.05, 0.9]).sum())
    assert calls[1] < 1.15 * best
    if choice["name"] == "content":
        assert calls[0] < 1.15 * best
    else:
        assert len(held.arm.insight.decisions) == 1
    used = {use.kind: use.calls for use in held.arm.insight.uses}
    assert used["profiling"] >= SAMPLE


@pytest.mark.parametrize("choice", LEARNERS, ids=NAMES)
def test_a_sample_of_somebody_else_ends_a_wait(choice: dict[str, Any]) -> None:
    data = stream(3 * ROUND)
    running = Stream(handing(choice), CHEAP)
    running.engine.restore(waiting(choice))
    held = running.held[0]
    assert isinstance(held, Handing)
    running.run(data.slice(0, ROUND))
    before = json.dumps(plain(held.arm.snapshot()))
    held.rounds = 0
    running.run(data.slice(ROUND, ROUND))
    assert '"looking": false' in before
    assert waits(held.arm) == [0.0]


def waiting(choice: dict[str, Any]) -> Any:
    """The state of an engine whose stream was given up."""
    given_up = Stream(handing(choice), CHEAP)
    held = given_up.held[0]
    assert isinstance(held, Handing)
    held.rounds = 1
    given_up.run(stream(5_000))
    assert waits(held.arm)[0] > 0
    return given_up.engine.snapshot()


def plain(state: Any) -> dict[str, Any]:
    return {name: part for name, part in state.items() if not isinstance(part, np.ndarray)}


def waits(policy: Policy) -> list[float]:
    """The rows that each stream of a policy still waits."""
    state = policy.snapshot()
    streams = state["known"] if "known" in state else state["streams"]
    return [stream["guard"]["numbers"][0] for stream in streams.values()]
