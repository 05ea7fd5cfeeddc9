"""Random sets of queries in cells as Spark would call them, without Spark: together cells give the naive answers."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eddy.engine.cell_inputs import CellInputs
from eddy.query import fingerprint
from eddy.query.binding import Binding, bind
from eddy.query.together.queries import QUERY, merge_schemas
from eddy.spark import cell, worker_cache
from eddy.spark.after.beats import Beats
from eddy.spark.layout.layout import Layout
from eddy.spark.layout.planning import plan_layout
from eddy.spark.layout.shared import SharedLayout, StreamLayout
from eddy.spark.parcels import PARCEL_SCHEMA, Naming, pack, rows_of, write
from eddy.spark.shipped import Shipped, ShippedQuery, pack_code
from tests import reference, together
from tests.eddy.spark.test_cell import state
from tests.together import Member, Set


class Cells:
    """The cells of a random set, each of whose queries has a layout of its own."""

    def __init__(self, some: Set, counts: Sequence[int]) -> None:
        self.some = some
        schemas = some.schemas
        self.bindings = {name: self._bind(query, schemas) for name, query in some.queries.items()}
        numbers = dict(zip(self.bindings, counts, strict=False))
        self.layouts = {name: plan_layout(one, numbers[name]) for name, one in self.bindings.items()}
        self.inputs = CellInputs.of(self.bindings)
        self.cells = max(layout.cells for layout in self.layouts.values())
        self.saved: dict[int, Any] = {}
        self.shipped = self._ship()

    @staticmethod
    def _bind(query: Any, schemas: Mapping[str, pa.Schema]) -> Binding:
        origins = {stream.name: stream.origin for stream in query.streams}
        return bind(query, {name: schemas[origins.get(name, name)] for name in query.given})

    def _ship(self) -> Shipped:
        code, functions = pack_code(self.some.queries, "fixed")
        return Shipped(
            token=uuid.uuid4().hex,
            code=code,
            functions=functions,
            queries={name: self._ship_query(one, self.layouts[name]) for name, one in self.bindings.items()},
            tables={name: write(table) for name, table in self.some.tables.items()},
            seed=0,
            flush=5,
            sources={source: [one.name for one in streams] for source, streams in self.inputs.sources.items()},
            columns=self.inputs.schemas,
            answer=merge_schemas({name: one.schema for name, one in self.bindings.items()}),
        )

    @staticmethod
    def _ship_query(one: Binding, layout: Layout) -> ShippedQuery:
        delays = {stream.name: stream.delay_ticks for stream in one.query.streams}
        known = {name: int(delay) for name, delay in delays.items() if delay is not None}
        is_marked = len(known) == len(delays)
        return ShippedQuery(
            schemas=one.schemas,
            parts=fingerprint.of(one),
            layout=layout.describe(),
            ticks_per_ms=int(is_marked),
            beats=Beats(delays=known, ticks_per_ms=1) if is_marked else None,
        )

    def run(self, batch: Mapping[str, pa.RecordBatch]) -> list[pd.DataFrame]:
        """What a micro-batch makes each cell send."""
        packed: list[pa.RecordBatch] = []
        for source, streams in self.inputs.sources.items():
            _, owner, first = streams[0]
            layouts = {name: StreamLayout(self.layouts[query], stream.name) for name, query, stream in streams}
            naming = Naming(SharedLayout(layouts)) if len(streams) > 1 else None
            packed += pack([batch[source]], first, self.layouts[owner], tell=self.cells, naming=naming)
        found = pa.Table.from_batches(packed, PARCEL_SCHEMA).to_pandas()
        sent = []
        for label in found["cell"].unique().tolist():
            held = state(self.saved.get(label))
            sent += list(cell.run(self.shipped, (label,), [found[found["cell"] == label]], held))
            self.saved[label] = held.get
        return sent


def read(sent: Sequence[pd.DataFrame], member: Member, names: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """The results of a query, with its own columns."""
    found: Counter[tuple[Any, ...]] = Counter()
    for frame in sent:
        for payload in frame["payload"]:
            if payload is not None:
                rows = rows_of(payload)
                own = rows.filter(pa.compute.equal(rows.column(QUERY), member.name)).select(names)
                found.update(tuple(map(reference.plain, row.values())) for row in own.to_pylist())
    return found


@settings(max_examples=10)
@given(
    some=together.sets(in_cells=True),
    counts=st.lists(st.integers(1, 6), min_size=6, max_size=6),
    restarts=st.booleans(),
)
def test_cells_give_the_naive_answers_together(some: Set, counts: list[int], restarts: bool) -> None:
    """Each query has other cells, keys and streams; a cell hears how far streams have come of which it gets no row."""
    types: dict[str, pa.DataType] = {}
    for query in some.queries.values():
        one = Cells._bind(query, some.schemas)
        assume(all(types.setdefault(field.name, field.type) == field.type for field in one.schema))
    cells, sent = Cells(some, counts), []
    for number in range(len(some.batches)):
        sent += cells.run(some.read(number))
        if restarts:
            worker_cache.ENGINES.clear()
    for name, member in some.by_name.items():
        expected = some.answer(name, 0, len(some.batches))
        if expected == reference.FAILS:
            continue
        assert read(sent, member, cells.bindings[name].schema.names) == expected, name
