"""The parts that have enough left to serve get new indexes (section 8.2)."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.operators.tuning.contracts import OldPart


class MigratePartial:
    """Where the searches until the part leaves save more than the work costs.

    The paper counts the tuples under way that still come to a part. Between micro-batches none is; what comes is the
    probes that reach it, times the micro-batches that it stays.
    """

    def choose(self, parts: Sequence[OldPart]) -> Sequence[OldPart]:
        """Give those that are worth it."""
        return [part for part in parts if part.saved > part.work]
