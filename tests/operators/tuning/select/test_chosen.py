"""Sets of maps: near the best set, and no dearer than the sets that other kinds would give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from eddy.operators.index.structures.key_map import Field, KeyMap, hash_map
from eddy.operators.tuning.cost import COSTS, price, tabulate, total
from eddy.operators.tuning.select.chosen import Chosen, choose_by_steps, choose_exactly
from eddy.operators.tuning.select.registry import SELECTIONS
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.workload import Spread, Workload

WORK = COSTS["work"]


def draw_mix(rng: np.random.Generator, keys: int, patterns: int) -> Workload:
    drawn = rng.choice(np.arange(1, 1 << keys), min(patterns, (1 << keys) - 1), replace=False).tolist()
    return Workload(
        arrived=float(rng.choice([100, 1_000, 10_000])),
        searches={pattern: float(rng.random() ** 3 * 20_000 + 1) for pattern in drawn},
        stored=float(rng.choice([500, 10_000, 60_000])),
        parts=float(rng.integers(1, 6)),
        keys=Spread(chances={key: float(10 ** -rng.uniform(0.3, 4)) for key in range(keys)}),
    )


def cost_of(maps: list[KeyMap], workload: Workload) -> float:
    priced = price(tabulate(maps), workload, WORK)
    return total(priced, range(1, len(maps) + 1))


@pytest.mark.parametrize("keys", [3, 4, 6, 8])
def test_steps_come_near_the_best_set(keys: int) -> None:
    rng = np.random.default_rng(keys)
    for _ in range(20):
        workload = draw_mix(rng, keys, 9)
        few = [hash_map(pattern, 16) for pattern in rng.integers(1, 1 << keys, 9).tolist()]
        priced = price(
            tabulate([*few, *(KeyMap(fields=(Field(keys=(k,), bits=9),)) for k in range(2))]), workload, WORK
        )
        for room in (math.inf, 3 * 8.0 * workload.stored):
            best, found = (total(priced, choose(priced, room)) for choose in (choose_exactly, choose_by_steps))
            assert best <= found <= 1.05 * best


@pytest.mark.parametrize("keys", [1, 2, 3, 4, 8, 12])
def test_it_is_no_dearer_than_any_other_kind(keys: int) -> None:
    rng = np.random.default_rng(keys)
    for _ in range(5):
        workload = draw_mix(rng, keys, 40)
        chosen = cost_of(list(Chosen(IndexSettings(kind="chosen")).select(workload)), workload)
        for kind in SELECTIONS:
            others = list(
                SELECTIONS[kind](IndexSettings(kind=kind, cost="work" if kind == "bits" else None)).select(workload)
            )
            assert chosen <= 1.05 * cost_of(others, workload)


def test_one_index_serves_patterns_that_are_each_in_the_next() -> None:
    """Many rows and few searches: what is put in order is dear."""
    workload = Workload(
        arrived=10_000.0,
        searches={0b01: 2_000.0, 0b11: 2_000.0},
        stored=10_000.0,
        keys=Spread(chances={0: 0.01, 1: 0.01}),
    )
    (one,) = Chosen(IndexSettings(kind="chosen")).select(workload)
    assert one.fields[0].keys == (0,)
    assert one.list_fields(0b01)


def test_what_was_found_corrects_what_is_predicted() -> None:
    """Keys that say the same: an index of both is no better than of one, once that is known."""
    workload = Workload(
        arrived=1_000.0,
        searches={0b01: 5_000.0, 0b11: 5_000.0},
        stored=10_000.0,
        keys=Spread(chances={0: 0.005, 1: 0.005}),
    )
    believed = Chosen(IndexSettings(kind="chosen")).select(workload)
    known = Chosen(IndexSettings(kind="chosen")).select(replace(workload, corrected={(0b11, 0): 200.0}))
    assert any(len([key for field in one.fields for key in field.keys]) == 2 for one in believed)
    assert [one.fields for one in known] == [(Field(keys=(0,), bits=16),)]


def test_a_room_too_small_for_any_index_has_none() -> None:
    workload = draw_mix(np.random.default_rng(1), 3, 5)
    for kind in SELECTIONS:
        assert not SELECTIONS[kind](IndexSettings(kind=kind)).select(replace(workload, room=10.0))
