"""Policies race side by side through one stream."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import eddy
from eddy.jobs.run.calls_saved import main_route
from eddy.jobs.sources.workload import FromWorkload
from eddy.jobs.workloads.web import QUERY
from eddy.observe.insight import Regret
from eddy.observe.regret import sum_over_batches, tell_adapting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = 2_000
"""Rows of a micro-batch: so many of them that a policy notices the change soon, and shows that it has."""

CELLS = 2

POLL_SECONDS = 0.1
"""Seconds between two looks at a query that is about to begin."""

TRIES = 5
"""Times that the source of a query is started: so often in a row no machine is busy by chance."""

SLOW = "worker failed to connect back"
"""Spark's words for a Python process that was not there in time."""


def write_calls(count: float) -> str:
    """Write what an account has: all policies of the demo are to save calls.

    >>> write_calls(4154.6)
    '4,155 calls'
    """
    return f"{count:,.0f} calls"


@dataclass(frozen=True, kw_only=True)
class Lap:
    """The progress of a policy: rows, calls and routes so far."""

    policy: str
    report: eddy.Report

    @cached_property
    def rows(self) -> list[int]:
        """In each micro-batch."""
        return [int(rows) for rows in self.report.batches()["rows"]]

    @cached_property
    def calls(self) -> list[int]:
        """Tuples handed to operators, in each micro-batch."""
        return [int(calls) for calls in self.report.batches()["routing_calls"]]

    @property
    def results(self) -> int:
        """Rows of the answer."""
        return int(self.report.batches()["results"].sum())

    def compute_saving(self, baseline: Lap) -> float | None:
        """Compute the share of another's calls that this one saved.

        It counts as far as both have come.
        """
        both = min(len(self.calls), len(baseline.calls))
        needed = sum(baseline.calls[:both])
        return 1 - sum(self.calls[:both]) / needed if needed else None

    @cached_property
    def accounts(self) -> list[Regret]:
        """What adapting has cost and saved so far, if the policy counts it."""
        return sum_over_batches(self.report.counters)

    @property
    def adapting(self) -> str:
        """The same in a line; "" if the policy does not count it."""
        told = tell_adapting(self.accounts, write_calls)
        return f"{self.policy}: {told}" if told else ""

    def reasons(self) -> list[tuple[str, str, str, str]]:
        """The micro-batch of each decision, counted from 1, who decided about what, and why."""
        frame = self.report.decisions()
        found = zip(*(frame[name] for name in ("batch", "policy", "stream", "reason")), strict=True)
        return [(f"{batch + 1:,}", policy or self.policy, stream, reason) for batch, policy, stream, reason in found]

    def route(self, batch: int = -1) -> str:
        """Give the way that most rows took in a micro-batch.

        It is the last one, unless told otherwise.
        """
        route, share = main_route(self.report.counters[batch:][:1])
        return f"{route} ({share:.0%})" if route else ""


class Racer:
    """A streaming query over the web requests, under one policy.

    Its answer is a table in memory.
    """

    def __init__(self, spark: SparkSession, policy: str, choice: Mapping[str, Any], rows: int) -> None:
        self._spark = spark
        self._policy = policy
        values: dict[str, Any] = {"kind": "web", "input": "web", "seed": 0, "per_trigger": BATCH}
        source = FromWorkload("web", {**values, "parameters": {"rows": rows}})
        # Spark would evaluate the SQL filter before the eddy: right for a job, and nothing to see here.
        frame = eddy.attach(QUERY, {"web": source.stream(spark)}, policy=choice, cells=CELLS, pushdown=False)
        writer = frame.writeStream.format("memory").queryName(policy).outputMode("append")
        self._writer = writer.trigger(availableNow=True)
        self._query = self._writer.start()

    def begin(self) -> None:
        """Wait until its source stands.

        Spark starts a Python process for it and gives it ten seconds: on a small machine too few for several at once,
        and on one that is busy sometimes too few for one, which then is started again.
        """
        self._wait()
        for _ in range(TRIES - 1):
            if self._query.isActive or SLOW not in str(self._query.exception()):
                return
            self._query = self._writer.start()
            self._wait()

    def _wait(self) -> None:
        while self._query.isActive and self._query.status["message"].startswith("Initializing"):
            time.sleep(POLL_SECONDS)

    @property
    def is_running(self) -> bool:
        """Whether it has not come to its end yet.

        One that has failed raises its error.
        """
        if self._query.isActive:
            return True
        self._query.awaitTermination()
        return False

    def look(self) -> Lap:
        """Take a look at its progress."""
        return Lap(policy=self._policy, report=eddy.report_of(self._query))

    def answer(self) -> pa.Table:
        """Give all rows, in an order of their own."""
        answer = self._spark.table(self._policy).toArrow()
        return answer.sort_by([(name, "ascending") for name in answer.schema.names]).combine_chunks()
