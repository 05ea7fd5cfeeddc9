"""The faults of predicates, numbered and counted.

A predicate that has no answer for a row has a fault there. With `on_error = "drop"` the row does not pass, with "keep"
it does, and either way it is counted. With "fail" the fault is kept with the row, as a number, and is an error once
the row is part of a combination that passes everything else: in whichever order predicates are asked, and however many
micro-batches later. Until then another predicate may drop the row, or it leaves its window, and nobody minds. With
"reject" it is kept in the same way, and such a row is no error: it is put aside, so that it can be looked at.

State does not hold faults: after a restart the predicate is asked again, since it may have been mended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eddy.errors import RowError
from eddy.observe.counters import FaultCount
from eddy.tuples.arrays import FaultCodes, Mask

UNKNOWN, PASS, FAIL = 0, 1, 2
"""A filter's verdicts about a row."""

PENDING = 3
"""Larger verdicts are numbers of faults: the filter had no answer, and whether that is an error is not known yet."""

FIRST_FAILING, LARGEST_FAULT = 64, 255
"""A verdict is one byte. Faults are told apart by predicate, exception and line, of which no query has so many; what
comes after the last number shares it. Of a row with several the largest stays: that one fails wins over that one is
rejected, whoever was asked first."""

FAILS, DROP, KEEP, REJECT = "fail", "drop", "keep", "reject"
ON_ERROR = (FAILS, DROP, KEEP, REJECT)

VERDICTS = {DROP: FAIL, KEEP: PASS}
"""The verdict about a row whose fault is passed over."""


class Kind(NamedTuple):
    """A kind of fault: whose, without values of rows, and the text of the first one."""

    predicate: str
    kind: str
    text: str


def mask_rejected(faults: FaultCodes) -> Mask:
    """Mask the rows that are put aside."""
    found: Mask = (faults >= PENDING) & (faults < FIRST_FAILING)
    return found


class Faults:
    """The faults that one engine has met."""

    def __init__(self, *, values: bool = False) -> None:
        self._values = values
        self._failing: list[Kind] = []
        self._rejecting: list[Kind] = []
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
            verdicts[place] = VERDICTS.get(how) or self._number(Kind(predicate, error.kind, str(error)), how)
        return verdicts

    def find(self, number: int) -> Kind:
        """Find a kind of fault as it was first met."""
        failing = number >= FIRST_FAILING
        return self._failing[number - FIRST_FAILING] if failing else self._rejecting[number - PENDING]

    def list_counts(self) -> Sequence[FaultCount]:
        """List the faults that were met in this micro-batch."""
        return tuple(self._counted.values())

    def _number(self, kind: Kind, how: str) -> int:
        # verdict bytes:   0 unknown   1 pass   2 fail   3 .. 63 rejected   64 .. 255 failing, as they were met
        rejected = how == REJECT
        known, first = (self._rejecting, PENDING) if rejected else (self._failing, FIRST_FAILING)
        for place, other in enumerate(known):
            if other[:2] == kind[:2]:
                return first + place
        if first + len(known) <= (FIRST_FAILING - 1 if rejected else LARGEST_FAULT):
            known.append(kind)
        return first + len(known) - 1

    def _count_first(self, key: tuple[str, str, str], error: RowError, row: str) -> FaultCount:
        predicate, kind, how = key
        sample = f"{error}; the row: {row}" if row else str(error)
        return FaultCount(predicate=predicate, kind=kind, on_error=how, rows=1, sample=sample if self._values else "")
