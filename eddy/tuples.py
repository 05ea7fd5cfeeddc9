"""Many partial results of one lineage, as row ids per input.

No values are copied while tuples are routed: a tuple is one row id for each input that it spans, and the selected
columns are gathered only when it is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.lineage import Lineage

RowIds = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Tuples:
    """Row ids, one array for each input that is spanned, all of one length."""

    lineage: Lineage
    ids: Mapping[str, RowIds]

    def __len__(self) -> int:
        for ids in self.ids.values():
            return len(ids)
        return 0

    def take(self, rows: RowIds) -> Tuples:
        """The tuples at some positions."""
        return Tuples(self.lineage, {name: ids.take(rows) for name, ids in self.ids.items()})

    def first(self, count: int) -> Tuples:
        """The first tuples."""
        return self if len(self) <= count else Tuples(self.lineage, {n: ids[:count] for n, ids in self.ids.items()})

    def rest(self, count: int) -> Tuples:
        """All but the first tuples."""
        return Tuples(self.lineage, {name: ids[count:] for name, ids in self.ids.items()})

    def at(self, lineage: Lineage) -> Tuples:
        """The same tuples, further on."""
        return Tuples(lineage, self.ids)


def merge(parts: Sequence[Tuples]) -> Tuples:
    """One value for several that span the same inputs; what they have done may differ."""
    if len(parts) == 1:
        return parts[0]
    ids = {name: np.concatenate([part.ids[name] for part in parts]) for name in parts[0].ids}
    return Tuples(parts[0].lineage, ids)
