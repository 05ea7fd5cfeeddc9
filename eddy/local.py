"""The engine without Spark: tests, notebooks, experiments."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import pyarrow as pa

from eddy.clocks import make_work_clock
from eddy.contracts import Clock
from eddy.engine import Engine
from eddy.errors import QueryError, check_whole, quote, read_message
from eddy.live_line import LiveLine
from eddy.observe import notebook
from eddy.observe.counters import Counters
from eddy.observe.report import Report
from eddy.observe.text import plural
from eddy.query import Query, Statement
from eddy.query.explain import explain
from eddy.sql.values.name_case import fold_case
from eddy.tuples.arrow import no_rows, one_batch
from eddy.tuples.pandas_frames import is_frame, make_frame

BATCH_ROWS = 10_000
"""Rows of each stream in a micro-batch: enough that the cost of a call into an operator is small beside its work."""

if TYPE_CHECKING:
    import pandas as pd

    from eddy.wiring import IndexChoice, PolicyChoice

Data: TypeAlias = "pa.Table | pa.RecordBatch | pd.DataFrame | Iterable[Any]"
"""A whole input, to be cut into micro-batches; or an iterable of them, each taken as it comes."""


@dataclass(frozen=True)
class Run:
    """An answer and the report of how it came about."""

    results: pa.Table
    report: Report

    def __repr__(self) -> str:
        return f"Run({self.results.num_rows:,} results, {self.report!r})"

    def _repr_html_(self) -> str:
        first = self.results.slice(0, notebook.MOST_NOTE_ROWS)
        rows = make_frame(first.to_pylist(), first.schema.names, as_objects=True)
        few = "" if len(first) == len(self.results) else f", the first {len(first)}"
        title = f"{plural(self.results.num_rows, 'result')}{few}"
        told = notebook.folded("explained", notebook.preformatted(explain(self)))
        return f"{notebook.heading(title)}{notebook.table(rows)}{self.report._repr_html_()}{told}"


class Running:
    """A run under way: an iterator over its results.

    Results come in parts of bounded size, as they are found. `report` tells of the micro-batches that are over.
    """

    def __init__(
        self, engine: Engine, batches: Iterator[Mapping[str, pa.RecordBatch]], most: int | None = None
    ) -> None:
        self._counters: list[Counters] = []
        self._most = most
        self._line: LiveLine | None = None
        self._engine = engine
        self._parts = self._run(batches)
        self.report = Report(self._counters)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the answer."""
        return self._engine.schema

    def run(self, *, quiet: bool = False) -> Run:
        """Collect what is left of the answer; a notebook shows how far it is, unless it is to be quiet."""
        self._line = None if quiet else LiveLine()
        return Run(pa.Table.from_batches(self, schema=self.schema), self.report)

    def __iter__(self) -> Running:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._parts)

    def _run(self, batches: Iterator[Mapping[str, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from self._engine.run(batch)
            self._counters.append(self._engine.read_counters())
            if self._line is not None and self._line.is_live:
                self._line.show(self._tell, last=len(self._counters) == self._most)

    def _tell(self) -> str:
        """Say how many micro-batches are over, of how many where that is known."""
        rows = sum(count.rows for counters in self._counters for count in counters.streams.values())
        results = sum(counters.results for counters in self._counters)
        done = f"{len(self._counters):,} of {self._most:,}" if self._most else f"{len(self._counters):,}"
        return f"micro-batch {done}: {plural(rows, 'row')}, {plural(results, 'result')}"


def run_local(  # noqa: PLR0913  what a user may say
    query: Query | Statement,
    data: Mapping[str, Data],
    *,
    policy: PolicyChoice = "auto",
    index: IndexChoice = None,
    cache_memory: int | None = None,
    batch_rows: int = BATCH_ROWS,
    seed: int = 0,
    clock: Clock | None = None,
    thinking: Clock | None = None,
) -> Run:
    """Answer a query, or a statement, over data at hand.

    `index` says how a join finds its rows: "bits", or {"kind": "bits", "bits": 14}; docs/indexes.md has all kinds.
    `cache_memory` are the most bytes of what joins have found that is kept for others, 64 MB if nothing is said.

    `data` has for each stream a pyarrow Table or RecordBatch or a pandas DataFrame, which is cut into micro-batches
    of `batch_rows` rows, or an iterable of such, each of which is one micro-batch. A lookup table is a whole.

    `clock` says what steps and micro-batches take, and `thinking` what policies do: the time of day, less what steps
    have waited for their turn on a busy machine, and the time for which this thread was at work. Policies go by a
    `clock` that is given as well, unless `thinking` is given too.
    """
    return iter_local(
        query,
        data,
        policy=policy,
        index=index,
        cache_memory=cache_memory,
        batch_rows=batch_rows,
        seed=seed,
        clock=clock,
        thinking=thinking,
    ).run()


def iter_local(  # noqa: PLR0913  what a user may say
    query: Query | Statement,
    data: Mapping[str, Data],
    *,
    policy: PolicyChoice = "auto",
    index: IndexChoice = None,
    cache_memory: int | None = None,
    batch_rows: int = BATCH_ROWS,
    seed: int = 0,
    clock: Clock | None = None,
    thinking: Clock | None = None,
) -> Running:
    """Answer a query like `run_local`, part by part."""
    from eddy import wiring  # noqa: PLC0415  a plug-in that is imported first needs the contracts before the wiring

    _check_arguments(query, data, batch_rows, seed)
    if isinstance(query, Statement):
        policy = query.choose_policy(policy)
        query, data = _read_statement(query, data)
    lookup = {table.name for table in query.tables}
    tables = {name: one_batch(name, make_table(name, value)) for name, value in data.items() if name in lookup}
    feeds = {name: _feed(name, value, batch_rows) for name, value in data.items() if name not in lookup}
    first = {name: next(feed, None) for name, feed in feeds.items()}
    schemas = {name: _read_schema(name, table) for name, table in first.items()}
    settings = wiring.check_index(index, query)
    thinking = thinking or clock or time.thread_time
    engine = wiring.engine(
        query,
        schemas,
        policy,
        tables=tables,
        clock=clock or time.perf_counter,
        seed=seed,
        index=settings,
        cache_memory=cache_memory,
        thinking=thinking,
        working=clock or make_work_clock(),
    )
    steps = _step_together({name: _chain(first[name], feed) for name, feed in feeds.items()}, schemas)
    return Running(engine, steps, _count_batches([data[name] for name in feeds], batch_rows))


def _count_batches(whole: Iterable[Data], batch_rows: int) -> int | None:
    """Count the micro-batches of inputs that are there as a whole; of others nobody knows."""
    counts = [max(1, -(-len(one) // batch_rows)) if _is_whole(one) else None for one in whole]
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) else None


def _is_whole(data: Data) -> TypeGuard[pa.Table]:
    return isinstance(data, pa.Table | pa.RecordBatch) or is_frame(data)


def _check_arguments(query: object, data: object, batch_rows: object, seed: object) -> None:
    if not isinstance(query, Query | Statement):
        raise QueryError(f"run_local: expected a Query(...) or a Statement(...), got {query!r}")
    if not isinstance(data, Mapping):
        raise QueryError(f'run_local: expected data as {{"stream": table, ...}}, got {type(data).__name__}')
    for name, number, least in (("batch_rows", batch_rows, 1), ("seed", seed, 0)):
        check_whole(number, name, least, where="run_local")


def _read_schema(name: str, first: pa.Table | None) -> pa.Schema:
    if first is None:
        raise QueryError(f'data "{name}": expected at least one micro-batch, to learn the columns from; got none')
    return first.schema


def _read_statement(statement: Statement, data: Mapping[str, Data]) -> tuple[Query, Mapping[str, Data]]:
    """Make the query of a statement, whose bare columns are found in the data."""
    if not statement.tree.is_selection:
        raise QueryError(
            "run_local: the statement has expressions, groups or DISTINCT, which Spark evaluates after the eddy; run "
            "it on Spark, or select columns and compute the rest from the results"
        )
    for name, one in data.items():
        named = [alias for alias, source in statement.sources.items() if fold_case(source) == fold_case(name)]
        if len(named) > 1 and isinstance(one, Iterator):
            raise QueryError(
                f'data "{name}": it is iterated over once, and the statement has it as {quote(named)}; give a list of '
                "its parts, or a table"
            )
    given = {alias: _peek(alias, one) for alias, one in statement.arrange(data).items()}
    columns = {alias: names for alias, (names, _) in given.items()}
    asked = statement.with_columns(columns)
    if asked.after is not None:
        raise QueryError("run_local: select: two columns have one name; give one of them an alias")
    return asked.query, {alias: one for alias, (_, one) in given.items()}


def _peek(name: str, data: Data) -> tuple[list[str], Data]:
    """Look at the columns of an input; what is iterated over is given back whole."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return data.schema.names, data
    if is_frame(data):
        return [*data.columns], data
    if not isinstance(data, Iterable) or isinstance(data, str | bytes | Mapping):
        raise QueryError(_describe_unfit(name, data))
    parts = iter(data)
    first = next(parts, None)
    return [] if first is None else make_table(name, first).schema.names, chain([] if first is None else [first], parts)


def _feed(name: str, data: Data, batch_rows: int) -> Iterator[pa.Table]:
    """Cut one input into micro-batches."""
    if _is_whole(data):
        table = make_table(name, data)
        for start in range(0, max(table.num_rows, 1), batch_rows):
            yield table.slice(start, batch_rows)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        for part in data:
            yield make_table(name, part)
    else:
        raise QueryError(_describe_unfit(name, data))


def make_table(name: str, data: object) -> pa.Table:
    """Turn an input that is there as a whole into a table."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if is_frame(data):
        try:
            return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)
        except (pa.ArrowException, ValueError) as error:
            raise QueryError(
                f'data "{name}": the DataFrame does not fit into Arrow columns: {read_message(error)}'
            ) from error
    raise QueryError(_describe_unfit(name, data))


def _describe_unfit(name: str, data: object) -> str:
    return (
        f'data "{name}": expected a pyarrow Table or RecordBatch, a pandas DataFrame, or an iterable of them, '
        f"got {type(data).__name__}"
    )


def _chain(first: pa.Table | None, rest: Iterator[pa.Table]) -> Iterator[pa.Table | None]:
    yield first
    yield from rest


def _step_together(
    feeds: Mapping[str, Iterator[pa.Table | None]], schemas: Mapping[str, pa.Schema]
) -> Iterator[dict[str, pa.RecordBatch]]:
    """Give one micro-batch of every input at a time.

    An input that has ended goes on with no rows.
    """
    for tables in zip_longest(*feeds.values()):
        yield {
            name: no_rows(schemas[name]) if table is None else one_batch(name, table)
            for name, table in zip(feeds, tables, strict=True)
        }
