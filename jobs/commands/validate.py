"""eddy validate: is a job right, without starting Spark."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import eddy
from eddy.errors import QueryError, quote
from eddy.jobs.commands.command import Command, add_job_arguments, check_job
from eddy.jobs.config.config import write_resolved
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
    query = job.query
    parts = {"stream": query.streams, "table": query.tables, "filter": query.filters}
    counts = ", ".join(plural(len(some), kind) for kind, some in parts.items() if some)
    print(f'"{job.file}" is right: {counts}, policy "{job.policy["name"]}"')
    return 0


def run_sample(checked: Checked, rows: int) -> str:
    """Run the first rows of every source in the local engine."""
    if rows < 1:
        raise QueryError(f"--sample: expected a whole number of 1 or more, got {rows}")
    job = checked.job
    tables = {table.name for table in job.query.tables}
    origins = {stream.name: stream.origin for stream in job.query.streams}
    sources = {origins.get(name, name): source for name, source in checked.sources.items()}
    found = {n: s.sample(rows if n not in tables else ALL_ROWS) for n, s in sources.items()}
    data = {name: sample for name, sample in found.items() if sample is not None}
    if len(data) < len(found):
        missing = quote(name for name in found if name not in data)
        raise QueryError(f"--sample: expected files with rows, or workloads; only Spark can read the rows of {missing}")
    done = eddy.run_local(job.query, data, policy=job.policy, index=job.index, seed=job.engine["seed"])
    counted = ", ".join(f"{table.num_rows:,} of {name}" for name, table in data.items())
    shown = done.results.slice(0, MOST_RESULTS).to_pandas().to_string()
    return f"sample: {counted}; {plural(done.results.num_rows, 'result')}\n{shown}"


ALL_ROWS = 1 << 40
"""Rows of a table that are tried: without the whole of it hardly anything would join."""

MOST_RESULTS = 5
"""Results that are shown."""

COMMAND = Command(arguments=arguments, run=run)
