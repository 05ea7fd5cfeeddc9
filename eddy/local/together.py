"""Several queries answered together, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from eddy.engine import Engine
from eddy.live_line import LiveLine
from eddy.local.feeds import Data, open_feeds
from eddy.observe import notebook
from eddy.observe.counters import Counters
from eddy.observe.text import plural
from eddy.query.inputs import spread_sources
from eddy.query.together import Queries
from eddy.query.together.report import ReportTogether

if TYPE_CHECKING:
    from eddy.wiring import PolicyChoice, Tools


@dataclass(frozen=True)
class RunTogether:
    """The answers of several queries by their names, and the report of how they came about."""

    results: Mapping[str, pa.Table]
    report: ReportTogether

    def __repr__(self) -> str:
        found = ", ".join(f"{name}: {plural(rows.num_rows, 'result')}" for name, rows in self.results.items())
        return f"RunTogether({found})"

    def _repr_html_(self) -> str:
        return f"{notebook.heading(repr(self))}{self.report._repr_html_()}"


class RunningTogether:
    """A run of several queries under way: an iterator over results, each part with the name of its query."""

    def __init__(
        self, engine: Engine, batches: Iterator[Mapping[str, pa.RecordBatch]], most: int | None = None
    ) -> None:
        self._engine, self._most = engine, most
        self._line: LiveLine | None = None
        self._counters: dict[str, list[Counters]] = {name: [] for name in engine.lanes}
        self._parts = self._run(batches)

    @property
    def report(self) -> ReportTogether:
        """The report of the micro-batches that are over."""
        return ReportTogether.of(self._counters)

    @property
    def schemas(self) -> Mapping[str, pa.Schema]:
        """The schema of each answer."""
        return {name: lane.binding.schema for name, lane in self._engine.lanes.items()}

    def run(self, *, quiet: bool = False) -> RunTogether:
        """Collect what is left of the answers; a notebook shows how far they are, unless it is to be quiet."""
        self._line = None if quiet else LiveLine()
        found: dict[str, list[pa.RecordBatch]] = {name: [] for name in self._engine.lanes}
        for name, rows in self:
            found[name].append(rows)
        schemas = self.schemas
        results = {name: pa.Table.from_batches(parts, schema=schemas[name]) for name, parts in found.items()}
        return RunTogether(results, self.report)

    def __iter__(self) -> RunningTogether:
        return self

    def __next__(self) -> tuple[str, pa.RecordBatch]:
        return next(self._parts)

    def _run(self, batches: Iterator[Mapping[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for number, batch in enumerate(batches, 1):
            yield from self._engine.run_each(batch)
            for name, counters in self._engine.read_each().items():
                self._counters[name].append(counters)
            if self._line is not None and self._line.is_live:
                self._line.show(partial(self._tell, number), last=number == self._most)

    def _tell(self, number: int) -> str:
        """Say how many micro-batches are over, of how many where that is known."""
        results = sum(c.results for counters in self._counters.values() for c in counters)
        done = f"{number:,} of {self._most:,}" if self._most else f"{number:,}"
        return f"micro-batch {done}: {plural(len(self._counters), 'query', 'queries')}, {plural(results, 'result')}"


def iter_together(
    queries: Queries, data: Mapping[str, Data], policy: PolicyChoice, tools: Tools, batch_rows: int
) -> RunningTogether:
    """Answer queries over data at hand, part by part."""
    from eddy import wiring  # noqa: PLC0415  a plug-in that is imported first needs the contracts before the wiring

    feeds = open_feeds(queries.arrange(data), queries.tables, batch_rows)
    begun = {}
    for query in queries.members:
        schemas = spread_sources(query.streams, {name: feeds.schemas[name] for name in query.sources})
        begun[query.name] = wiring.Begun(query=query, schemas=schemas, policy=policy)
    return RunningTogether(wiring.engine_together(begun, feeds.tables, tools), feeds.steps, feeds.batches)
