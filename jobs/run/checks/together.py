"""Checks of what queries of a job have together: times, columns, a sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eddy.errors import QueryError, unknown_name
from eddy.jobs.config.config import Job
from eddy.query.binding import Binding
from eddy.query.together.queries import check_clocks, merge_schemas


def check_together(job: Job, bindings: Mapping[str, Binding | None]) -> None:
    """Check what can be said once the columns of all queries are known."""
    _check_weights(job)
    known = {name: binding for name, binding in bindings.items() if binding is not None}
    # One after the other, so that an error is told of the first query that does not fit.
    for size, name in enumerate(known, 1):
        first = dict([*known.items()][:size])
        try:
            check_clocks(first)
            merge_schemas({one: binding.schema for one, binding in first.items()})
        except QueryError as error:
            job.mistakes.add(("queries", name), str(error).removeprefix("queries: "))
            return
    if known and len(known) == len(bindings):
        check_sink_columns(job, merge_schemas({name: binding.schema for name, binding in known.items()}).names)


def _check_weights(job: Job) -> None:
    """Check that sizes and heavy values are of streams that some query has: others divide no work."""
    known = {stream.name for query in job.queries for stream in query.streams}
    for kind in ("sizes", "heavy"):
        for name in job.engine[kind]:
            if name.partition(".")[0] not in known and not job.mistakes.has_within(("engine", kind, name)):
                job.mistakes.add(("engine", kind, name), "no query reads this stream; leave it out")


def check_sink_columns(job: Job, columns: Sequence[str]) -> None:
    """Check that the columns of the answer are there that the sink names.

    They are unknown where Spark makes them of those of the answer.
    """
    if job.sink.get("select"):
        return
    for key in ("key", "partition_by"):
        asked = job.sink.get(key) or []
        for name in [asked] if isinstance(asked, str) else asked:
            if name not in columns:
                job.mistakes.add(("sink", key), str(unknown_name("output column", name, columns, where="sink")))
