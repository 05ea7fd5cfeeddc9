"""How far a streaming query has come, for people and for logs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from eddy.spark.progress import OBSERVED

BEGINNING = "1970-01-01T00:00:00.000Z"
"""The watermark as long as there is none, since not every stream has shown a row."""


class Teller:
    """Writes a line of fields for each micro-batch; when it is live, each replaces the one before.

    It cannot see whether there is a terminal: spark-submit puts itself between.
    """

    def __init__(self, *, quiet: bool, live: bool, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._quiet = quiet
        self._live = live
        self._seen = -1
        self._line = ""
        self._shown = ""
        self.rows = 0

    def tell(self, progress: Mapping[str, Any]) -> None:
        """Tell of a micro-batch, once."""
        if progress["batchId"] <= self._seen or over(progress) != progress["batchId"]:
            return
        self._seen = progress["batchId"]
        self.rows += progress["numInputRows"]
        self._line = fields(progress, self.rows)
        if self._live:
            self._show(self._line)
        else:
            self._write(f"{self._line}\n")

    def under_way(self, batch: int) -> None:
        """Say, when it is live, that a micro-batch has begun: the first ones take their time."""
        if self._live:
            self._show(f"{self._line} now={batch}".lstrip())

    def say(self, text: str) -> None:
        """Something that is no progress, on a line of its own."""
        self._write(f"\n{text}\n" if self._shown else f"{text}\n")
        self._shown = ""

    def _show(self, line: str) -> None:
        """Put a line in the place of the last one, cut to the width of the terminal: a longer one would stay."""
        line = line[: shutil.get_terminal_size().columns - 1]
        if line != self._shown:
            self._write(f"\r{line:<{len(self._shown)}}")
            self._shown = line

    def _write(self, text: str) -> None:
        if not self._quiet:
            self._out.write(text)
            self._out.flush()


def over(progress: Mapping[str, Any]) -> int:
    """The micro-batch that was over last when Spark told of its progress; -1 before there is any.

    When nothing has come for a while, Spark tells of the micro-batch that is still to come.

    >>> over({"batchId": 3, "durationMs": {"latestOffset": 2, "addBatch": 9}})
    3
    >>> over({"batchId": 3, "durationMs": {"latestOffset": 2}})
    2
    """
    return int(progress["batchId"]) - ("addBatch" not in progress["durationMs"])


def fields(progress: Mapping[str, Any], rows: int) -> str:
    """A micro-batch as fields.

    >>> fields({"batchId": 3, "numInputRows": 20, "durationMs": {}, "eventTime": {}}, 80)
    'batch=3 rows=20 total=80 rows_per_second=0 seconds=0.00'
    """
    told = {
        "batch": progress["batchId"],
        "rows": progress["numInputRows"],
        "total": rows,
        "rows_per_second": round(progress.get("processedRowsPerSecond") or 0),
        "seconds": f"{progress['durationMs'].get('triggerExecution', 0) / 1_000:.2f}",
    }
    reports = (progress.get("observedMetrics") or {}).get(OBSERVED)
    if reports is not None:
        told["results"] = sum(json.loads(report)["results"] for report in reports["reports"] or [])
    if "watermark" in progress["eventTime"]:
        watermark = progress["eventTime"]["watermark"]
        told["watermark"] = "none" if watermark == BEGINNING else watermark
    return " ".join(f"{name}={value}" for name, value in told.items())
