"""One cell: admit, build, route, emit, evict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from eddy import times
from eddy.binding import Binding
from eddy.contracts import Operator, Policy
from eddy.errors import EngineError, QueryError
from eddy.observe import Counters, Statistics
from eddy.router import Clock, Router
from eddy.tuples import RowIds, Tuples


class Store(Protocol):
    """Where the engine keeps the rows of one input."""

    def append(self, rows: pa.RecordBatch) -> RowIds:
        """Keep rows; says under which ids."""

    def take(self, column: str, ids: RowIds) -> pa.Array:
        """The values of a column at some ids."""

    def evict(self) -> None:
        """Let go of the rows that nothing can meet any more."""


class Engine:
    """Answers a query, one micro-batch after the other.

    The same batches, policy and seed give the same routes; the same batches alone give the same answer.
    """

    def __init__(
        self,
        binding: Binding,
        operators: Sequence[Operator],
        stores: Mapping[str, Store],
        policy: Policy,
        *,
        clock: Clock,
        seed: int,
        cell: int = 0,
    ) -> None:
        self._binding = binding
        self._stores = stores
        self._statistics = Statistics()
        self._router = Router(operators, policy, self._statistics, clock)
        self._clock = clock
        self._seed = (seed, cell)
        self._batch = 0
        self._counters: Counters | None = None

    def run(self, batch: Mapping[str, pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Process one micro-batch; the batch is over when the iterator is."""
        started = self._clock()
        admitted = {s.name: self._admit(s.name, s.time, batch[s.name]) for s in self._binding.query.streams}
        arrived = [
            Tuples(self._router.machine.start(name), {name: self._stores[name].append(rows)})
            for name, rows in admitted.items()
        ]
        results = 0
        for done in self._router.route(arrived, np.random.default_rng((*self._seed, self._batch))):
            results += len(done)
            yield self._emit(done)
        for store in self._stores.values():
            store.evict()
        routing = self._router.routing
        self._counters = Counters(
            batch=self._batch,
            rows={name: rows.num_rows for name, rows in batch.items()},
            untimed=sum(batch[name].num_rows - rows.num_rows for name, rows in admitted.items()),
            results=results,
            decisions=routing.decisions,
            seconds=self._clock() - started,
            planning=routing.planning,
            learning=routing.learning,
            operators=routing.operators,
        )
        self._batch += 1

    @property
    def schema(self) -> pa.Schema:
        """The schema of the answer."""
        return self._binding.schema

    def counted(self) -> Counters:
        """What the last micro-batch was, and what it took."""
        if self._counters is None:
            raise EngineError("engine: no micro-batch has been run to its end, so there is nothing to report")
        return self._counters

    def _admit(self, name: str, time: str, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that take part: a row without an event time is inside no window."""
        expected = self._binding.schemas[name]
        if not rows.schema.equals(expected):
            raise QueryError(_difference(name, self._batch, expected, rows.schema))
        _, valid = times.ticks(rows.column(time))
        return rows if valid is None else rows.filter(pa.array(valid))

    def _emit(self, done: Tuples) -> pa.RecordBatch:
        """Only now are the selected columns gathered."""
        columns = [
            self._stores[str(column.stream)].take(column.name, done.ids[str(column.stream)])
            for column, _ in self._binding.outputs
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._binding.schema)


def _difference(name: str, batch: int, expected: pa.Schema, got: pa.Schema) -> str:
    places = [
        f'column "{column}": expected {_type(expected, column)}, got {_type(got, column)}'
        for column in dict.fromkeys((*expected.names, *got.names))
        if _type(expected, column) != _type(got, column)
    ]
    detail = "; ".join(places) or "the columns stand in another order"
    return f'data "{name}": micro-batch {batch} has another schema than the first one: {detail}'


def _type(schema: pa.Schema, column: str) -> str:
    return str(schema.field(column).type) if column in schema.names else "no such column"
