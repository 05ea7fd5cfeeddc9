"""Classes that appear while totals stay are seen in what first operators do; and what returns is known again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import eddy
from eddy.policies.query_mesh.finding import agree
from eddy.policies.query_mesh.first_hops import (
    LOOKED_AT,
    MOST_LOOKED_AT,
    OLDEST,
    SURE_OF_CLASSES,
    FirstHops,
    Looks,
    compare,
    count_rows,
)
from eddy.policies.query_mesh.learn.steps import Work, finish
from tests.policies.query_mesh.streams import SKEWED, attribute, calls, mesh, outcomes, query, run, stream

ROWS, CHANGE = 60_000, 40_000
ALIKE = [[sum(row[i] for row in SKEWED) / 3 for i in range(3)]] * 3
"""What each operator passes of all kinds together."""


def appearing(seed: int) -> tuple[np.ndarray, dict[str, Any]]:
    kind, late = attribute(ROWS, 3, 40 + seed), np.arange(ROWS) >= CHANGE
    return kind, outcomes(kind + 3 * late, [*ALIKE, *SKEWED], 50 + seed)


@pytest.mark.parametrize("batch", [1_000, 20_000])
@pytest.mark.parametrize("seed", range(3))
def test_classes_that_appear_with_equal_totals_are_followed_within_ten_thousand_rows(seed: int, batch: int) -> None:
    kind, passed = appearing(seed)
    data = stream({"kind": kind, **{f"noise{i}": attribute(ROWS, 20, 60 + i) for i in range(4)}}, passed)
    # Time stands still: rounds are as large as where operators are dear.
    policy = mesh("kind", *(f"noise{i}" for i in range(4)))
    found = eddy.run_local(query(3), {"s": data}, policy=policy, batch_rows=batch, seed=seed, clock=float)
    first = CHANGE // batch
    before, best = sum(np.cumprod([1.0, *ALIKE[0][:2]])), 1 + 0.05 + 0.045
    # Within a large micro-batch only its mean is seen: half of it may be lost.
    after = calls(found, first + 10) if batch == 1_000 else calls(found, first, first + 1)
    gain = (before - after) / (before - best)
    assert gain > (0.8 if batch == 1_000 else 0.5)


def test_classes_that_appear_are_followed_in_the_next_micro_batch_where_rounds_are_as_large_as_it() -> None:
    """Filters are so cheap that a small round would spend its time in calls: one is small when it decides."""
    batch, now = 10_000, [0.0]
    kind, passed = appearing(0)

    def work(number: int) -> eddy.Filter:
        def judge(passes: np.ndarray) -> np.ndarray:
            now[0] += 20e-6 + 20e-9 * len(passes)
            return passes

        judge.__annotations__["passes"] = np.ndarray
        return eddy.Filter(f"op{number}", on="s", function=judge, columns=[f"p{number}"])

    asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=[work(n) for n in range(3)], select=["s.ts"])
    data = stream({"kind": kind, "noise": attribute(ROWS, 20, 61)}, passed)
    found = eddy.run_local(asked, {"s": data}, policy=mesh("kind", "noise"), batch_rows=batch, clock=lambda: now[0])
    first = CHANGE // batch
    before, best = sum(np.cumprod([1.0, *ALIKE[0][:2]])), 1 + 0.05 + 0.045
    assert (before - calls(found, first + 1, first + 2)) / (before - best) > 0.7


def test_a_look_is_as_large_as_its_round() -> None:
    looks = Looks(is_free=True)
    assert [looks.count(rows) for rows in (900, 100, 3_000, 100_000)] == [0, LOOKED_AT, 3 * LOOKED_AT, MOST_LOOKED_AT]


def told(rates: list[float], rows: int, seed: int, others: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of kinds that pass as often as said, and attributes that tell nothing."""
    chance = np.random.default_rng(seed)
    kind = chance.integers(0, len(rates), rows)
    buckets = np.column_stack((kind, chance.integers(0, 20, (rows, others)))).astype(np.uint8)
    return buckets, (chance.random(rows) < np.array(rates)[kind]).astype(np.float64)


def test_a_block_is_judged_at_a_hundred_rows_and_names_the_attribute() -> None:
    hops = FirstHops(4, 25)
    buckets, passed = told([0.6, 0.6, 0.6], 400, 0)
    hops.expect([0], 1, np.zeros(len(passed), np.int64), buckets, passed)
    assert hops.add(0, 1, *told([0.05, 0.9, 0.9], 99, 1)) is None
    change = hops.add(0, 1, *told([0.05, 0.9, 0.9], 1, 2))
    assert change is not None
    assert (change.operator, change.attribute) == (1, 0)


def test_rows_that_go_on_as_they_were_show_nothing() -> None:
    alarms = 0
    for seed in range(40):
        hops = FirstHops(4, 25)
        buckets, passed = told([0.2, 0.5, 0.9], 300, 1_000 + seed)
        hops.expect([0], 0, np.zeros(len(passed), np.int64), buckets, passed)
        alarms += sum(hops.add(0, 0, *told([0.2, 0.5, 0.9], 200, 100 * seed + n)) is not None for n in range(20))
    assert alarms == 0


def test_a_change_that_all_buckets_share_is_left_to_the_totals() -> None:
    old, new = told([0.8, 0.8], 2_000, 3), told([0.2, 0.2], 2_000, 4)
    tables = [(count_rows(*old, 25), count_rows(*new, 25))]
    assert compare(tables).max() < SURE_OF_CLASSES
    assert compare(tables, totals=True).max() > SURE_OF_CLASSES


def test_what_is_kept_is_bounded_and_survives() -> None:
    hops, again = FirstHops(4, 25), FirstHops(4, 25)
    for seed in range(30):
        hops.add(2, 0, *told([0.3, 0.6], 250, seed))
    again.restore(json.loads(json.dumps(hops.snapshot())))
    assert again.snapshot() == hops.snapshot()
    assert sum(hops.snapshot()["old"][0][3]) <= 4 * OLDEST + 1
    assert again.add(2, 0, *told([0.9, 0.1], 400, 99)) == hops.add(2, 0, *told([0.9, 0.1], 400, 99))


def test_older_rows_agree_with_newer_ones_of_the_same_stream_only() -> None:
    def rows(rates: list[float], seed: int) -> tuple[np.ndarray, np.ndarray]:
        buckets, passed = told(rates, 300, seed)
        return buckets, np.column_stack((passed, np.full(300, np.nan)))

    def is_same(old: list[float], seed: int, new: list[float], other: int) -> bool:
        return finish(agree(rows(old, seed), rows(new, other), 25, Work()))

    same = sum(is_same([0.2, 0.9], seed, [0.2, 0.9], 100 + seed) for seed in range(30))
    assert same >= 28
    assert not is_same([0.2, 0.8], 1, [0.8, 0.2], 2)
    assert not is_same([0.2, 0.2], 3, [0.6, 0.6], 4)


def test_a_stream_that_goes_to_and_fro_has_as_good_a_mesh_each_time() -> None:
    period, rows = 20_000, 120_000
    kind, turned = attribute(rows, 3, 70), np.arange(rows) // period % 2
    data = stream({"kind": kind, "noise": attribute(rows, 9, 71)}, outcomes((kind + turned) % 3, SKEWED, 72))
    found = run(mesh("kind", "noise"), data)
    decisions = found.report.decisions()
    changes = decisions[decisions["reason"].str.contains("was promised|treats classes")]
    assert len(changes) >= 4
    for phase in range(2, 6):
        assert calls(found, 20 * phase + 4, 20 * phase + 20) < 1.02 * calls(found, 5, 20)
