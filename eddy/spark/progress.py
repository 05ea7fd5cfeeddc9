"""Makes a `Report` of what cells, and tasks, tell by Spark's progress.

Every cell sends one report in JSON for each micro-batch in which it is called. Spark collects them as an observed
metric of the micro-batch, which reaches the driver with the query's progress: also through Spark Connect, where there
are no accumulators. Progress comes in two ways. A listener hears of every micro-batch, but somewhat later; the query
itself knows its last hundred at once. Both are read, and each micro-batch counts once. The steps of `eddy.where` in a
query have each a metric of their own; over batch frames, Spark gives the metrics of the first action.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eddy.errors import EngineError, QueryError, describe_error, quote, unknown_name, warn
from eddy.observe import wire
from eddy.observe.counters import Counters
from eddy.observe.frame_notes import find_note
from eddy.observe.report import Report
from eddy.observe.sum_cells import CellSum, merge_batches
from eddy.query.together.queries import LONE
from eddy.query.together.report import ReportTogether, merge_queries
from eddy.spark.monitoring import news
from eddy.spark.monitoring.news import BEGINNING, BatchNews, NewDecisions

if TYPE_CHECKING:
    from pyspark.sql import Observation
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

OBSERVED = "eddy"
"""The name of the observed metric; the report of each cell is in its list `reports`. That of a step of `eddy.where`
goes on with a number and the step's name."""

NOTE = '{"note"'
"""How a report begins that is of no cell."""

ACTION_SECONDS = 3
"""Seconds that the metrics of an action may take to arrive: Spark hands them on behind it, within milliseconds."""

POLL_SECONDS = 0.01
"""Seconds from one look for them to the next."""

MOST_CHARACTERS = 64 << 20
"""Characters of the reports that are remembered of a run, the newest: a day of micro-batches of ten seconds, where
each has 7,000."""

MOST_RUNS = 32
"""Runs that are remembered in one driver, the newest."""

RUNS: OrderedDict[str, dict[str, Progress]] = OrderedDict()
"""The progress of each run, by the names of metrics."""


class Progress:
    """The micro-batches of one run of a query."""

    def __init__(self) -> None:
        self._reports: dict[int, list[str]] = {}
        self._characters = 0
        self._warned = False
        self._notes: list[str] = []
        self._lock = threading.Lock()
        self._told = CellSum()
        self._decisions = NewDecisions()

    def add(self, batch: int, reports: Sequence[str]) -> bool:
        """Take the reports of a micro-batch, unless they are known; tell whether they are new.

        A listener's thread may call this.
        """
        with self._lock:
            if batch in self._reports or not reports:
                return False
            self._reports[batch] = list(reports)
            self._notes += read_notes(reports)
            self._characters += sum(map(len, reports))
            # The oldest go first, and one always stays.
            while self._characters > MOST_CHARACTERS and len(self._reports) > 1:
                self._characters -= sum(map(len, self._reports.pop(min(self._reports))))
            return True

    def tell(self, progress: StreamingQueryProgress, step: str, reports: Sequence[str]) -> None:
        """Tell a micro-batch that is new to who hears of it."""
        queries = read_queries(reports)
        cells = merge_cells(queries)
        with self._lock:
            whole = self._told.add(progress.batchId, cells)
            told = {cell: (bool(one.insight.regrets), one.insight.decisions) for cell, one in cells.items()}
            decisions = self._decisions.find(told)
        news.tell(
            BatchNews(
                query=progress.name or str(progress.id),
                step=step,
                whole=whole,
                cells=len(cells),
                results={n: sum(c.results for c in own.values()) for n, own in queries.items() if n != LONE},
                decisions=decisions,
                seconds=progress.durationMs.get("triggerExecution", 0) / 1_000,
                rows_per_second=progress.processedRowsPerSecond,
                watermark=find_watermark(progress.eventTime),
            )
        )

    def look_behind(self, progress: StreamingQueryProgress) -> None:
        """Warn, once, of what a restart has changed, and if results are lost after the eddy."""
        with self._lock:
            known, self._warned = self._warned, self._warned or has_dropped(progress)
            notes, self._notes = self._notes, []
        for note in notes:
            warn(f'query "{progress.name or progress.id}" goes on from its checkpoint with other {note}')
        if self._warned and not known:
            warn_of_drops(progress)

    def report(self) -> Report:
        """Give the report so far; progress comes in no order."""
        with self._lock:
            known = sorted(self._reports.items())
        told = [(batch, read_queries(reports)) for batch, reports in known]
        whole = CellSum()
        counters = [whole.add(batch, merge_cells(queries)) for batch, queries in told]
        names = dict.fromkeys(name for _, queries in told for name in queries)
        if not any(names):
            return Report(counters)
        sums = {name: CellSum() for name in names}
        return ReportTogether(
            counters,
            {
                name: Report([one.add(batch, queries[name]) for batch, queries in told if name in queries])
                for name, one in sums.items()
            },
        )


def metric_name(number: int, name: str) -> str:
    """Name the metric of a step of `eddy.where`.

    >>> metric_name(3, "bots")
    'eddy 3 bots'
    """
    return f"{OBSERVED} {number} {name}"


def is_ours(metric: str) -> bool:
    """Tell whether an observed metric is one of an eddy.

    >>> is_ours("eddy"), is_ours("eddy 3 bots"), is_ours("eddyline")
    (True, True, False)
    """
    return metric == OBSERVED or metric.startswith(f"{OBSERVED} ")


def collect(progress: StreamingQueryProgress) -> bool:
    """Take a micro-batch's reports; tell whether there are any."""
    ours = {metric: found for metric, found in progress.observedMetrics.items() if is_ours(metric)}
    for metric, found in ours.items():
        # Through Spark Connect, a micro-batch without rows has a metric without any value.
        known = find_run(str(progress.runId), metric)
        reports = found.asDict().get("reports") or []
        if known.add(progress.batchId, reports) and news.is_heard():
            known.tell(progress, name_step(metric), reports)
        known.look_behind(progress)
    return bool(ours)


def name_step(metric: str) -> str:
    """Name the step that a metric is of.

    >>> name_step("eddy 3 bots"), name_step("eddy")
    ('bots', 'attach')
    """
    return metric.split(" ")[2] if " " in metric else "attach"


def find_watermark(times: Mapping[str, str]) -> str | None:
    """Find the watermark in what Spark tells of event times, if there is one yet."""
    found = times.get("watermark")
    return None if found == BEGINNING else found


def find_run(run_id: str, metric: str = OBSERVED) -> Progress:
    """Find the progress of a run."""
    found = RUNS.setdefault(run_id, {}).setdefault(metric, Progress())
    while len(RUNS) > MOST_RUNS:
        RUNS.popitem(last=False)
    return found


def report_of(what: object, name: str | None = None) -> Report:
    """Report on a streaming query with an eddy in it, or on a frame.

    Of a query it has the micro-batches since it started, numbered as Spark does. Those without rows are not among
    them. A row that was sent to several cells counts once, in `streams()` the others are its copies; what operators did
    is counted in every cell. Seconds are those of all cells together. Where several steps of `eddy.where` are in it,
    `name` says which of them is meant. Of queries that are answered together it is a `ReportTogether`.

    Of a frame that `eddy.where` gave it is the work that it took: with Spark that of the first action, once it is over.
    """
    note = find_note(what)
    if note is not None:
        if name not in (None, note.name):
            raise unknown_name("step", str(name), [note.name], where="report_of")
        return note.read_report()
    query: StreamingQuery = check_query(what)
    recent = query.recentProgress
    ours = [collect(progress) for progress in recent]
    # A start that finds nothing new has run no micro-batch, and tells nothing.
    has_run = any("addBatch" in progress.durationMs for progress in recent)
    if has_run and not any(ours):
        raise QueryError(
            f'report_of: query "{query.name or query.id}" has no reports of an eddy; expected one that writes a frame '
            "made by eddy.attach or eddy.where"
        )
    return choose_step(RUNS.get(str(query.runId), {}), name).report()


def check_query(what: Any, where: str = "report_of") -> Any:
    """Refuse what can have no report."""
    if not hasattr(what, "recentProgress"):
        if where != "report_of":
            raise QueryError(f"{where}: expected a streaming query, got {type(what).__name__}")
        raise QueryError(
            "report_of: expected a streaming query, or the very frame that eddy.where gave, got "
            f"{type(what).__name__}; of a batch frame that was made from it, ask about the one that it was made from"
        )
    return what


def choose_step(steps: Mapping[str, Progress], name: str | None = None) -> Progress:
    """Choose one of the eddies of a query by its name.

    Where several have one name, the second is called "name 2".
    """
    named: dict[str, Progress] = {}
    # In the order of their numbers: "eddy" is that of attach, and has none.
    for metric in sorted(steps, key=lambda metric: int(metric.split(" ")[1]) if " " in metric else 0):
        step = name_step(metric)
        number = sum(1 for known in named if known.partition(" ")[0] == step)
        named[f"{step} {number + 1}" if number else step] = steps[metric]
    if name is not None and name not in named:
        raise unknown_name("step", name, named, where="report_of")
    if name is None and len(named) > 1:
        raise QueryError(f"report_of: the query has several eddies; name one of them: {quote(named)}")
    if not named:
        return Progress()
    return named[name] if name is not None else next(iter(named.values()))


def wait_for_report(observation: Observation | None, name: str) -> Report:
    """Give the report of the first action on a batch frame."""
    if observation is None:
        raise QueryError(
            f'report_of: "{name}" is a streaming frame; ask about the query that writes it: eddy.report_of(query)'
        )
    # Through Spark Connect the metrics come with the action; else Spark has a promise of them, which nobody can ask
    # whether an action is under way.
    promise = getattr(observation, "_jo", None)
    waited = 0.0
    while promise is not None and not promise.future().isCompleted() and waited < ACTION_SECONDS:
        time.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
    found = {} if promise is not None and not promise.future().isCompleted() else observation.get
    if not found:
        raise QueryError(
            f'report_of: "{name}": no action on the frame is over, so there is nothing to report; run one first, such '
            "as frame.count() or frame.write"
        )
    return Report([CellSum().add(0, read_cells(found["reports"] or []))])


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


def read_notes(reports: Sequence[str]) -> list[str]:
    """Read what the guard of a checkpoint has told, which is no cell."""
    return [str(json.loads(report)["note"]) for report in reports if report.startswith(NOTE)]


def read_cells(reports: Sequence[str]) -> dict[int, Counters]:
    """Read what cells have told of one micro-batch, all queries together."""
    return merge_cells(read_queries(reports))


def merge_cells(told: Mapping[str, Mapping[int, Counters]]) -> dict[int, Counters]:
    """Merge what cells have told of each query."""
    cells = dict.fromkeys(cell for parts in told.values() for cell in sorted(parts))
    return {cell: merge_queries({name: parts[cell] for name, parts in told.items() if cell in parts}) for cell in cells}


def read_queries(reports: Sequence[str]) -> dict[str, dict[int, Counters]]:
    """Read what cells have told of each query in one micro-batch; tasks of one engine are merged."""
    own = [report for report in reports if not report.startswith(NOTE)]
    try:
        parts = sorted(
            ((part.pop("cell"), part.pop("query", LONE), wire.from_plain(part)) for part in map(json.loads, own)),
            key=lambda told: (told[0], told[2].batch),
        )
    except Exception as error:  # it has come by way of Spark, from workers that may run anything
        raise EngineError(
            f"report: what a cell has told cannot be read, {describe_error(error)}; "
            "run the same version of the project on the driver and all workers"
        ) from error
    found: dict[str, dict[int, Counters]] = {}
    for cell, query, counters in parts:
        cells = found.setdefault(query, {})
        cells[cell] = merge_batches(cells[cell], counters) if cell in cells else counters
    return found
