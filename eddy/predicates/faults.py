"""The faults of predicates, numbered and counted.

A predicate that has no answer for a row has a fault there. With `on_error = "drop"` the row does not pass, with "keep"
it does, and either way it is counted. With "fail" the fault is kept with the row, as a number, and is an error once
the row is part of a combination that passes everything else: in whichever order predicates are asked, and however many
micro-batches later. Until then another predicate may drop the row, or it leaves its window, and nobody minds.

State does not hold faults: after a restart the predicate is asked again, since it may have been mended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from eddy.errors import RowError
from eddy.observe.counters import FaultCount
from eddy.tuples.arrays import FaultCodes

UNKNOWN, PASS, FAIL = 0, 1, 2
"""A filter's verdicts about a row."""

PENDING = 3
"""Larger verdicts are numbers of faults: the filter had no answer, and whether that is an error is not known yet."""

LARGEST_FAULT = 255
"""A verdict is one byte. Faults are told apart by predicate, exception and line, of which no query has so many; what
comes after the last number shares it."""

FAILS, DROP, KEEP = "fail", "drop", "keep"
ON_ERROR = (FAILS, DROP, KEEP)

VERDICTS = {DROP: FAIL, KEEP: PASS}
"""The verdict about a row whose fault is passed over."""


class Faults:
    """The faults that one engine has met."""

    def __init__(self, *, values: bool = False) -> None:
        self._values = values
        self._known: list[tuple[str, str, str]] = []
        self._counted: dict[tuple[str, str, str], FaultCount] = {}

    def begin(self) -> None:
        """Count anew: a micro-batch begins."""
        self._counted = {}

    def note(
        self, predicate: str, errors: Sequence[RowError], on_error: str, values: Callable[[int], str] | None = None
    ) -> FaultCodes:
        """Count the faults of some rows, and give the rows' verdicts.

        `values(n)` are those of the n-th of these rows, and nobody asks for them unless they may be shown.
        """
        verdicts = np.empty(len(errors), np.uint8)
        # One entry for each kind of error, however many rows have it: counts and samples stay bounded.
        for place, error in enumerate(errors):
            how = FAILS if error.final else on_error
            key = (predicate, error.kind, how)
            if key not in self._counted:
                self._counted[key] = self._count_first(key, error, values(place) if self._values and values else "")
            else:
                self._counted[key] = replace(self._counted[key], rows=self._counted[key].rows + 1)
            verdicts[place] = VERDICTS.get(how) or self._number(predicate, error)
        return verdicts

    def text(self, number: int) -> str:
        """Give the text of a kind of fault as it was first met."""
        return self._known[number - PENDING][2]

    def list_counts(self) -> Sequence[FaultCount]:
        """List the faults that were met in this micro-batch."""
        return tuple(self._counted.values())

    def _number(self, predicate: str, error: RowError) -> int:
        for place, (other, kind, _) in enumerate(self._known):
            if (other, kind) == (predicate, error.kind):
                return PENDING + place
        # verdict bytes:   0 unknown   1 pass   2 fail   3 .. 255 faults, in the order in which they were met
        if PENDING + len(self._known) <= LARGEST_FAULT:
            self._known.append((predicate, error.kind, str(error)))
        return PENDING + len(self._known) - 1

    def _count_first(self, key: tuple[str, str, str], error: RowError, row: str) -> FaultCount:
        predicate, kind, how = key
        sample = f"{error}; the row: {row}" if row else str(error)
        return FaultCount(predicate=predicate, kind=kind, on_error=how, rows=1, sample=sample if self._values else "")
