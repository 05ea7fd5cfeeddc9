"""Waits for a streaming query, and shows in a notebook how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from eddy.live_line import LiveLine
from eddy.observe.text import plural
from eddy.spark.progress import OBSERVED, check_query, collect, read_cells

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

POLL_SECONDS = 0.2
"""Seconds between two looks at a query: soon for a person, and nothing beside a micro-batch."""


def follow(query: StreamingQuery, *, display: Callable[..., Any] | None = None) -> None:
    """Wait until a streaming query ends, like its `awaitTermination`; one that fails raises its error.

    In a notebook one line tells of the last micro-batch meanwhile, and nothing is printed elsewhere. Interrupting the
    cell ends the waiting, and not the query. `display` shows the line in place of IPython's.
    """
    check_query(query, "follow")
    line = LiveLine(display)
    active = True
    while active:
        active = query.isActive
        progress = query.lastProgress
        if progress is not None and line.is_live:
            collect(progress)
            line.show(partial(write_progress, progress), last=not active)
        if active:
            time.sleep(POLL_SECONDS)
    query.awaitTermination()


def write_progress(progress: Mapping[str, Any]) -> str:
    """Write a micro-batch in a line.

    >>> write_progress({"name": "q", "id": "", "batchId": 3, "numInputRows": 20, "processedRowsPerSecond": 4_000.0})
    'query "q", micro-batch 3: 20 rows, 4,000 a second'
    """
    observed = (progress.get("observedMetrics") or {}).get(OBSERVED)
    told = f'query "{progress["name"] or progress["id"]}", micro-batch {progress["batchId"]}: '
    counts = [plural(progress["numInputRows"], "row")]
    if observed is not None:
        results = sum(part.results for part in read_cells(observed["reports"] or []).values())
        counts.append(plural(results, "result"))
    counts.append(f"{progress.get('processedRowsPerSecond') or 0:,.0f} a second")
    return told + ", ".join(counts)
