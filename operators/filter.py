"""Drops the tuples for which a predicate is not true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow.compute as pc

from eddy.contracts import Lineage, Outcome, RowIds, Rule, Tuples
from eddy.errors import quote
from eddy.operators.stem import Stem
from eddy.predicates.function import TooSlow
from eddy.predicates.judge import Judge, Judged
from eddy.sql import Column
from eddy.tuples.arrays import Numbers
from eddy.tuples.values import Held, Values


class FilterColumns(NamedTuple):
    """The inputs of a filter, and its columns.

    `times` are the names and columns of the event times of those inputs that have any, `after` the filters that must
    act first.
    """

    on: Sequence[str]
    columns: Mapping[Column, Held]
    times: Mapping[str, tuple[str, Held]]
    after: Sequence[str] = ()


class FilterOperator:
    """A predicate over the inputs that it reads.

    With a STeM as its memory, a filter over one input runs at most once for each of its rows: when the row arrives, or
    when a later tuple comes that joined with it.
    """

    def __init__(self, name: str, judge: Judge, reading: FilterColumns, memory: Stem | None = None) -> None:
        self.name = name
        self.rule = Rule(needs=frozenset(reading.on), after=frozenset(reading.after))
        self._on = reading.on[0]
        self._judge = judge
        self._columns = tuple((column, str(column.stream), held) for column, held in reading.columns.items())
        self._direct = [(str(c.stream), reading.columns[c]) for c in judge.direct.columns] if judge.direct else []
        self._times = reading.times
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
            rows = evaluated = len(tuples)
            judged = self._ask(tuples.ids, rows)
        else:
            ids, repeated = tuples.ids[self._on], len(tuples.lineage.spans) > 1
            judged, evaluated = self._memory.verdicts(self.name, ids, self.sift, repeated=repeated)
        passed, faults, skipped, reused = judged
        kept = passed.nonzero()[0]
        # Where all pass they are the same tuples, and a store that knows them as all of its rows gathers nothing.
        left = tuples if len(kept) == len(passed) else tuples.take(kept)
        if faults is not None:
            left = left.with_faults(faults.take(kept))
        return Outcome(left, passed, evaluated, skipped, reused=reused)

    def sift(self, ids: RowIds) -> Judged:
        """Judge rows of the only input that it reads, whatever it remembers of them."""
        return self._ask({self._on: ids}, len(ids))

    def _ask(self, ids: Mapping[str, RowIds], rows: int) -> Judged:
        numbers = self._pick(ids)
        if numbers is not None:
            return self._judge.ask_directly(numbers, rows, lambda: self._read(ids))
        try:
            return self._judge.ask(self._read(ids), rows)
        except TooSlow as error:
            raise TooSlow(f"{error}; {self._describe_rows(ids)}") from None

    def _pick(self, ids: Mapping[str, RowIds]) -> list[Numbers] | None:
        """Pick the numbers of the columns; None where the predicate is not asked so, or some have no numbers."""
        found = []
        for name, held in self._direct:
            numbers = held.pick(ids[name])
            if numbers is None:
                return None
            found.append(numbers)
        return found or None

    def _read(self, ids: Mapping[str, RowIds]) -> dict[Column, Values]:
        return {column: Values(held, ids[name]) for column, name, held in self._columns}

    def _describe_rows(self, ids: Mapping[str, RowIds]) -> str:
        """Describe rows so that a person can find them."""
        parts = []
        for name, (column, held) in self._times.items():
            known = held.take(ids[name]).drop_null()
            if len(known):
                parts.append(f'rows of "{name}" with {column} from {pc.min(known)} to {pc.max(known)}')
        return "; ".join(parts) or f"rows of {quote(ids)}"
