"""A decision is spread over rounds: none waits long for it, and a restart changes nothing about it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from eddy import wiring
from eddy.engine import Engine
from eddy.engine.snapshot import unpack
from eddy.policies.query_mesh.schedule import USUAL_CALL, USUAL_STEP, WAITING_SHARE, Pace
from tests.policies.checks import steady_clock
from tests.policies.query_mesh.streams import SKEWED, attribute, mesh, outcomes, query, stream

ROWS, BATCH = 9_000, 200
World = Literal["pair", "own"]


@cache
def data(world: World) -> pa.Table:
    """Classes that change halfway and need a long search, or many values for each operator, which are counted."""
    late, chance = np.arange(ROWS) >= ROWS // 2, np.random.default_rng(5)
    if world == "pair":
        one, other, noise = (attribute(ROWS, 4, seed) for seed in range(3))
        return stream({"x": one, "y": other, "z": noise}, outcomes(((one // 2) ^ (other // 2)) + late, SKEWED, 4))
    codes, rates = {name: attribute(ROWS, 24, 20 + ord(name)) for name in "xyz"}, chance.random((3, 24))
    passed = {f"p{i}": chance.random(ROWS) < rates[i][code] for i, code in enumerate(codes.values())}
    return stream(codes, passed)


def make(world: World) -> Engine:
    policy = mesh("x", "y", "z", S=400)
    return wiring.engine(query(3), {"s": data(world).schema}, policy, tables={}, clock=steady_clock(), seed=0)


def batches(world: World) -> list[dict[str, pa.RecordBatch]]:
    return [{"s": batch} for batch in data(world).combine_chunks().to_batches(max_chunksize=BATCH)]


def take(engine: Engine, batch: dict[str, pa.RecordBatch]) -> tuple[Any, float]:
    """Run a micro-batch; gives what came of it, and its calls."""
    rows = [part.to_pydict() for part in engine.run(batch)]
    counted = engine.read_counters()
    calls = sum(statistic.rows_in for statistic in counted.operators.values())
    told = [(d.number, d.reason, [way.route for way in d.ways]) for d in counted.insight.decisions]
    return (rows, counted.routes, told), calls


def read_steps(engine: Engine) -> tuple[int, int]:
    """Read from a snapshot the number of the decision that is under way, and the steps that it has had."""
    meta, _ = unpack(engine.snapshot())
    question, steps, _ = meta["state"]["streams"].get("s", {}).get("asked", [{"number": -1}, 0, 0.0])
    return question["number"], steps


def test_no_round_takes_more_steps_than_its_share_pays_for() -> None:
    """By counted work: micro-batches of one round each, whose calls and steps are both counted."""
    engine, most, waits = make("pair"), [], dict[int, int]()
    number, before = read_steps(engine)
    for batch in batches("pair"):
        _, calls = take(engine, batch)
        known, steps = read_steps(engine)
        if known >= 0:
            taken = steps - (before if known == number else 0)
            most.append((taken, WAITING_SHARE * calls * USUAL_CALL / USUAL_STEP))
            waits[known] = waits.get(known, 0) + 1
        number, before = known, steps
    # A round may pay for a part of a step, which is left to the next.
    assert all(taken <= allowed + 1 for taken, allowed in most)
    assert max(taken for taken, _ in most) > 5
    assert len(waits) >= 3
    assert max(waits.values()) >= 4


@pytest.mark.parametrize("world", ["pair", "own"])
def test_a_restart_and_a_failed_try_before_every_micro_batch_change_nothing(world: World) -> None:
    first, other = make(world), make(world)
    under_way = 0
    for batch in batches(world):
        failed, again = make(world), make(world)
        state = other.snapshot()
        failed.restore(state)
        again.restore(state)
        take(failed, batch)
        assert take(again, batch) == take(first, batch)
        assert again.snapshot().meta == first.snapshot().meta
        under_way += read_steps(again)[0] >= 0
        other = again
    assert under_way > 10


@pytest.mark.parametrize("seconds", [1e-3, 3e-3])
def test_a_round_pays_for_the_steps_that_its_share_is_worth(seconds: float) -> None:
    pace = Pace("time")
    pace.take(100_000, 100_000 * 1e-4)
    pace.count(1_000, seconds)
    assert pace.end_round() == int(WAITING_SHARE * seconds / 1e-4)
    assert pace.end_round() == 0


def test_rounds_that_pay_for_a_part_of_a_step_save_up_for_one() -> None:
    """What is less than a step is left to the next round, also where some steps were paid for: no more, and no less."""
    pace, found = Pace("unit"), []
    for _ in range(6):
        pace.count(0.45 * USUAL_STEP / USUAL_CALL / WAITING_SHARE, 0.0)
        found.append(pace.end_round())
    assert found == [0, 0, 1, 0, 1, 0]
    for _ in range(100):
        pace.count(2.45 * USUAL_STEP / USUAL_CALL / WAITING_SHARE, 0.0)
        found.append(pace.end_round())
    assert set(found[6:]) == {2, 3}
    assert sum(found) == int(6 * 0.45 + 100 * 2.45)


def test_a_clock_that_stands_still_decides_by_calls_until_steps_have_shown_to_be_free() -> None:
    pace = Pace("time")
    pace.count(1_000, 1e-9)
    assert pace.end_round() == int(WAITING_SHARE * 1_000 * USUAL_CALL / USUAL_STEP)
    pace.take(10, 0.0)
    pace.count(1_000, 1e-9)
    assert pace.end_round() > 1_000_000


def test_a_pace_is_restored() -> None:
    pace, again = Pace("time"), Pace("time")
    pace.take(50, 1.0)
    pace.count(3, 1e-5)
    again.restore(json.loads(json.dumps(pace.snapshot())))
    assert again.snapshot() == pace.snapshot()
    assert again.count_budget(1.0) == pace.count_budget(1.0)
