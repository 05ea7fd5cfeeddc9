"""What a step takes: its work, and what it waits for by itself, but not its turn on a busy machine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.clocks import MOST_UNASKED, leave_out_turns, make_work_clock
from eddy.engine.snapshot import unpack
from eddy.observe.prices import Prices
from eddy.tuples import Hop

ROWS, BATCH = 20_000, 1_000


class Machine:
    """A thread's wall, work and waits, as a test makes them pass."""

    def __init__(self) -> None:
        self.wall = self.work = 0.0
        self.waits = 0

    def take(self, work: float, turns: float = 0.0, waited: float = 0.0) -> None:
        """Work, wait for turns, and wait for somebody."""
        self.wall += work + turns + waited
        self.work += work
        self.waits += waited > 0

    def clock(self) -> Callable[[], float]:
        return leave_out_turns(lambda: self.wall, lambda: (self.work, self.waits))


@pytest.mark.parametrize(
    ("part", "seconds"),
    [
        ({"work": 5e-3}, 5e-3),
        ({"work": 5e-3, "turns": 20e-3}, 5e-3),
        ({"work": 1e-4, "waited": 2e-3}, 2.1e-3),
        # Who waits for somebody may wait for his turn as well: nobody can tell the two apart.
        ({"work": 1e-4, "turns": 3e-3, "waited": 2e-3}, 5.1e-3),
        ({"work": 2e-4}, 2e-4),
    ],
)
def test_waiting_for_a_turn_is_left_out_and_nothing_else(part: dict[str, float], seconds: float) -> None:
    machine = Machine()
    clock = machine.clock()
    for _ in range(10):
        machine.take(1e-5)
        started = clock()
        machine.take(**part)
        assert clock() - started == pytest.approx(seconds)


def test_short_parts_take_nothing_from_a_long_one() -> None:
    """They are not asked about one by one, and may have waited a little each."""
    machine = Machine()
    clock = machine.clock()
    for _ in range(5_000):
        machine.take(1e-4, turns=5e-5)
        clock()
    started = clock()
    machine.take(10e-3, turns=10e-3)
    assert 10e-3 - MOST_UNASKED < clock() - started <= 10e-3


def test_a_thread_with_less_work_behind_it_goes_by_the_wall() -> None:
    machine = Machine()
    machine.take(1.0)
    clock = machine.clock()
    machine.work = 0.0
    started = clock()
    machine.take(5e-3, turns=5e-3)
    assert clock() - started == pytest.approx(10e-3)


def test_the_clock_of_this_machine_goes_on_and_never_back() -> None:
    clock = make_work_clock()
    readings = [clock() for _ in range(10_000)]
    assert all(before <= after for before, after in pairwise(readings))
    assert readings[-1] > readings[0]


def test_operators_that_are_alike_have_like_prices_on_a_busy_machine() -> None:
    """Each step waits for its turn for a random time; by the wall one filter seems to cost twice the other."""
    machine, chance = Machine(), np.random.default_rng(0)

    def judge(x: np.ndarray) -> np.ndarray:
        machine.take(len(x) * 5e-6, turns=chance.exponential(20e-3))
        return x > 0.1

    def ask(x: np.ndarray) -> np.ndarray:
        machine.take(1e-6, waited=len(x) * 4e-6)
        return x > 0.2

    judge.__annotations__.update(x=np.ndarray)
    ask.__annotations__.update(x=np.ndarray)
    functions = {"one": judge, "other": judge, "service": ask}
    filters = [eddy.Filter(name, on="s", function=function, columns=["x"]) for name, function in functions.items()]
    query = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    data = pa.table({"ts": np.arange(ROWS), "x": chance.random(ROWS)})

    def price(working: Callable[[], float]) -> dict[str, float]:
        engine = wiring.engine(
            query, {"s": data.schema}, "fixed", tables={}, clock=lambda: machine.wall, working=working, seed=0
        )
        for batch in data.to_batches(max_chunksize=BATCH):
            list(engine.run({"s": batch}))
        prices = Prices()
        prices.restore(unpack(engine.snapshot())[0]["prices"])
        return {name: prices[Hop(name)].row for name in functions}

    found, wall = price(machine.clock()), price(lambda: machine.wall)
    assert found["one"] == pytest.approx(found["other"], rel=0.01)
    assert found["one"] == pytest.approx(5e-6, rel=0.05)
    assert found["service"] == pytest.approx(4e-6, rel=0.05)
    assert max(wall["one"], wall["other"]) > 2 * 5e-6
