"""Filters that come and go while a query runs: which of them are in force when, and what the answer may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

import eddy
from tests import joins, reference
from tests.joins import Case


@dataclass(frozen=True, kw_only=True)
class Changing:
    """A case of joins, and the filters of each start by number; `starts` are the micro-batches before which they are.

    Columns are added to `select` at the last start: they were stored, since other parts of the query read them.
    """

    case: Case
    starts: Sequence[int]
    filters: Sequence[Sequence[int]]

    def query(self, start: int) -> eddy.Query:
        """The query of a start."""
        whole = self.case.query()
        return replace(whole, filters=[whole.filters[n] for n in self.filters[start]])

    def in_force(self, batch: int) -> Sequence[int]:
        """The filters in a micro-batch."""
        return self.filters[max(n for n, first in enumerate(self.starts) if first <= batch)]

    def answers(self) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]]]:
        """What must come out, and what may, if nothing was asked about what went later.

        A combination is judged by the filters in force when its last row comes. A row that has failed one before is
        gone, and whether it had been asked is up to the routing.
        """
        joined = len(self.case.joins)

        def judged(number: int, came: Mapping[str, int]) -> bool:
            return number < joined or number - joined in self.in_force(max(came.values()))

        def ever(number: int, came: Mapping[str, int]) -> bool:
            on = self.case.filters[number - joined].on if number >= joined else ()
            if len(on) != 1 or on[0] not in came:
                return judged(number, came)
            stay = range(came[on[0]], max(came.values()) + 1)
            return any(number - joined in self.in_force(batch) for batch in stay)

        told = (self.case.question(), self.case.batches())
        return reference.answer(*told, ever), reference.answer(*told, judged)


@st.composite
def changing(draw: st.DrawFn, case: st.SearchStrategy[Case], *, only_added: bool = False) -> Changing:
    """Two or three starts, each with some of the filters."""
    found = replace(draw(case), after={})
    count, last = len(found.filters), max(len(found.batches()), 1)
    starts = [0, *sorted(draw(st.sets(st.integers(1, last), min_size=1, max_size=2)))]
    some = st.lists(st.integers(0, max(count - 1, 0)), unique=True, max_size=count).map(sorted)
    chosen = [draw(some) for _ in starts]
    if only_added:
        chosen = [sorted({n for part in chosen[: place + 1] for n in part}) for place in range(len(chosen))]
    return Changing(case=found, starts=starts, filters=chosen)


def cases(*, only_added: bool = False) -> st.SearchStrategy[Changing]:
    """Random joins with filters that change."""
    return changing(joins.cases() | joins.cases(crowded=True), only_added=only_added)
