"""The floor: any order that is legal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Hop, Leg, Policy, Setting, Task
from eddy.policies.shared.drawing import draw


class Random(Policy):
    """Sends every tuple to any operator that is ready.

    Each row draws for itself when it arrives; `drawing` says when rows draw together.

    >>> Random(Setting(operators=("cheap", "dear"))).snapshot()
    {}
    """

    def __init__(self, setting: Setting) -> None:
        self._operators = len(setting.operators)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """A leg for each hop, with the rows that drew it."""
        return draw(task, ready, np.full(len(ready), 1 / len(ready)), self._operators)
