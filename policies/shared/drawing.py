"""Drawing the next operator, in a limited number of groups.

Tuples that have done the same go on together. If every tuple drew at every hop, `n` filters would make `2 ** n` groups
of a micro-batch, each with a call of its own for a handful of rows: with ten filters 5,000 calls, with fifteen no end.
So the tuples that have just arrived draw each for itself, and those that are under way draw as the group that they have
become. Each of them still goes to any operator with the chances it would have had alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Leg, Task
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats

MOST_GROUPS = 16
"""Groups at most that the rows of a stream divide into in a micro-batch, and so the calls of each operator: a call
takes as long as some thousand comparisons, and with sixteen shares of the rows chance evens out in a few
micro-batches."""


def draw(task: Task, ready: tuple[Hop, ...], chances: Floats, operators: int) -> Sequence[Leg]:
    """Draw an operator for each row, and a leg for each drawn.

    `operators` is how many there are in all. With so few that all possible groups are at most `MOST_GROUPS`,
    every tuple draws at every hop.
    """
    if len(ready) == 1:
        return [Leg(route=ready)]
    if task.lineage.done and 2 ** (operators - 1) > MOST_GROUPS:
        return [Leg(route=(ready[int(task.chance().choice(len(ready), p=chances))],))]
    if len(ready) <= MOST_GROUPS:
        drawn = task.chance().choice(len(ready), size=task.rows, p=chances)
    else:
        lots = task.chance().choice(len(ready), size=MOST_GROUPS, p=chances)
        drawn = lots[task.chance().integers(MOST_GROUPS, size=task.rows)]
    return [Leg(route=(ready[i],), rows=np.flatnonzero(drawn == i)) for i in np.unique(drawn).tolist()]
