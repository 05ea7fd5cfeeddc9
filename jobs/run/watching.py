"""What programs hear of a job: events for `--log-format json`, and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from eddy.jobs.config.config import Job, list_stated
from eddy.jobs.run.log_lines import log_event
from eddy.jobs.run.progress_line import TENTHS, Teller
from eddy.query.validation import duration
from eddy.spark.monitoring import SentMetrics, ServedMetrics

MICROSECONDS = 1_000_000


class LogTeller(Teller):
    """Tells what a `Teller` does, as events with fields.

    Micro-batches are told by the logger "eddy.batch" already, for whoever runs a query.
    """

    def __init__(self) -> None:
        super().__init__(quiet=True, live=False)

    def begin(self, job: Job) -> None:
        """Say what was given, in one event."""
        config = {key: {"value": value, "from": origin} for key, value, origin in list_stated(job)}
        log_event("start", f'job "{job.file}" starts', job=job.file, config=config)

    def show_tasks(self, done: int, whole: int) -> None:
        """Say how many tasks of one pass are over, at each tenth."""
        if whole and done * TENTHS // whole != self._seen:
            self._seen = done * TENTHS // whole
            log_event("tasks", f"{done} of {whole} tasks are over", done=done, total=whole)

    def say(self, text: str) -> None:
        """Something that is no progress."""
        log_event("note", text)

    def end(self, text: str) -> None:
        """Say the end, with the sums of this start."""
        sums = self._sums
        late, bad = dict(sums.late), dict(sums.bad)
        log_event(
            *("end", text),
            rows=sums.rows,
            results=sums.results,
            results_by_query=dict(sums.queries),
            late_by_stream=late,
            bad_by_stream=bad,
            adapting=sums.account,
        )


@contextmanager
def open_metrics(job: Job, teller: Teller) -> Iterator[None]:
    """Serve and send what the job says, until it is over."""
    served, sent = job.metrics["prometheus"], job.metrics["otel"]
    with ExitStack() as open_ones:
        if served["port"] is not None:
            where = job.at(("metrics", "prometheus"))
            metrics = open_ones.enter_context(ServedMetrics(served["port"], served["host"], where=where))
            teller.say(f"metrics of Prometheus at http://{served['host']}:{metrics.port}/metrics")
        if sent["endpoint"] is not None:
            every = duration(sent["every"], where="every") / MICROSECONDS
            open_ones.enter_context(SentMetrics(sent["endpoint"], every=every, where=job.at(("metrics", "otel"))))
        yield
