"""Drops the tuples for which a predicate is not true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from eddy.contracts import Outcome
from eddy.function import Mask
from eddy.lineage import Lineage, Rule
from eddy.query import Predicate
from eddy.sql import Column
from eddy.tuples import RowIds, Tuples

Take = Callable[[str, RowIds], pa.Array]


class Memory(Protocol):
    """What filters have said of stored rows."""

    def unknown(self, filter: str, ids: RowIds) -> Mask:
        """Of which rows a filter has said nothing yet."""

    def passed(self, filter: str, ids: RowIds) -> Mask:
        """Which rows have passed it."""

    def judge(self, filter: str, ids: RowIds, passed: Mask) -> None:
        """Remember what it says of some rows, each of them once."""


class Filter:
    """A predicate over the inputs that it reads.

    With a memory, a filter over one input runs at most once for each of its rows, whoever meets the row first: the
    row itself when it arrives, or a later tuple that joined with it.
    """

    def __init__(
        self,
        name: str,
        on: Sequence[str],
        predicate: Predicate,
        columns: Sequence[Column],
        take: Mapping[str, Take],
        memory: Memory | None = None,
    ) -> None:
        self.name = name
        self.rule = Rule(needs=frozenset(on))
        self._on = on[0]
        self._predicate = predicate
        self._reads = tuple((column, str(column.stream), take[str(column.stream)]) for column in columns)
        self._memory = memory

    def pattern(self, lineage: Lineage) -> str:
        """Whether it meets rows as they arrive, or rows that have been stored and may have been judged before."""
        return "stored" if self._memory is not None and lineage.origin != self._on else ""

    def run(self, tuples: Tuples) -> Outcome:
        """Keep the tuples that pass; null is not true."""
        if self._memory is None:
            mask, evaluated = self._ask(tuples.ids, len(tuples)), len(tuples)
        else:
            mask, evaluated = self._remember(self._memory, tuples)
        return Outcome(tuples=tuples.take(mask.nonzero()[0]), counts=mask, evaluated=evaluated)

    def _ask(self, ids: Mapping[str, RowIds], rows: int) -> Mask:
        return self._predicate({column: take(column.name, ids[name]) for column, name, take in self._reads}, rows)

    def _remember(self, memory: Memory, tuples: Tuples) -> tuple[Mask, int]:
        ids = tuples.ids[self._on]
        unknown = memory.unknown(self.name, ids)
        new = ids if unknown.all() else ids[unknown]
        if len(tuples.ids) > 1:
            new = np.unique(new)
        if len(new):
            memory.judge(self.name, new, self._ask({self._on: new}, len(new)))
        return memory.passed(self.name, ids), len(new)
