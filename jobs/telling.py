"""How far a streaming query has come, for people and for logs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from eddy.spark.progress import OBSERVED


class Teller:
    """Writes a line of fields for each micro-batch; on a terminal each replaces the one before."""

    def __init__(self, *, quiet: bool, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._quiet = quiet
        self._live = out.isatty()
        self._seen = -1
        self._width = 0
        self.rows = 0

    def tell(self, progress: Mapping[str, Any]) -> None:
        """Tell of a micro-batch, once."""
        if progress["batchId"] <= self._seen:
            return
        self._seen = progress["batchId"]
        self.rows += progress["numInputRows"]
        if self._quiet:
            return
        line = fields(progress, self.rows)
        if self._live:
            self._out.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self._out.write(f"{line}\n")
        self._out.flush()

    def say(self, text: str) -> None:
        """Something that is no progress, on a line of its own."""
        if not self._quiet:
            self._out.write(f"\n{text}\n" if self._width else f"{text}\n")
            self._width = 0
            self._out.flush()


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
        told["watermark"] = progress["eventTime"]["watermark"]
    return " ".join(f"{name}={value}" for name, value in told.items())
