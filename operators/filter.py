"""Drops the tuples for which a predicate is not true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.contracts import Outcome
from eddy.errors import quoted
from eddy.predicates.faults import FAIL, PENDING
from eddy.predicates.function import TooSlow
from eddy.predicates.judge import Judge, Judged
from eddy.sql import Column
from eddy.tuples import Lineage, Tuples
from eddy.tuples.arrays import FaultCodes, Mask, RowIds
from eddy.tuples.lineage import Rule

Take = Callable[[str, RowIds], pa.Array]


class Verdicts(Protocol):
    """The verdicts of filters about stored rows."""

    def unknown(self, filter: str, ids: RowIds) -> Mask:
        """Mask the rows that a filter has not judged yet."""

    def passed(self, filter: str, ids: RowIds) -> Mask:
        """Mask the rows that have passed a filter."""

    def verdicts(self, filter: str, ids: RowIds) -> FaultCodes | None:
        """Give a filter's verdicts, if any row of all has a fault."""

    def judge(self, filter: str, ids: RowIds, judged: Judged) -> None:
        """Remember a filter's verdicts about rows, each of them once."""


class FilterColumns(NamedTuple):
    """The inputs of a filter, its columns, and their stores.

    `times` are the columns with the event times of those inputs that have any.
    """

    on: Sequence[str]
    columns: Sequence[Column]
    take: Mapping[str, Take]
    times: Mapping[str, str]


class FilterOperator:
    """A predicate over the inputs that it reads.

    With a memory, a filter over one input runs at most once for each of its rows: when the row arrives, or when a later
    tuple comes that joined with it.
    """

    def __init__(self, name: str, judge: Judge, reading: FilterColumns, memory: Verdicts | None = None) -> None:
        self.name = name
        self.rule = Rule(needs=frozenset(reading.on))
        self._on = reading.on[0]
        self._judge = judge
        self._reads = tuple((c, str(c.stream), reading.take[str(c.stream)]) for c in reading.columns)
        self._times = [(name, column, reading.take[name]) for name, column in reading.times.items()]
        self._memory = memory

    def pattern(self, lineage: Lineage) -> str:
        """Tell rows as they arrive from stored rows."""
        return "stored" if self._memory is not None and lineage.origin != self._on else ""

    def run(self, tuples: Tuples) -> Outcome:
        """Keep the tuples that pass; null is not true."""
        if self._memory is None:
            judged, evaluated = self._ask(tuples.ids, len(tuples)), len(tuples)
        else:
            judged, evaluated = self._remember(self._memory, tuples)
        kept = judged.passed.nonzero()[0]
        faults = None if judged.faults is None else judged.faults.take(kept)
        return Outcome(tuples.take(kept).with_faults(faults), judged.passed, evaluated, judged.skipped)

    def _ask(self, ids: Mapping[str, RowIds], rows: int) -> Judged:
        try:
            return self._judge.ask({column: take(column.name, ids[name]) for column, name, take in self._reads}, rows)
        except TooSlow as error:
            raise TooSlow(f"{error}; {self._told(ids)}") from None

    def _remember(self, memory: Verdicts, tuples: Tuples) -> tuple[Judged, int]:
        ids = tuples.ids[self._on]
        unknown = memory.unknown(self.name, ids)
        # Only rows without a verdict are asked about, each once: joined tuples may have one row many times.
        new = ids if unknown.all() else ids[unknown]
        if len(tuples.ids) > 1:
            new = np.unique(new)
        skipped = 0
        if len(new):
            judged = self._ask({self._on: new}, len(new))
            memory.judge(self.name, new, judged)
            skipped = judged.skipped
        verdicts = memory.verdicts(self.name, ids)
        if verdicts is None:
            return Judged(memory.passed(self.name, ids), None, skipped), len(new)
        return Judged(verdicts != FAIL, np.where(verdicts < PENDING, np.uint8(0), verdicts), skipped), len(new)

    def _told(self, ids: Mapping[str, RowIds]) -> str:
        """Describe rows so that a person can find them."""
        parts = []
        for name, column, take in self._times:
            known = take(column, ids[name]).drop_null()
            if len(known):
                parts.append(f'rows of "{name}" with {column} from {pc.min(known)} to {pc.max(known)}')
        return "; ".join(parts) or f"rows of {quoted(ids)}"
