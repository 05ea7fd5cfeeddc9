"""Which rows of a store have been outrun by newer ones, by the numbers with which they came."""

from __future__ import annotations

from eddy.operators.stem import Stem
from eddy.tuples.arrays import Integers, RowIds
from eddy.tuples.event_time import Ticks


class OutrunRows:
    """Numbers the rows of a STeM whose window counts them: ids change when rows go, and numbers do not."""

    def __init__(self, stem: Stem) -> None:
        assert stem.counted is not None  # other windows have no rows that newer ones outrun
        self._stem, self._counted = stem, stem.counted

    def read_serials(self, ids: RowIds) -> Integers:
        """Read the numbers of some rows."""
        return self._counted.serials.take(ids)

    def find_outrun(self) -> tuple[Integers, Ticks]:
        """Find the rows that were outrun in this micro-batch: their numbers, rising, and the times of who did it."""
        stem = self._stem
        left, by = self._counted.find_outrun(stem.fresh, len(stem), stem.arrived)
        return self._counted.serials.take(left), stem.ticks.take(by)
