"""What a function has said of the rows of a source, for all queries that have it as a filter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eddy.operators.stored.columns import Growing
from eddy.predicates.faults import FAIL, UNKNOWN
from eddy.predicates.judge import Judged
from eddy.tuples.arrays import FaultCodes, RowIds

Ask = Callable[[RowIds], Judged]


class SharedAnswers:
    """The answers of a function: it is asked once about each row, whichever query asks first.

    Rows without an answer are not among them: what becomes of those is each query's own matter.
    """

    def __init__(self) -> None:
        self.verdicts = Growing(np.uint8)

    def extend(self, rows: int) -> None:
        """Take note of rows that have just been stored."""
        self.verdicts.append(np.full(rows, UNKNOWN, np.uint8))

    def ask(self, ids: RowIds, ask: Ask) -> Judged:
        """Judge rows, each of them once."""
        known = self.verdicts.values.take(ids)
        settled = int(np.count_nonzero(known))  # `UNKNOWN` is zero
        if not settled:
            return self._remember(ids, ask(ids))
        if settled == len(ids):
            return Judged(known != FAIL, None, reused=len(ids))
        # The function's answers go to the places of the rows that nobody has asked about:
        #
        #     known  [P ? F ?]    asked [1 3]    answers [T F]    ->    passed [T T F F]
        asked = (known == UNKNOWN).nonzero()[0]
        judged = self._remember(ids.take(asked), ask(ids.take(asked)))
        passed, faults = known != FAIL, None
        passed[asked] = judged.passed
        if judged.faults is not None:
            faults = np.zeros(len(ids), np.uint8)
            faults[asked] = judged.faults
        return Judged(passed, faults, judged.skipped, judged.reused + settled)

    def adopt(self, verdicts: FaultCodes) -> None:
        """Take over what one query knows of all rows that are stored."""
        known = (verdicts != UNKNOWN).nonzero()[0]
        self.verdicts.put(known, verdicts[known])

    def _remember(self, ids: RowIds, judged: Judged) -> Judged:
        verdicts = FAIL - judged.passed.view(np.uint8)
        if judged.faults is not None:
            verdicts = np.where(judged.faults, np.uint8(UNKNOWN), verdicts)
        self.verdicts.put(ids, verdicts)
        return judged
