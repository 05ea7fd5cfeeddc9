"""Rows that cost an operator unlike are told apart by what they take, and by nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Price
from eddy.policies.content.class_costs import LEAST_PARTS, PARTS_KEPT, UNLIKE, ClassCosts, count_parts
from eddy.policies.content.profile import NO_ATTRIBUTE

CELLS, PARTS, ROWS = 25, 24, 50
KINDS = 4
CHEAP, DEAR = 2.0**-20, 2.0**-14
CALL = 2.0**-16


def timed(parts: int, dear: float, *, seed: int = 0, noise: float = 0.05) -> ClassCosts:
    """Parts of rows of four kinds, of which one takes `dear`, and of an attribute that says nothing."""
    rng = np.random.default_rng(seed)
    costs = ClassCosts(CELLS)
    for _ in range(parts):
        buckets = rng.integers(0, KINDS, (ROWS, 2)).astype(np.uint8)
        seconds = np.where(buckets[:, 1] == 2, dear, CHEAP).sum() * rng.normal(1, noise)
        costs.add(seconds + CALL, buckets, CALL)
    return costs


def test_the_attribute_that_foretells_times_is_found_and_what_each_bucket_takes() -> None:
    costs = timed(PARTS, DEAR)
    assert costs.is_open
    assert costs.judge(())
    assert costs.attribute == 1
    assert costs.seconds[2] == pytest.approx(DEAR, rel=0.3)
    assert costs.seconds[[0, 1, 3]].max() < DEAR / 3
    assert costs.price is not None
    assert costs.price.row == pytest.approx((3 * CHEAP + DEAR) / 4, rel=0.2)
    assert not costs.judge(())


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_noise_tells_nothing(noise: float, seed: int) -> None:
    costs = timed(PARTS_KEPT, CHEAP, seed=seed, noise=noise)
    costs.judge(())
    assert costs.attribute == NO_ATTRIBUTE
    assert (costs.price is None) == (noise < UNLIKE)


def test_a_clock_that_stands_still_tells_nothing() -> None:
    costs = ClassCosts(CELLS)
    for _ in range(PARTS):
        costs.add(0.0, np.zeros((ROWS, 2), np.uint8), 0.0)
    assert not costs.judge(())
    assert not costs.is_open
    assert count_parts(1_000, Price(0.0, 0.0, 1.0)) == 0


def test_rows_too_cheap_to_be_timed_are_not() -> None:
    assert count_parts(300, Price(30e-6, 10e-9, 1.0)) == 0
    assert count_parts(300, Price(30e-6, 10e-6, 1.0)) >= LEAST_PARTS


def test_parts_go_on_after_a_restart() -> None:
    costs, other = timed(PARTS, DEAR), ClassCosts(CELLS)
    costs.judge(())
    other.restore(json.loads(json.dumps(costs.snapshot())))
    assert other.snapshot() == costs.snapshot()
    assert other.price == costs.price


def spent(policy: Any, rows: int) -> list[float]:
    """The seconds a row that four filters take, each of which is dear for a kind of its own; each drops half of all."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, KINDS, rows)
    passed = {f"p{i}": rng.random(rows) < 0.5 for i in range(KINDS)}
    table = pa.table({"ts": np.arange(rows), "kind": kind, "noise": rng.integers(0, 20, rows), **passed})
    now = [0.0]

    def make(dear: int) -> eddy.Filter:
        def work(values: np.ndarray, kinds: np.ndarray) -> np.ndarray:
            now[0] += CALL + np.where(kinds == dear, DEAR, CHEAP).sum()
            return np.asarray(values, bool)

        return eddy.Filter(f"f{dear}", on="s", function=work, columns=[f"p{dear}", "kind"])

    asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=[make(i) for i in range(KINDS)], select=["s.ts"])
    engine = wiring.engine(asked, {"s": table.schema}, policy, tables={}, clock=lambda: now[0], seed=0)
    taken = []
    for part in table.to_batches(max_chunksize=1_000):
        before = now[0]
        list(engine.run({"s": part}))
        taken.append((now[0] - before) / part.num_rows)
    return taken


def test_rows_go_last_where_they_are_dear() -> None:
    content = spent({"name": "content", "attributes": ["s.kind", "s.noise"]}, 60_000)
    source = spent("source", 60_000)
    best = CHEAP * (1 + 1 / 2 + 1 / 4) + DEAR / 8
    assert np.mean(content[30:]) < 1.3 * best
    assert np.mean(source[30:]) > 2 * best
