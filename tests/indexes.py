"""Random choices of indexes: every kind, with the smallest sizes, so that all that seldom happens happens often."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from eddy.operators.tuning.settings import (
    ASSESSMENTS,
    COSTS,
    KINDS,
    MIGRATIONS,
    SCHEDULES,
    IndexSettings,
)

UNTIL_NOW: dict[str, Any] = {"kind": "patterns", "merge": False, "time_order": False}
"""The design that the others are held against: one index for each access pattern and segment, in no order."""

KEYS: dict[str, Sequence[Any]] = {
    "count": range(1, 5),
    "bits": range(1, 21),
    "assess": ASSESSMENTS,
    "epsilon": (0.001, 0.05, 0.2),
    "theta": (0.2, 0.5, 1.0),
    "schedule": SCHEDULES,
    "period": range(1, 21),
    "trigger": range(1, 21),
    "migrate": MIGRATIONS,
    "merge": (True, False),
    "time_order": (True, False),
    "chains": (True, True, False),
    "training": range(1, 21),
    "cost": (None, *COSTS),
}
"""The values of each key; of `period` and `trigger` so few that there are switches in nearly every micro-batch."""

PATTERNS = ("{0}.k", "{0}.x", "{0}.k, {0}.x", "{0}.nothing", "")
"""Access patterns that an input may be told of; a query need not have them."""

DEALT = 50
"""Settings of each kind among which cases choose: each is one draw, so that a case is not smaller for it."""


@cache
def choices(names: tuple[str, ...]) -> st.SearchStrategy[IndexSettings]:
    """Settings of any kind for a query over some inputs."""
    chance = random.Random(0)
    return st.sampled_from([_deal(kind, names, chance) for _ in range(DEALT) for kind in KINDS])


def _deal(kind: str, names: Sequence[str], chance: random.Random) -> IndexSettings:
    given = {key: chance.choice(values) for key, values in KEYS.items() if key in KINDS[kind].keys}
    coming = [{name: _probes(name, chance) for name in names} for _ in range(3 if KINDS[kind].is_told else 0)]
    return IndexSettings(kind=kind, coming=coming, **given)


def _probes(name: str, chance: random.Random) -> dict[str, float]:
    return {text.format(name): chance.choice([0.0, 1.0, 100.0]) for text in chance.sample(PATTERNS, 2)}
