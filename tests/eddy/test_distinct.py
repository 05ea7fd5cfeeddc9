"""Bits tell how many keys of a window are distinct, and a step of a probe what its tuples were looked up by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.contracts import Leg, Observation, Policy, Setting, Task
from eddy.observe.distinct import WINDOW, DistinctKeys
from eddy.tuples import Hop
from eddy.tuples.splitmix import mix

OFF = 0.02
"""By how much of all keys an estimate may be off: a thousand keys in sixteen thousand bits are known to about 0.3 %."""


@pytest.mark.parametrize("few", [1, 10, 100, 400, 700, 10_000])
def test_the_share_is_near_the_truth(few: int) -> None:
    keys = np.random.default_rng(few).integers(0, few, 10 * WINDOW)
    counted = DistinctKeys()
    for part in np.array_split(keys, 7):
        counted.add(mix([part]))
    truth = np.mean([len(np.unique(window)) for window in keys.reshape(-1, WINDOW)]) / WINDOW
    assert counted.windows == 10
    assert counted.share == pytest.approx(truth, abs=OFF)


def test_what_came_long_ago_is_forgotten() -> None:
    counted = DistinctKeys()
    counted.add(mix([np.arange(10 * WINDOW)]))
    assert counted.share > 1 - OFF
    counted.add(mix([np.zeros(10 * WINDOW, np.int64)]))
    assert counted.share < OFF


def test_it_goes_on_after_a_restart() -> None:
    first, second = DistinctKeys(), DistinctKeys()
    assert first.share == 1.0
    first.add(mix([np.arange(WINDOW) % 10]))
    second.restore(first.snapshot())
    assert (second.share, second.windows) == (first.share, 1)


class Counting(Policy):
    """Counts the keys by which each hop is asked."""

    seen: dict[Hop, list[int]]

    def __init__(self, setting: Setting) -> None:
        Counting.seen = {}

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return [Leg(route=ready[:1])]

    def observe(self, observation: Observation) -> None:
        if observation.keys is not None:
            keys = observation.keys()
            assert len(keys) == sum(observation.rows)
            self.seen.setdefault(observation.hops[0], []).extend(keys.tolist())


def test_a_policy_hears_the_keys_of_a_step() -> None:
    rows = pa.table({"ts": np.arange(300), "k": np.arange(300) % 7, "x": np.arange(300) % 100})
    query = eddy.Query(
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(50), delay=0) for name in "abc"],
        joins=["a.k = b.k", "b.x = c.x"],
        filters=[eddy.Filter("few", on="a", where="a.ts >= 0")],
        select=["a.ts"],
    )
    eddy.run_local(query, dict.fromkeys("abc", rows), policy=Counting, batch_rows=100)
    assert {hop.operator: len(set(keys)) for hop, keys in Counting.seen.items() if hop.pattern.endswith(".k")} == {
        "probe_a": 7,
        "probe_b": 7,
    }
