"""Compares policies on a job: its query, a sample of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddy.comparison.compare import Given
from eddy.comparison.contender import BASELINE, Contender
from eddy.comparison.contender import label as label_of
from eddy.comparison.experiment import Experiment
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, quote
from eddy.jobs.comparison.sampling import sample
from eddy.jobs.config.config import Job, load
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import Checked, check, push_filters
from eddy.jobs.run.own_session import own_session
from eddy.jobs.sources.known_columns import find_columns
from eddy.local import BATCH_ROWS, run_local
from eddy.observe.text import plural
from eddy.query import Filter, Query, Stream
from eddy.query.exact_names import spell_query
from eddy.query.inputs import arrange_sources, part_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CORES = 2
"""Cores of the session that reads the sample, if Spark is needed for it."""

SAMPLED_ROWS = 20_000
"""Rows of each stream: enough for a policy to learn from, and some seconds of work for each."""

REPEATS = 3
"""Runs of each policy: the fewest of which an interval says something."""

BASE = "fixed"
"""The policy that the others are compared with: what one has without an eddy."""

OTHERS = (BASE, "auto", "source", "content", "query_mesh")
"""Beside the job's own."""


def experiment(
    conf: str,
    sets: Iterable[str],
    *,
    rows: int = SAMPLED_ROWS,
    policies: Sequence[str] = (),
    repeats: int = REPEATS,
    profile: str | None = None,
) -> tuple[Experiment, str]:
    """Make an experiment of a job, with a note on its sample.

    The file is read and checked as `eddy run` does. Only its sources are read; its sink and its checkpoint are left
    alone. What Spark evaluates before the eddy is evaluated before the comparison.
    """
    for name, number in (("--rows", rows), ("--repeats", repeats)):
        if number < 1:
            raise QueryError(f"{name}: expected a whole number of 1 or more, got {number}")
    job = load(conf, map(from_command, sets), profile, find_columns)
    if job.members:
        raise QueryError(
            f'config "{conf}": a comparison is of one query, got {quote(job.members)}; put one of them into a file of '
            "its own, as [query], and compare that"
        )
    checked = check(job)
    data = read_sample(job, checked, rows)
    counted = ", ".join(f"{plural(table.num_rows, 'row')} of {name}" for name, table in data.items())
    query, data, pushed = _split_job(job, data)
    workload = Workload(name=query.name, query=query, data=arrange_sources(query.streams, data))
    made = Experiment(
        name=query.name,
        points=[Given(given=workload)],
        contenders=contenders(job, policies),
        seeds=[job.engine["seed"]],
        batch_rows=[_batch_rows(job)],
        repeats=repeats,
    )
    return made, f"sample: {counted}{_tell_pushed(pushed)}"


def read_sample(job: Job, checked: Checked, rows: int) -> dict[str, pa.Table]:
    """Read some rows of each stream of a job, and whole tables; Spark starts where a source needs it."""
    try:
        with _Spark(job) as spark:
            return sample(job, checked.sources, rows, spark.session)
    except QueryError as error:
        # Spark and its connectors may say what they were given.
        raise QueryError(f'config "{job.file}": {job.hide(str(error))}') from error


class _Spark:
    """A session that starts when needed, and ends with this."""

    def __init__(self, job: Job) -> None:
        self._settings = job.spark
        self._found: SparkSession | None = None
        self._stack = ExitStack()

    def __enter__(self) -> _Spark:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def session(self) -> SparkSession:
        """Give the session."""
        if self._found is None:
            self._found = self._stack.enter_context(own_session(CORES, **self._settings))
        return self._found


def contenders(job: Job, policies: Sequence[str]) -> list[Contender]:
    """List the baseline, the job's own policy, and others.

    The job's policy has its parameters, and all go by the job's indexes. Who asks for it by name gets it without them
    as well.
    """
    own = dict(job.policy)
    others = [{"name": name} for name in policies or OTHERS if name != BASE and (policies or name != own["name"])]
    baseline = own if own["name"] == BASE else {"name": BASE}
    chosen = {label_of(choice): choice for choice in (baseline, own, *others)}
    return [
        Contender(label=label, role=BASELINE if choice == baseline else "", policy=choice, index=job.index)
        for label, choice in chosen.items()
    ]


def _batch_rows(job: Job) -> int:
    """Choose the rows of a micro-batch.

    They are as many as the job says of any of its streams.
    """
    said = [values.get("per_trigger") for values in job.sources.values()]
    return max((count for count in said if count), default=BATCH_ROWS)


def _split_job(job: Job, data: Mapping[str, pa.Table]) -> tuple[Query, dict[str, pa.Table], list[Filter]]:
    """Split a job into the eddy's part and Spark's filters.

    The eddy gets the query and the rows that are left.
    """
    schemas = {name: table.schema for name, table in data.items()}
    pushed, query = push_filters(job, spell_query(job.query, schemas), schemas)
    if len(query.inputs) == 1 and not query.filters:
        raise QueryError(
            f'config "{job.file}": nothing is left to compare: Spark evaluates all filters in compiled code, before '
            "the eddy; --set engine.pushdown=false leaves them to the eddy"
        )
    passing = {name: _passing(table, name, pushed) for name, table in data.items()}
    # Where Spark's filters are others for each name of a source, the eddy has not the same rows of it.
    return replace(query, streams=part_sources(query.streams, passing)), passing, pushed


def _passing(table: pa.Table, name: str, filters: Sequence[Filter]) -> pa.Table:
    """The rows that filters on one stream let pass, in their order."""
    own = [f.pin(None) for f in filters if f.on == (name,)]
    if not own:
        return table
    place = "place"
    while place in table.schema.names:
        place += "_"
    numbered = table.append_column(place, pa.array(range(table.num_rows), pa.int64()))
    query = Query(streams=[Stream(name, time=place)], filters=own, select=[f"{name}.{place}"])
    found = run_local(query, {name: numbered}, policy=BASE, batch_rows=max(table.num_rows, 1)).results
    return table.take(found.column(0).combine_chunks().sort())


def _tell_pushed(pushed: Sequence[Filter]) -> str:
    told = ", ".join(f'"{f.name}"' for f in pushed)
    return f"; Spark evaluates {told} before the eddy, so that is done before the comparison" if pushed else ""
