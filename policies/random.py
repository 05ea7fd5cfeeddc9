"""The floor: any order that is legal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Leg, Observation, Setting, State, Task
from eddy.features import NO_FEATURES
from eddy.lineage import Hop
from eddy.observe import NO_INSIGHT
from policies.drawing import draw


class Random:
    """Sends every tuple to any operator that is ready.

    Each row draws for itself when it arrives; `drawing` says when rows draw together.

    >>> Random(Setting(operators=("cheap", "dear"))).snapshot()
    {}
    """

    features = NO_FEATURES
    insight = NO_INSIGHT

    def __init__(self, setting: Setting) -> None:
        self._operators = len(setting.operators)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """A leg for each hop, with the rows that drew it."""
        return draw(task, ready, np.full(len(ready), 1 / len(ready)), self._operators)

    def observe(self, observation: Observation) -> None:
        """Chance learns nothing."""

    def snapshot(self) -> State:
        """Nothing to keep: the generator belongs to the micro-batch."""
        return {}

    def restore(self, state: State) -> None:
        """Nothing to go on from."""
