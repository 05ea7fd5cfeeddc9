"""Counters as pandas frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from eddy.observe import Counters

OPERATOR_COUNTS = ["rows_in", "evaluated", "rows_out", "seconds"]


@dataclass(frozen=True)
class Report:
    """What a run did, micro-batch by micro-batch."""

    counters: Sequence[Counters]

    def batches(self) -> pd.DataFrame:
        """One row for each micro-batch.

        `routing_calls` are tuples handed to operators, `decisions` are questions to the policy; the seconds are
        those of the whole micro-batch, of the operators, of the policy's planning and of its learning.
        """
        rows = [
            {
                "batch": c.batch,
                "rows": sum(s.rows for s in c.streams.values()),
                "untimed": sum(s.untimed for s in c.streams.values()),
                "late": sum(s.late for s in c.streams.values()),
                "ahead": sum(s.ahead for s in c.streams.values()),
                "results": c.results,
                "routing_calls": sum(s.rows_in for s in c.operators.values()),
                "decisions": c.decisions,
                "seconds": c.seconds,
                "operator_seconds": sum((s.seconds for s in c.operators.values()), 0.0),
                "planning_seconds": c.planning,
                "learning_seconds": c.learning,
            }
            for c in self.counters
        ]
        return pd.DataFrame(rows, columns=BATCH_COLUMNS)

    def operators(self, *, by_batch: bool = False) -> pd.DataFrame:
        """One row for each operator and access pattern, or for each of them in each micro-batch."""
        rows = [
            [c.batch, hop.operator, hop.pattern, s.rows_in, s.evaluated, s.rows_out, s.seconds]
            for c in self.counters
            for hop, s in c.operators.items()
        ]
        frame = pd.DataFrame(rows, columns=["batch", "operator", "pattern", *OPERATOR_COUNTS])
        if by_batch:
            return frame
        return frame.groupby(["operator", "pattern"], sort=False)[OPERATOR_COUNTS].sum().reset_index()


BATCH_COLUMNS = [
    "batch",
    "rows",
    "untimed",
    "late",
    "ahead",
    "results",
    "routing_calls",
    "decisions",
    "seconds",
    "operator_seconds",
    "planning_seconds",
    "learning_seconds",
]
