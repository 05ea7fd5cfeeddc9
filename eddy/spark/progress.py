"""Makes a `Report` of what cells tell by Spark's progress.

Every cell sends one report in JSON for each micro-batch in which it is called. Spark collects them as an observed
metric of the micro-batch, which reaches the driver with the query's progress: also through Spark Connect, where there
are no accumulators. Progress comes in two ways. A listener hears of every micro-batch, but somewhat later; the query
itself knows its last hundred at once. Both are read, and each micro-batch counts once.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eddy.errors import EngineError, QueryError, describe_error, warn
from eddy.observe import wire
from eddy.observe.counters import Counters
from eddy.observe.report import Report
from eddy.observe.sum_cells import CellSum

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

OBSERVED = "eddy"
"""The name of the observed metric; the report of each cell is in its list `reports`."""

MOST_CHARACTERS = 64 << 20
"""Characters of the reports that are remembered of a run, the newest: a day of micro-batches of ten seconds, where
each has 7,000."""

MOST_RUNS = 32
"""Runs that are remembered in one driver, the newest."""

RUNS: OrderedDict[str, Progress] = OrderedDict()


class Progress:
    """The micro-batches of one run of a query."""

    def __init__(self) -> None:
        self._reports: dict[int, list[str]] = {}
        self._characters = 0
        self._warned = False
        self._lock = threading.Lock()

    def add(self, batch: int, reports: Sequence[str]) -> None:
        """Take the reports of a micro-batch, unless they are known.

        A listener's thread may call this.
        """
        with self._lock:
            if batch in self._reports or not reports:
                return
            self._reports[batch] = list(reports)
            self._characters += sum(map(len, reports))
            # The oldest go first, and one always stays.
            while self._characters > MOST_CHARACTERS and len(self._reports) > 1:
                self._characters -= sum(map(len, self._reports.pop(min(self._reports))))

    def look_behind(self, progress: StreamingQueryProgress) -> None:
        """Warn, once, if results are lost after the eddy."""
        with self._lock:
            known, self._warned = self._warned, self._warned or has_dropped(progress)
        if self._warned and not known:
            warn_of_drops(progress)

    def report(self) -> Report:
        """Give the report so far; progress comes in no order."""
        with self._lock:
            known = sorted(self._reports.items())
        whole = CellSum()
        return Report([whole.add(batch, _cells(reports)) for batch, reports in known])


def collect(progress: StreamingQueryProgress) -> bool:
    """Take a micro-batch's reports; tell whether there are any."""
    found = progress.observedMetrics.get(OBSERVED)
    if found is not None:
        # Through Spark Connect, a micro-batch without rows has a metric without any value.
        known = find_run(str(progress.runId))
        known.add(progress.batchId, found.asDict().get("reports") or [])
        known.look_behind(progress)
    return found is not None


def find_run(run_id: str) -> Progress:
    """Find the progress of a run."""
    found = RUNS.setdefault(run_id, Progress())
    while len(RUNS) > MOST_RUNS:
        RUNS.popitem(last=False)
    return found


def report_of(query: StreamingQuery) -> Report:
    """Report on a streaming query that writes an eddy's frame.

    It has the micro-batches since the query started, numbered as Spark does. Those without rows are not among them.
    A row that was sent to several cells counts once, in `streams()` the others are its copies; what operators did is
    counted in every cell. Seconds are those of all cells together.
    """
    recent = query.recentProgress
    ours = [collect(progress) for progress in recent]
    if ours and not any(ours):
        raise QueryError(
            f'report_of: query "{query.name or query.id}" has no reports of an eddy; expected one that writes a frame '
            "made by eddy.attach"
        )
    return find_run(str(query.runId)).report()


def has_dropped(progress: StreamingQueryProgress) -> bool:
    """Tell whether an aggregate has dropped results as late.

    The eddy's own operator never drops a row in this way.
    """
    return any(operator.numRowsDroppedByWatermark for operator in progress.stateOperators)


def warn_of_drops(progress: StreamingQueryProgress) -> None:
    """Warn that the answer of a query is not whole, and say why."""
    warn(
        f'query "{progress.name or progress.id}": micro-batch {progress.batchId}: what comes behind the eddy has '
        "dropped results as late, since withWatermark is on the time of one of their rows; declare it on the newest "
        "time in each result, or with a longer delay: print(eddy.explain(query)) says what to write"
    )


def _cells(reports: Sequence[str]) -> dict[int, Counters]:
    try:
        cells = {part.pop("cell"): wire.from_plain(part) for part in map(json.loads, reports)}
    except Exception as error:  # it has come by way of Spark, from workers that may run anything
        raise EngineError(
            f"report: what a cell has told cannot be read, {describe_error(error)}; "
            "run the same version of the project on the driver and all workers"
        ) from error
    return dict(sorted(cells.items()))
