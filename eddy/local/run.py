"""The engine without Spark: tests, notebooks, experiments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

import pyarrow as pa

from eddy.clocks import make_work_clock
from eddy.contracts import Clock
from eddy.engine import Engine
from eddy.errors import QueryError, check_whole, quote
from eddy.live_line import LiveLine
from eddy.local.feeds import BATCH_ROWS, Data, open_feeds, peek
from eddy.local.together import RunningTogether, RunTogether, iter_together
from eddy.observe import notebook
from eddy.observe.counters import Counters
from eddy.observe.report import Report
from eddy.observe.text import plural
from eddy.query import Query, Statement
from eddy.query.explain import explain
from eddy.query.inputs import arrange_sources, spread_sources
from eddy.query.together import Queries
from eddy.query.together.queries import LONE
from eddy.tuples.pandas_frames import make_frame

if TYPE_CHECKING:
    from eddy.wiring import IndexChoice, PolicyChoice


class LocalOptions(TypedDict, total=False):
    """What may be said beside a query and its data."""

    policy: PolicyChoice
    index: IndexChoice
    cache_memory: int | None
    batch_rows: int
    seed: int
    clock: Clock | None
    thinking: Clock | None


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


@overload
def run_local(query: Queries, data: Mapping[str, Data], **how: Unpack[LocalOptions]) -> RunTogether: ...


@overload
def run_local(query: Query | Statement, data: Mapping[str, Data], **how: Unpack[LocalOptions]) -> Run: ...


def run_local(  # noqa: PLR0913  what a user may say
    query: Query | Queries | Statement,
    data: Mapping[str, Data],
    *,
    policy: PolicyChoice = "auto",
    index: IndexChoice = None,
    cache_memory: int | None = None,
    batch_rows: int = BATCH_ROWS,
    seed: int = 0,
    clock: Clock | None = None,
    thinking: Clock | None = None,
) -> Run | RunTogether:
    """Answer a query, or a statement, or several queries together, over data at hand.

    `index` says how a join finds its rows: "bits", or {"kind": "bits", "bits": 14}; docs/indexes.md has all kinds.
    `cache_memory` are the most bytes of what joins have found that is kept for others, 64 MB if nothing is said.

    Of several queries the answer has `results` by their names.

    `data` has for each stream, or for its source, a pyarrow Table or RecordBatch or a pandas DataFrame, which is cut
    into micro-batches of `batch_rows` rows, or an iterable of such, each of which is one micro-batch. A lookup table is
    a whole.

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


@overload
def iter_local(query: Queries, data: Mapping[str, Data], **how: Unpack[LocalOptions]) -> RunningTogether: ...


@overload
def iter_local(query: Query | Statement, data: Mapping[str, Data], **how: Unpack[LocalOptions]) -> Running: ...


def iter_local(  # noqa: PLR0913  what a user may say
    query: Query | Queries | Statement,
    data: Mapping[str, Data],
    *,
    policy: PolicyChoice = "auto",
    index: IndexChoice = None,
    cache_memory: int | None = None,
    batch_rows: int = BATCH_ROWS,
    seed: int = 0,
    clock: Clock | None = None,
    thinking: Clock | None = None,
) -> Running | RunningTogether:
    """Answer a query like `run_local`, part by part; of several together each part comes with the name of its query."""
    from eddy import wiring  # noqa: PLC0415  a plug-in that is imported first needs the contracts before the wiring

    _check_arguments(query, data, batch_rows, seed)
    if isinstance(query, Statement):
        policy = query.choose_policy(policy)
        query, data = _read_statement(query, data)
    tools = wiring.Tools(
        clock=clock or time.perf_counter,
        seed=seed,
        cache_memory=cache_memory,
        thinking=thinking or clock or time.thread_time,
        working=clock or make_work_clock(),
    )
    if isinstance(query, Queries):
        return iter_together(query, data, policy, replace(tools, index=wiring.read_index(index)), batch_rows)
    feeds = open_feeds(arrange_sources(query.streams, data), [table.name for table in query.tables], batch_rows)
    begun = wiring.Begun(query=query, schemas=spread_sources(query.streams, feeds.schemas), policy=policy)
    tools = replace(tools, index=wiring.check_index(index, query))
    return Running(wiring.engine_together({LONE: begun}, feeds.tables, tools), feeds.steps, feeds.batches)


def _check_arguments(query: object, data: object, batch_rows: object, seed: object) -> None:
    if not isinstance(query, Query | Queries | Statement):
        raise QueryError(f"run_local: expected a Query(...), a Statement(...) or Queries([...]), got {query!r}")
    if not isinstance(data, Mapping):
        raise QueryError(f'run_local: expected data as {{"stream": table, ...}}, got {type(data).__name__}')
    for name, number, least in (("batch_rows", batch_rows, 1), ("seed", seed, 0)):
        check_whole(number, name, least, where="run_local")


def _read_statement(statement: Statement, data: Mapping[str, Data]) -> tuple[Query, Mapping[str, Data]]:
    """Make the query of a statement, whose bare columns are found in the data."""
    if not statement.tree.is_selection:
        raise QueryError(
            "run_local: the statement has expressions, groups or DISTINCT, which Spark evaluates after the eddy; run "
            "it on Spark, or select columns and compute the rest from the results"
        )
    found = statement.arrange(data)
    # Each is looked at once, since what is iterated over may have one beginning only.
    peeked: dict[int, tuple[list[str], Data]] = {}
    for alias, one in found.items():
        if id(one) not in peeked:
            peeked[id(one)] = peek(alias, one)
    columns = {alias: peeked[id(one)][0] for alias, one in found.items()}
    asked = statement.with_columns(columns)
    if asked.after is not None:
        raise QueryError("run_local: select: two columns have one name; give one of them an alias")
    query = asked.ask(found)
    _check_iterated(query, found)
    return query, {alias: peeked[id(one)][1] for alias, one in found.items()}


def _check_iterated(query: Query, data: Mapping[str, Data]) -> None:
    """Refuse to read twice what is iterated over once."""
    origins = {stream.name: stream.origin for stream in query.streams}
    for one in data.values():
        named = [alias for alias, other in data.items() if other is one]
        if isinstance(one, Iterator) and len({origins.get(alias, alias) for alias in named}) > 1:
            raise QueryError(
                f"data: it is iterated over once, and the statement has it as {quote(named)}; give a list of its "
                "parts, or a table, or say the same of both streams"
            )
