"""What every selection must do; each check is crossed with every registered one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eddy.operators.tuning.contracts import REST
from eddy.operators.tuning.select.registry import SELECTIONS
from eddy.operators.tuning.settings import MOST_BITS, IndexSettings
from eddy.operators.tuning.workload import Spread, Workload
from tests.tries import fewer

KEYS = 4


@st.composite
def workloads(draw: st.DrawFn, keys: int = KEYS) -> Workload:
    """Any mix of patterns, over few or many rows, by keys of few or many values."""
    patterns = draw(st.lists(st.integers(0, 2**keys - 1), max_size=10, unique=True))
    return Workload(
        arrived=draw(st.sampled_from([0.0, 100.0, 10_000.0])),
        searches={pattern: float(draw(st.integers(1, 10_000))) for pattern in patterns},
        stored=float(draw(st.sampled_from([0, 1, 50, 10_000, 1_000_000]))),
        parts=float(draw(st.integers(1, 6))),
        keys=Spread(chances={key: draw(st.sampled_from([1.0, 0.3, 0.01, 1e-5])) for key in range(keys)}),
        room=draw(st.sampled_from([0.0, 100_000.0, math.inf])),
    )


def check_maps_are_within_bounds(name: str) -> None:
    """Maps are of keys that are asked for, no code is longer than a code can be, and all fit into the room."""
    selection = SELECTIONS[name](IndexSettings(kind=name))

    @fewer(4)
    @given(workloads())
    def check(workload: Workload) -> None:
        maps = selection.select(workload)
        asked = {key for pattern in workload.searches for key in range(KEYS) if pattern >> key & 1}
        for one in maps:
            keys = [key for field in one.fields for key in field.keys]
            assert set(keys) <= asked
            assert 1 <= len(keys) == len(set(keys))
            assert 1 <= one.bits <= MOST_BITS
            assert all(field.bits >= 1 for field in one.fields)
            assert any(one.list_fields(pattern) for pattern in workload.searches)
        assert len(maps) == len(set(maps))
        assert len(maps) * workload.stored * workload.row_bytes <= workload.room

    check()


def check_the_same_workload_gives_the_same_maps(name: str) -> None:
    """Whatever was asked before; and in whichever order patterns were counted."""
    used, rng = SELECTIONS[name](IndexSettings(kind=name)), np.random.default_rng(2)
    for _ in range(20):
        patterns = rng.choice(np.arange(1, 16), 5, replace=False).tolist()
        workload = Workload(
            arrived=1_000.0,
            searches={pattern: float(pattern * 100) for pattern in patterns},
            stored=20_000.0,
            keys=Spread(chances={key: float(rng.random() / 10) for key in range(KEYS)}),
        )
        turned = replace(workload, searches={p: workload.searches[p] for p in reversed(patterns)})
        fresh = SELECTIONS[name](IndexSettings(kind=name))
        assert list(used.select(workload)) == list(used.select(turned)) == list(fresh.select(workload))


def check_nothing_asked_needs_no_map(name: str) -> None:
    """Without a search by keys there is no map."""
    selection = SELECTIONS[name](IndexSettings(kind=name))
    for searches in ({}, {REST: 1_000.0}):
        assert (
            list(selection.select(Workload(arrived=9.0, searches=searches, stored=9.0, keys=Spread(chances={})))) == []
        )


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
