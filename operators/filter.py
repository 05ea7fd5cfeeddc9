"""Drops the tuples for which a predicate is not true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from eddy.contracts import Outcome
from eddy.lineage import Rule
from eddy.query import Predicate
from eddy.sql import Column
from eddy.tuples import RowIds, Tuples

Take = Callable[[str, RowIds], pa.Array]


class Filter:
    """A predicate over the inputs that it reads."""

    def __init__(
        self,
        name: str,
        on: Sequence[str],
        predicate: Predicate,
        columns: Sequence[Column],
        take: Mapping[str, Take],
    ) -> None:
        self.name = name
        self.rule = Rule(needs=frozenset(on))
        self._predicate = predicate
        self._reads = tuple((column, str(column.stream), take[str(column.stream)]) for column in columns)

    def run(self, tuples: Tuples) -> Outcome:
        """Keep the tuples that pass; null is not true."""
        columns = {column: take(column.name, tuples.ids[name]) for column, name, take in self._reads}
        mask = self._predicate(columns, len(tuples))
        return Outcome(tuples=tuples.take(np.flatnonzero(mask)), counts=mask, evaluated=len(tuples))
