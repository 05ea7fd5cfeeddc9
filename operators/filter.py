"""Drops the tuples for which a predicate is not true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from eddy.contracts import Lineage, Outcome, RowIds, Rule, Tuples
from eddy.errors import quote
from eddy.predicates.function import TooSlow
from eddy.predicates.judge import Judge, Judged
from eddy.sql import Column

Take = Callable[[str, RowIds], pa.Array]


class Memory(Protocol):
    """What filters have said of the rows of one input."""

    def verdicts(
        self, filter: str, ids: RowIds, ask: Callable[[RowIds], Judged], *, repeated: bool
    ) -> tuple[Judged, int]:
        """Give a filter's verdicts, and the number of rows asked."""


class FilterColumns(NamedTuple):
    """The inputs of a filter, its columns, and their stores.

    `times` are the columns with the event times of those inputs that have any, `after` the filters that must act first.
    """

    on: Sequence[str]
    columns: Sequence[Column]
    take: Mapping[str, Take]
    times: Mapping[str, str]
    after: Sequence[str] = ()


class FilterOperator:
    """A predicate over the inputs that it reads.

    With a memory, a filter over one input runs at most once for each of its rows: when the row arrives, or when a later
    tuple comes that joined with it.
    """

    def __init__(self, name: str, judge: Judge, reading: FilterColumns, memory: Memory | None = None) -> None:
        self.name = name
        self.rule = Rule(needs=frozenset(reading.on), after=frozenset(reading.after))
        self._on = reading.on[0]
        self._judge = judge
        self._reads = tuple((c, str(c.stream), reading.take[str(c.stream)]) for c in reading.columns)
        self._times = [(name, column, reading.take[name]) for name, column in reading.times.items()]
        self._memory = memory

    def pattern(self, lineage: Lineage) -> str:
        """Tell rows as they arrive from stored rows."""
        return "stored" if self._memory is not None and lineage.origin != self._on else ""

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """Read the inputs that the predicate is about."""
        return self.rule.needs

    def run(self, tuples: Tuples) -> Outcome:
        """Keep the tuples that pass; null is not true."""
        if self._memory is None:
            judged, evaluated = self._ask(tuples.ids, len(tuples)), len(tuples)
        else:
            ids, repeated = tuples.ids[self._on], len(tuples.lineage.spans) > 1
            judged, evaluated = self._memory.verdicts(self.name, ids, self._ask_stored, repeated=repeated)
        kept = judged.passed.nonzero()[0]
        faults = None if judged.faults is None else judged.faults.take(kept)
        return Outcome(tuples.take(kept).with_faults(faults), judged.passed, evaluated, judged.skipped)

    def _ask_stored(self, ids: RowIds) -> Judged:
        return self._ask({self._on: ids}, len(ids))

    def _ask(self, ids: Mapping[str, RowIds], rows: int) -> Judged:
        try:
            return self._judge.ask({column: take(column.name, ids[name]) for column, name, take in self._reads}, rows)
        except TooSlow as error:
            raise TooSlow(f"{error}; {self._describe_rows(ids)}") from None

    def _describe_rows(self, ids: Mapping[str, RowIds]) -> str:
        """Describe rows so that a person can find them."""
        parts = []
        for name, column, take in self._times:
            known = take(column, ids[name]).drop_null()
            if len(known):
                parts.append(f'rows of "{name}" with {column} from {pc.min(known)} to {pc.max(known)}')
        return "; ".join(parts) or f"rows of {quote(ids)}"
