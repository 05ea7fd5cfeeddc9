"""Many partial results of one lineage, as row ids per input.

No values are copied while tuples are routed: a tuple is one row id for each input that it spans, and the selected
columns are gathered only when it is complete. Beside its rows it may carry the number of a fault: some
predicate has no answer for it, and that is an error if it comes to its end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eddy.tuples.arrays import FaultCodes, Integers, RowIds
from eddy.tuples.lineage import Lineage


@dataclass(slots=True)
class Tuples:
    """Row ids, one array for each input that is spanned.

    All arrays have one length; `faults` has the fault of each tuple, 0 for none. Nobody may change them. They are not
    frozen, because each step makes some, and to make a frozen value takes five times as long.
    """

    lineage: Lineage
    ids: Mapping[str, RowIds]
    faults: FaultCodes | None = None

    def __len__(self) -> int:
        for ids in self.ids.values():
            return len(ids)
        return 0

    def take(self, rows: RowIds) -> Tuples:
        """Give the tuples at some positions."""
        faults = None if self.faults is None else self.faults.take(rows)
        return Tuples(self.lineage, {name: ids.take(rows) for name, ids in self.ids.items()}, faults)

    def first(self, count: int) -> Tuples:
        """Give the first tuples."""
        return self if len(self) <= count else self._part(slice(count))

    def rest(self, count: int) -> Tuples:
        """Give all but the first tuples."""
        return self._part(slice(count, None))

    def cut(self, begun: int, end: int) -> Tuples:
        """Give the tuples from one place to another."""
        return self._part(slice(begun, end))

    def only(self, inputs: Collection[str]) -> Tuples:
        """Give the rows of some inputs alone."""
        return Tuples(self.lineage, {name: ids for name, ids in self.ids.items() if name in inputs}, self.faults)

    def with_lineage(self, lineage: Lineage) -> Tuples:
        """Give the same tuples with another lineage."""
        return Tuples(lineage, self.ids, self.faults)

    def with_faults(self, faults: FaultCodes | None, rows: RowIds | None = None) -> Tuples:
        """Note more faults, of all tuples or some positions."""
        if faults is None:
            return self
        noted = self.read_faults().copy()
        at: Any = slice(None) if rows is None else rows
        # One fault is enough to fail a tuple that has met several, and the larger number is as good as any.
        noted[at] = np.maximum(noted[at], faults)
        return Tuples(self.lineage, self.ids, noted)

    def read_faults(self) -> FaultCodes:
        """Give the fault of each tuple; 0 stands for none."""
        return np.zeros(len(self), np.uint8) if self.faults is None else self.faults

    def _part(self, part: slice) -> Tuples:
        faults = None if self.faults is None else self.faults[part]
        return Tuples(self.lineage, {name: ids[part] for name, ids in self.ids.items()}, faults)


def merge(parts: Sequence[Tuples]) -> Tuples:
    """Make one value of several that span the same inputs.

    The tuples may differ in what they have done; the first part's lineage stands for all of them.
    """
    if len(parts) == 1:
        return parts[0]
    ids = {name: np.concatenate([part.ids[name] for part in parts]) for name in parts[0].ids}
    if all(part.faults is None for part in parts):
        return Tuples(parts[0].lineage, ids)
    return Tuples(parts[0].lineage, ids, np.concatenate([part.read_faults() for part in parts]))


class Appearance(NamedTuple):
    """How new rows of a source appear under one of its names.

    `arrivals` are their numbers among all rows of the micro-batch, `taken` the places of those that take part; None for
    all.
    """

    arrivals: Integers
    taken: RowIds | None = None
