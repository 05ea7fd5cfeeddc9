"""What a step did, as it is kept until the micro-batch is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eddy.contracts import Leg, Observation
from eddy.lineage import Hop
from eddy.observe import Statistic


class Done(NamedTuple):
    """What a step did, without its tuples: where a key is hot they are many more than the rows of a micro-batch."""

    origin: str
    legs: Sequence[Leg]
    rows: Sequence[int]
    hops: Sequence[Hop]
    statistics: Sequence[Statistic]
    left: Sequence[float]

    @staticmethod
    def of(step: Observation) -> Done:
        """What is left to count of a step."""
        return Done(step.origin, step.legs, step.rows, step.hops, step.statistics, _left(step))


def _left(step: Observation) -> list[float]:
    """How many tuples a step has left of each of its legs."""
    if len(step.legs) == 1:
        return [step.statistics[0].rows_out]
    firsts = np.cumsum((0, *step.rows[:-1]))
    left: list[float] = np.add.reduceat(np.append(step.outcomes[0], 0).astype(np.float64), firsts).tolist()
    return left
