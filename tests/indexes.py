"""Random choices of indexes: every kind, with the smallest sizes, so that all that seldom happens happens often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from eddy.operators.tuning.settings import (
    ASSESSMENTS,
    COSTS,
    KINDS,
    MIGRATIONS,
    SCHEDULES,
    TOLD,
    USED,
    IndexSettings,
)

UNTIL_NOW: dict[str, Any] = {"kind": "patterns", "merge": False, "time_order": False}
"""The design that the others are held against: one index for each access pattern and segment, in no order."""

KEYS: dict[str, st.SearchStrategy[Any]] = {
    "count": st.integers(1, 4),
    "bits": st.integers(1, 20),
    "assess": st.sampled_from(ASSESSMENTS),
    "epsilon": st.sampled_from([0.001, 0.05, 0.2]),
    "theta": st.sampled_from([0.2, 0.5, 1.0]),
    "schedule": st.sampled_from(SCHEDULES),
    "period": st.integers(1, 20),
    "trigger": st.integers(1, 20),
    "migrate": st.sampled_from(MIGRATIONS),
    "merge": st.booleans(),
    "time_order": st.booleans(),
    "training": st.integers(1, 20),
    "cost": st.none() | st.sampled_from(COSTS),
}
"""The values of each key; of `period` and `trigger` so few that there are switches in nearly every micro-batch."""


@st.composite
def choices(draw: st.DrawFn, names: Sequence[str]) -> IndexSettings:
    """Settings of any kind for a query over some inputs."""
    kind = draw(st.sampled_from(KINDS))
    given = {key: draw(values) for key, values in KEYS.items() if key in USED[kind]}
    coming: list[dict[str, dict[str, float]]] = []
    if kind == TOLD:
        patterns = st.sampled_from(["{0}.k", "{0}.x", "{0}.k, {0}.x", "{0}.nothing", ""])
        probes = st.dictionaries(patterns, st.sampled_from([0.0, 1.0, 100.0]), max_size=3)
        for _ in range(draw(st.integers(1, 4))):
            asked = {name: draw(probes) for name in names}
            coming.append({name: {text.format(name): n for text, n in known.items()} for name, known in asked.items()})
    return IndexSettings(kind=kind, coming=coming, **given)
