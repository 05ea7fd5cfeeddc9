"""A policy that does everything a policy may do, at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Leg, Observation, Setting, State, Task
from eddy.features import NO_FEATURES
from eddy.lineage import Hop
from eddy.observe import Insight


class Wild:
    """Splits tasks anyhow, and gives each part a route of any length, or an exhaustive leg.

    It is not registered: it is no use to anybody but to tests.
    """

    features = NO_FEATURES
    insight: tuple[Insight, ...] = ()

    def __init__(self, setting: Setting) -> None:
        self._operators = setting.operators

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        parts = task.chance().integers(0, task.chance().integers(1, 4), task.rows)
        return [self._leg(task, ready, np.flatnonzero(parts == part)) for part in range(3)]

    def _leg(self, task: Task, ready: tuple[Hop, ...], rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Leg:
        if task.chance().random() < 0.3:
            some = task.chance().permutation(len(ready))[: task.chance().integers(1, len(ready) + 1)]
            return Leg(route=tuple(ready[i] for i in some), rows=rows, exhaustive=True)
        route: list[Hop] = []
        while ready and (not route or task.chance().random() < 0.7):
            route.append(ready[task.chance().integers(len(ready))])
            ready = task.after(route)
        return Leg(route=tuple(route), rows=rows)

    def observe(self, observation: Observation) -> None:
        """Chance learns nothing."""

    def snapshot(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        """Nothing to go on from."""
