"""Counters as pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from eddy.observe import Counters, total

COUNTS = ["rows_in", "evaluated", "rows_out", "seconds"]

BATCH: Mapping[str, Callable[[Counters], Any]] = {
    "batch": lambda c: c.batch,
    "rows": lambda c: sum(s.rows for s in c.streams.values()),
    "results": lambda c: c.results,
    "routing_calls": lambda c: total(c.operators).rows_in,
    "decisions": lambda c: c.decisions,
    "seconds": lambda c: c.seconds,
    "operator_seconds": lambda c: total(c.operators).seconds,
    "planning_seconds": lambda c: c.planning,
    "learning_seconds": lambda c: c.learning,
    "untimed": lambda c: sum(s.untimed for s in c.streams.values()),
    "late": lambda c: sum(s.late for s in c.streams.values()),
    "ahead": lambda c: sum(s.ahead for s in c.streams.values()),
    "restore_seconds": lambda c: c.restoring,
    "packing_seconds": lambda c: c.packing,
    "saving_seconds": lambda c: c.saving,
    "state_bytes": lambda c: c.state,
}
"""The columns of `Report.batches`."""


@dataclass(frozen=True, repr=False)
class Report:
    """What a run did, micro-batch by micro-batch."""

    counters: Sequence[Counters]

    def __repr__(self) -> str:
        calls = sum(total(c.operators).rows_in for c in self.counters)
        return f"Report({len(self.counters):,} micro-batches, {calls:,} routing calls)"

    def batches(self) -> pd.DataFrame:
        """One row for each micro-batch.

        `routing_calls` are tuples handed to operators, `decisions` are questions to the policy; the seconds are
        those of the whole micro-batch, of the operators, of the policy's planning and of its learning. Three columns
        count rows that took no part: without an event time, late, and of a clock that runs ahead. The last four are
        what Spark's state costs: seconds to restore it, to send the results, and to save it, and its bytes.
        """
        return pd.DataFrame({name: [value(c) for c in self.counters] for name, value in BATCH.items()})

    def streams(self) -> pd.DataFrame:
        """One row for each stream in each micro-batch: rows that came, were dropped, and are stored at its end."""
        rows = [{"batch": c.batch, "stream": name, **asdict(s)} for c in self.counters for name, s in c.streams.items()]
        return pd.DataFrame(rows, columns=["batch", "stream", "rows", "untimed", "late", "ahead", "stored", "nbytes"])

    def operators(self, *, by_batch: bool = False) -> pd.DataFrame:
        """One row for each operator and access pattern, or for each of them in each micro-batch.

        `evaluated` are the rows that a filter had not judged before, or the candidates that a probe looked at;
        `rate` is outputs per input, `microseconds` the cost of one input.
        """
        rows = [
            [c.batch, hop.operator, hop.pattern, s.rows_in, s.evaluated, s.rows_out, s.seconds]
            for c in self.counters
            for hop, s in c.operators.items()
        ]
        frame = pd.DataFrame(rows, columns=["batch", "operator", "pattern", *COUNTS])
        if not by_batch:
            frame = frame.groupby(["operator", "pattern"], sort=False)[COUNTS].sum().reset_index()
        frame["rate"] = frame["rows_out"] / frame["rows_in"]
        frame["microseconds"] = frame["seconds"] / frame["rows_in"] * 1e6
        return frame

    def routes(self) -> pd.DataFrame:
        """One row for each class and the route that its rows set out on: tuples, and their share of the stream's.

        A class is what the policy calls it; "" are rows that it does not tell apart.
        """
        rows: dict[tuple[str, str, str], int] = {}
        for c in self.counters:
            for (stream, label, route), count in c.routes.items():
                key = (stream, label, " > ".join(route))
                rows[key] = rows.get(key, 0) + count
        frame = pd.DataFrame(
            [[*key, count] for key, count in rows.items()], columns=["stream", "class", "route", "tuples"]
        )
        frame["share"] = frame["tuples"] / frame.groupby("stream")["tuples"].transform("sum")
        return frame.sort_values(["stream", "tuples"], ascending=[True, False], ignore_index=True)

    def learning(self) -> pd.DataFrame:
        """One row for each operator, micro-batch and way in which the policy used it.

        `kind` says what the calls were: "classified" by the attribute, "unclassified", or "profiling" to learn; the
        gain ratio is that of the attribute when it was last measured.
        """
        rows: list[list[object]] = []
        before: dict[tuple[str, str, str], int] = {}
        for c in self.counters:
            for i in c.insight:
                key = (i.operator, i.kind, i.attribute)
                calls, before[key] = i.calls - before.get(key, 0), i.calls
                if calls:
                    rows.append([c.batch, *key, i.gain_ratio, calls])
        return pd.DataFrame(rows, columns=["batch", "operator", "kind", "attribute", "gain_ratio", "calls"])
