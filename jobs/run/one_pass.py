"""A job over rows that are all there: one pass, with a bar."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import eddy
from eddy.jobs.config.config import Job
from eddy.jobs.run.calls_saved import tell_savings
from eddy.jobs.run.progress_line import Teller
from eddy.jobs.run.sinks import write_batch
from eddy.jobs.run.stopping import Stop
from eddy.jobs.sources.source import JobSource
from eddy.observe.frame_notes import find_note
from eddy.spark.monitoring import news
from eddy.spark.monitoring.news import BatchNews

POLL_SECONDS = 0.2
"""Seconds between two looks at Spark's tasks: soon for a person, and nothing beside a task."""

STOPPED = "stopped before the pass was over; what a sink shows of it is no answer: start the job again"


def make_batch(spark: SparkSession, source: JobSource) -> DataFrame:
    """Give the rows of a source that are there as a frame."""
    table: Any = source.table(spark)
    return table if isinstance(table, DataFrame) else spark.createDataFrame(table)


def run_once(job: Job, frame: DataFrame, stop: Stop, teller: Teller) -> None:
    """Write the answer, and then what is put aside; what both are taken from is kept meanwhile, if there are both."""
    note = find_note(frame)
    if not job.rejected or note is None or note.judged is None:
        _write_both(job, frame, stop, teller)
        return
    kept = note.judged.persist()
    try:
        _write_both(job, frame, stop, teller)
    finally:
        kept.unpersist()


def _write_both(job: Job, frame: DataFrame, stop: Stop, teller: Teller) -> None:
    if not _write(frame, stop, teller, lambda: write_batch(frame, job)):
        teller.end(STOPPED)
        return
    report = eddy.report_of(frame)
    for counters in report.counters:
        news.tell(BatchNews(query=job.query.name, step="attach", whole=counters))
    for line in tell_savings(job.queries, report):
        teller.say(line)
    if job.rejected:
        aside = eddy.rejected(frame)
        if not _write(aside, stop, teller, lambda: write_batch(aside, job, "rejected")):
            teller.end(STOPPED)
            return
    teller.end(_tell_end(report))


def _write(frame: DataFrame, stop: Stop, teller: Teller, write: Callable[[], None]) -> bool:
    """Write a frame, and tell of Spark's tasks meanwhile; says whether it came to its end."""
    spark, failed = frame.sparkSession, list[BaseException]()
    # A tag of its own, so that nobody else's work in the session is cancelled, and a group, so that none is counted.
    tag = f"eddy-pass-{id(frame)}"

    def work() -> None:
        spark.addTag(tag)
        spark.sparkContext.setJobGroup(tag, "one pass of a job")
        try:
            write()
        except BaseException as error:  # the job's thread raises it
            failed.append(error)
        finally:
            spark.removeTag(tag)

    thread = threading.Thread(target=work, name="eddy-pass", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        teller.show_tasks(*count_tasks(spark, tag))
        if stop.asked:
            spark.interruptTag(tag)
    if stop.asked:
        return False
    if failed:
        raise failed[0]
    return True


def count_tasks(spark: SparkSession, group: str) -> tuple[int, int]:
    """Count the tasks of the stages of a group that are under way: those that are over, and all."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    own = {stage for job in jobs if job is not None for stage in job.stageIds}
    stages = [tracker.getStageInfo(stage) for stage in own.intersection(tracker.getActiveStageIds())]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


def _tell_end(report: eddy.Report) -> str:
    batches = report.batches()
    if batches.empty:
        return "finished: there was nothing to read"
    rows, passed = int(batches["rows"].sum()), int(batches["results"].sum())
    return f"finished: {rows:,} rows came to the eddy, {passed:,} passed"
