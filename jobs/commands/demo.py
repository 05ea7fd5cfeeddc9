"""eddy demo: a stream that changes halfway, through several policies, on Spark."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa

import eddy
from jobs.commands.command import Command
from jobs.web import QUERY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ROWS, BATCH = 40_000, 2_000
"""Enough micro-batches before and after the change for the policies to notice it, and a minute of work for all."""

POLICIES: dict[str, dict[str, Any]] = {
    "fixed": {"name": "fixed"},
    "source": {"name": "source", "costs": "unit"},
    "content": {"name": "content", "costs": "unit"},
    "query_mesh": {"name": "query_mesh", "costs": "unit"},
}
"""They are to save calls, which is what the table shows; left to themselves they save time."""

CELLS = 2
POLL = 0.3
"""Seconds between two looks at a query."""

LINE = "{policy:<11} {rows:>7,} rows {results:>6,} results {calls:>8,} calls {saved:>6} now: {route}"
DIFFER = 1


def arguments(parser: ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the stream")


def run(chosen: Namespace) -> int:
    """Run the policies one after the other; fails if two of them give different answers."""
    print(f"{chosen.rows:,} web requests, three filters; halfway the traffic changes, and the best order with it")
    with tempfile.TemporaryDirectory(prefix="eddy-demo-") as place:
        spark = session(place)
        try:
            tried = [_Try(spark, policy, chosen.rows) for policy in POLICIES]
            baseline = 0
            for one in tried:
                one.run(baseline, sys.stdout)
                baseline = baseline or one.calls
        finally:
            spark.stop()
    same = all(one.answer.equals(tried[0].answer) for one in tried)
    best = min(tried, key=lambda one: one.calls)
    print(f'fewest calls: "{best.policy}", {1 - best.calls / baseline:.0%} fewer than the order that was written')
    print(f"answers: {'all the same' if same else 'THEY DIFFER, which must never happen'}")
    return 0 if same else DIFFER


def session(place: str) -> SparkSession:
    """A small session that leaves nothing behind."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  other commands start no Spark

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, bool | float | int | str | None] = {
        "spark.master": f"local[{CELLS}]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(CELLS),
        "spark.sql.warehouse.dir": f"{place}/warehouse",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    return SparkSession.builder.config(map=settings).getOrCreate()


class _Try:
    """One policy, and what came of it."""

    def __init__(self, spark: SparkSession, policy: str, rows: int) -> None:
        self._spark = spark
        self._rows = rows
        self.policy = policy
        self.calls = 0
        self.answer: pa.Table

    def run(self, baseline: int, out: TextIO) -> None:
        """Run to the end, with a line that lives on a terminal."""
        query = self._start()
        while query.isActive:
            if out.isatty():
                out.write(f"\r{self._line(query, baseline)}")
                out.flush()
            time.sleep(POLL)
        query.awaitTermination()
        out.write(f"{chr(13) if out.isatty() else ''}{self._line(query, baseline)}\n")
        out.flush()
        answer = self._spark.table(self.policy).toArrow()
        self.answer = answer.sort_by([(name, "ascending") for name in answer.schema.names]).combine_chunks()

    def _start(self) -> StreamingQuery:
        from jobs.sources.workload import FromWorkload  # noqa: PLC0415

        values: dict[str, Any] = {"kind": "web", "input": "web", "seed": 0, "per_trigger": BATCH}
        source = FromWorkload("web", {**values, "parameters": {"rows": self._rows}})
        frame = eddy.attach(
            QUERY, {"web": source.stream(self._spark)}, policy=POLICIES[self.policy], cells=CELLS, pushdown=False
        )
        writer = frame.writeStream.format("memory").queryName(self.policy)
        return writer.outputMode("append").trigger(availableNow=True).start()

    def _line(self, query: StreamingQuery, baseline: int) -> str:
        report = eddy.report_of(query)
        batches = report.batches()
        self.calls = int(batches["routing_calls"].sum())
        rows, before = int(batches["rows"].sum()), baseline * int(batches["rows"].sum()) // self._rows
        return LINE.format(
            policy=self.policy,
            rows=rows,
            results=int(batches["results"].sum()),
            calls=self.calls,
            saved=f"{self.calls / before - 1:+.0%}" if before else "",
            route=_route(report),
        )


def _route(report: eddy.Report) -> str:
    """Which way most rows took in the last micro-batch."""
    latest = eddy.Report(report.counters[-1:]).routes()
    return str(latest["route"].iloc[0]) if len(latest) else ""


COMMAND = Command(text="watch policies follow a stream that changes (a minute, on Spark)", arguments=arguments, run=run)
