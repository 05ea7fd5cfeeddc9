"""eddy validate: is a job right, without starting Spark."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

import eddy
from eddy.errors import QueryError, quote
from eddy.jobs.commands.command import Command, add_job_arguments, check_job
from eddy.jobs.config.config import Job, write_resolved
from eddy.jobs.run.checking import Checked
from eddy.observe.text import plural


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_job_arguments(parser)
    parser.add_argument("--resolved", action="store_true", help="print every value and where it came from")
    parser.add_argument("--sample", type=int, metavar="N", help="try N rows of each stream, without Spark")


def run(chosen: Namespace) -> int:
    """Say what is wrong, what is odd, or that all is well."""
    found = check_job(chosen)
    job = found.job
    if chosen.resolved:
        print(write_resolved(job))
    for warning in found.warnings:
        print(f"warning: {warning}")
    if chosen.sample is not None:
        print(run_sample(found, chosen.sample))
    filters = {f.name for query in job.queries for f in query.filters}
    parts = {"query": job.members, "stream": job.read_as, "table": job.tables, "filter": filters}
    plurals = {"query": "queries"}
    counts = ", ".join(plural(len(some), kind, plurals.get(kind, "")) for kind, some in parts.items() if some)
    print(f'"{job.file}" is right: {counts}, policy "{job.policy["name"]}"')
    return 0


def run_sample(checked: Checked, rows: int) -> str:
    """Run the first rows of every source in the local engine."""
    if rows < 1:
        raise QueryError(f"--sample: expected a whole number of 1 or more, got {rows}")
    job = checked.job
    sources = {job.read_as.get(name, name): source for name, source in checked.sources.items()}
    found = {n: s.sample(rows if n not in job.tables else ALL_ROWS) for n, s in sources.items()}
    data = {name: sample for name, sample in found.items() if sample is not None}
    if len(data) < len(found):
        missing = quote(name for name in found if name not in data)
        raise QueryError(f"--sample: expected files with rows, or workloads; only Spark can read the rows of {missing}")
    counted = ", ".join(f"{table.num_rows:,} of {name}" for name, table in data.items())
    first, *others = _list_results(job, data)
    return "\n".join([f"sample: {counted}; {first}", *others])


def _list_results(job: Job, data: Mapping[str, pa.Table]) -> Iterator[str]:
    """Answer a job over samples, and write the first results; of several queries, those of each."""
    options: Any = {"policy": job.policy, "index": job.index, "seed": job.engine["seed"]}
    if job.members:
        for name, results in eddy.run_local(job.together, data, **options).results.items():
            yield _show(f'query "{name}": ', results)
    else:
        yield _show("", eddy.run_local(job.query, data, **options).results)


def _show(before: str, results: pa.Table) -> str:
    return f"{before}{plural(results.num_rows, 'result')}\n{results.slice(0, MOST_RESULTS).to_pandas().to_string()}"


ALL_ROWS = 1 << 40
"""Rows of a table that are tried: without the whole of it hardly anything would join."""

MOST_RESULTS = 5
"""Results that are shown."""

COMMAND = Command(arguments=arguments, run=run)
