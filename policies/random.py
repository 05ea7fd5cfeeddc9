"""The floor: any order that is legal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Leg, Policy, Setting, Task
from eddy.lineage import Hop


class Random(Policy):
    """Sends every tuple to any operator that is ready.

    Each row draws for itself, so that a task splits into as many legs as there are choices: no policy asks more
    of the router.

    >>> Random(Setting(operators=("cheap", "dear"))).snapshot()
    {}
    """

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """A leg for each hop, with the rows that drew it."""
        drawn = task.chance().integers(len(ready), size=task.rows)
        return [Leg(route=(hop,), rows=np.flatnonzero(drawn == i)) for i, hop in enumerate(ready)]
