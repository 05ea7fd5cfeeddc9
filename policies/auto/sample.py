"""The sample: rows of a stream that went through all operators that could act on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Counts, Leg, Observation, Statistic, Task
from eddy.observe.prices import Prices
from eddy.policies.auto.arms import Kept
from eddy.policies.auto.duel import Bill
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, RowIds

SAMPLE_ROWS = 500
"""Rows of a sample: they tell a saving of a tenth, and pay for themselves within some ten thousand rows."""

FIRST_ROWS = 20
"""Rows of a sample that come first where probes wait for others: each may find thousands, and no price is known before
that. What they have cost says what the others will."""


class TriedRows:
    """What every operator made of some rows, and their buckets."""

    def __init__(self, hops: tuple[Hop, ...]) -> None:
        self.hops = hops
        self._outcomes: list[Floats] = []
        self._buckets: list[Buckets] = []
        self.editions: tuple[int, ...] = ()
        # Seconds that dividing the rows has taken, and what they have cost.
        self.dividing = self.paid = 0.0

    def __len__(self) -> int:
        return sum(map(len, self._outcomes))

    def draw(self, task: Task) -> tuple[RowIds, RowIds]:
        """Draw the rows that are missing, half of a task at most; gives their positions, and those of the others."""
        missing = SAMPLE_ROWS - len(self) if len(self) or task.independent else FIRST_ROWS
        drawn = np.zeros(task.rows, np.bool_)
        drawn[task.chance().choice(task.rows, min(missing, max(task.rows // 2, 1)), replace=False)] = True
        return np.flatnonzero(drawn), np.flatnonzero(~drawn)

    @property
    def is_full(self) -> bool:
        """Whether there are rows enough."""
        return len(self) >= SAMPLE_ROWS

    def pay(self, bill: Bill | None) -> None:
        """Note what rows of a round have cost."""
        self.paid += 0.0 if bill is None else bill.total

    @property
    def rest_price(self) -> float:
        """Price the rows that are missing, by what the others have cost."""
        return self.paid * (SAMPLE_ROWS - len(self)) / len(self) if len(self) else 0.0

    def add(self, buckets: Buckets, outcomes: Sequence[Counts], editions: Sequence[int]) -> None:
        """Keep some rows; what is kept by buckets of other editions goes."""
        if tuple(editions) != self.editions:
            self._outcomes, self._buckets, self.editions = [], [], tuple(editions)
            self.paid = 0.0
        self._outcomes.append(np.column_stack(outcomes).astype(np.float64))
        self._buckets.append(buckets)

    @property
    def outcomes(self) -> Floats:
        """A row for each row, a column for each operator."""
        found: Floats = np.concatenate(self._outcomes)
        return found

    @property
    def buckets(self) -> Buckets:
        """A row for each row, a column for each attribute."""
        found: Buckets = np.concatenate(self._buckets)
        return found

    def tell(self, origin: str, prices: Prices) -> Observation:
        """As an arm is told of it: an exhaustive leg that somebody else sent."""
        outcomes = self.outcomes
        rows = len(outcomes)
        columns = [outcomes[:, i].astype(np.int64) for i in range(outcomes.shape[1])]
        return Observation(
            origin=origin,
            legs=(Leg(route=self.hops, exhaustive=True),),
            rows=(rows,),
            hops=self.hops,
            outcomes=columns,
            statistics=tuple(
                Statistic(rows, rows, float(counts.sum()), prices[hop].seconds(rows))
                for hop, counts in zip(self.hops, columns, strict=True)
            ),
            buckets=Kept(self.buckets, self.editions),
            is_profile=True,
        )
