"""Builds what a query is answered with: its stored rows, operators, indexes and caches.

The rows of a source are stored once for all queries of a cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import cast

import numpy as np
import pyarrow as pa

from eddy.contracts import Operator, Store
from eddy.engine.cell_inputs import find_tick_type, name_input
from eddy.engine.machinery import Machinery, SourceRows
from eddy.kernels.choice import choose_kernels
from eddy.operators.cache.room import Caches
from eddy.operators.cache.scope import MOST_PARTS, list_parts
from eddy.operators.conditions import Conditions, sort_conditions
from eddy.operators.filter import FilterColumns, FilterOperator
from eddy.operators.joined_indexes import IndexRoom, JoinIndexes
from eddy.operators.matching import Matching
from eddy.operators.passing import Passing
from eddy.operators.registry import OPERATORS
from eddy.operators.shared import SharedRows
from eddy.operators.stem import Stem
from eddy.operators.stored.held import HeldResults
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.tuners import Tuners
from eddy.predicates.faults import Faults
from eddy.query import Filter, Query, Stream
from eddy.query.binding import Binding
from eddy.query.cost import read_tariff
from eddy.query.emit import counts_rows
from eddy.query.existence import SEMI
from eddy.query.join_graph import cached_name, find_near, probe_name, whole_name
from eddy.query.together.queries import LONE
from eddy.tuples.arrow import merge_fields
from eddy.tuples.lineage import Rule
from eddy.tuples.tuples import Appearance

NO_COLUMNS = pa.schema([])


def build_rows(bindings: Mapping[str, Binding]) -> dict[str, SourceRows]:
    """Make the stores of all sources and tables, with the columns that any query reads of each."""
    schemas: dict[str, pa.Schema] = {}
    read: dict[str, set[str]] = {}
    times: dict[str, str | None] = {}
    for binding in bindings.values():
        query = binding.query
        origins = {stream.name: stream.origin for stream in query.streams}
        times |= {stream.origin: stream.time for stream in query.streams}
        for name in query.given:
            origin = origins.get(name, name)
            schemas[origin] = merge_fields([schemas.get(origin, NO_COLUMNS), binding.schemas[name]])
            read.setdefault(origin, set()).update(binding.find_stored(name).names)
    if LONE in bindings and passes(bindings[LONE].query):
        return {name: Passing(_pick(schema, read[name])) for name, schema in schemas.items()}
    tick_type, several = find_tick_type(bindings.values()), LONE not in bindings
    return {
        name: SharedRows(_pick(schema, read[name]), time=times.get(name), tick_type=tick_type, several=several)
        for name, schema in schemas.items()
    }


def _pick(schema: pa.Schema, names: set[str]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name in names])


def store_tables(tables: Mapping[str, pa.RecordBatch], rows: Mapping[str, SourceRows]) -> None:
    """Store the rows of lookup tables, once all queries have said by what they look them up."""
    for name, table in tables.items():
        found = rows[name]
        assert isinstance(found, SharedRows)  # who has a table joins it
        numbers = np.arange(table.num_rows)
        found.append(table, np.zeros(table.num_rows, np.int64), [Appearance(numbers)] * len(found.views))
        found.settle(None)


def passes(query: Query) -> bool:
    """Tell whether a query is over one input, and none of its rows is of use after its micro-batch."""
    return len(query.given) == 1 and not counts_rows(query.emit, query.streams[0])


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Builds what one query of a cell is answered with, over rows that all of them share."""

    name: str
    binding: Binding
    rows: Mapping[str, SourceRows]
    index: IndexSettings
    seed: tuple[int, int]
    caches: Caches
    faults: Faults

    def build(self) -> Machinery:
        """Make the filters, and where inputs are looked up a STeM, a probe, its first phase and caches for each."""
        query, binding, faults = self.binding.query, self.binding, self.faults
        if self.name == LONE and passes(query):
            return self._pass_input()
        # Kernels are compiled before there are rows, so that no operator's seconds have that in them.
        choose_kernels()
        room = IndexRoom(query.max_state)
        stems = self._make_stems(room)
        joins = sort_conditions(query.predicates, binding.types, stems, faults)
        exists = self._make_exists(stems)
        filters = self._make_filters(stems)
        sets = [predicate.inputs for predicate in query.predicates]
        near = {name: find_near(name, query.inputs, sets) for name in query.inputs}
        matching = {name: Matching(name, stems, joins) for name in query.inputs}
        probes = [OPERATORS["probe"](matching[n], Rule(near=near[n], gives=frozenset([n]))) for n in query.inputs]
        meets = [OPERATORS["meets"](matching[n], Rule(near=near[n], lacks=n, optional=True)) for n in query.inputs]
        self.caches.left, self.caches.streams = room.left_by_all, frozenset(s.name for s in query.streams)
        cached = self._make_cached(stems, joins, near)
        catalogs = {name: stem.catalog for name, stem in stems.items()}
        indexes = JoinIndexes(catalogs, Tuners(catalogs, self.index, self.seed), room)
        operators = [*filters, *exists, *probes, *meets, *cached]
        tariff, held = read_tariff(query.filters), self._make_held(stems, room)
        return Machinery(operators, stems, faults, indexes, self.caches, tariff, self.caches.taps, held=held)

    def _pass_input(self) -> Machinery:
        """Filters alone: no row is kept."""
        query = self.binding.query
        (name,), (source,) = query.inputs, query.sources
        store = self.rows[source]
        assert isinstance(store, Passing)  # so `build_rows` has it
        filters = [self._make_filter(f, {name: store}) for f in query.filters]
        sifts, tariff = {one.name: one.sift for one in filters}, read_tariff(query.filters)
        held = self._make_held({name: store})
        return Machinery(filters, {name: store}, self.faults, tariff=tariff, sifts=sifts, held=held)

    def _make_held(self, stores: Mapping[str, Store], room: IndexRoom | None = None) -> HeldResults | None:
        """Make what holds results that are told later, where they are; it comes before indexes in their room."""
        if self.binding.own_time is None:
            return None
        counted = {n: s for n, s in stores.items() if isinstance(s, Stem) and s.counted is not None}
        held = HeldResults(self.binding, stores, counted)
        if room is not None:
            room.count_held = held.count_bytes
        return held

    def _make_stems(self, room: IndexRoom) -> dict[str, Stem]:
        """Make the STeMs of all inputs; those of tables do not count for `max_state`."""
        query = self.binding.query
        numbered = {stream.name for stream in query.streams if counts_rows(query.emit, stream)}
        # Nobody searches the rows of a lone stream, since tables send no tuples; but newer ones may take their places.
        keeps = len(query.streams) > 1 or bool(numbered)
        streams = {s.name: self._make_stem(s, room, numbers=s.name in numbered, keeps=keeps) for s in query.streams}
        room.stems.extend(streams.values())
        tables = {
            t.name: Stem(
                self._find_rows(t.name),
                name=name_input(self.name, t.name),
                filters=self._list_own(t.name),
                index=self.index,
            )
            for t in query.tables
        }
        return {**streams, **tables}

    def _make_stem(self, stream: Stream, room: IndexRoom, *, numbers: bool, keeps: bool) -> Stem:
        """Make the STeM of a stream."""
        horizons = self.binding.horizons
        # A row that waits for newer ones stays until these come, whether it can still be met or not.
        is_bounded = stream.name in horizons and not numbers
        return Stem(
            self._find_rows(stream.origin),
            name=name_input(self.name, stream.name),
            delay=stream.delay_ticks,
            window=stream.window,
            horizon=horizons[stream.name].ticks if is_bounded else None,
            filters=self._list_own(stream.name),
            index=self.index,
            index_room=room.left,
            numbers=numbers,
            keeps=keeps,
        )

    def _find_rows(self, source: str) -> SharedRows:
        found = self.rows[source]
        assert isinstance(found, SharedRows)  # rows that are looked up stay
        return found

    def _list_own(self, name: str) -> list[str]:
        """List the filters over one input alone."""
        return [f.name for f in self.binding.query.filters if f.on == (name,)]

    def _make_filters(self, stems: Mapping[str, Stem]) -> list[Operator]:
        """Make the filters; one over one input remembers what it said of rows that are stored."""
        made: list[Operator] = []
        for f in self.binding.query.filters:
            memory = stems[f.on[0]] if len(f.on) == 1 else None
            if memory is not None and f.definition is not None and self.name != LONE:
                memory.share(f.name, f.definition)
            made.append(self._make_filter(f, stems, memory))
        return made

    def _make_filter(self, asked: Filter, stores: Mapping[str, Store], memory: Stem | None = None) -> FilterOperator:
        judge = asked.make_judge(self.binding.types, self.faults)
        columns = {column: stores[str(column.stream)].column(column.name) for column in asked.predicate.columns}
        times = {
            stream.name: (stream.time, stores[stream.name].column(stream.time))
            for stream in self.binding.query.streams
            if stream.name in asked.on and stream.time
        }
        reading = FilterColumns(asked.on, columns, times, asked.after or ())
        # Beside the contract of an operator it judges row numbers alone, for sieves.
        return cast("FilterOperator", OPERATORS["filter"](asked.name, judge, reading, memory))

    def _make_exists(self, stems: Mapping[str, Stem]) -> list[Operator]:
        """Make an operator for each table that is asked for a match; no other searches that table."""
        asked = self.binding.query.existence
        sorted_out = [sort_conditions(one.conditions, self.binding.types, stems, self.faults) for one in asked]
        return [
            OPERATORS["exists"](
                one.name, Matching(one.table, stems, own), Rule(needs=one.needs), keeps=one.kind == SEMI
            )
            for one, own in zip(asked, sorted_out, strict=True)
        ]

    def _make_cached(
        self, stems: Mapping[str, Stem], joins: Conditions, near: Mapping[str, frozenset[frozenset[str]]]
    ) -> list[Operator]:
        """Make the operators for each part of the join that can be cached, or kept whole."""
        query = self.binding.query
        parts = islice(list_parts(query.inputs, [s.name for s in query.streams], near, joins), MOST_PARTS)
        made: dict[str, Operator] = {}
        for part, before in parts:
            rule = Rule(near=before, gives=part, does=frozenset(map(probe_name, part)), optional=True)
            for kind, name in (("cached", cached_name(part)), ("whole", whole_name(part))):
                # Names of inputs may make two parts be called the same, or as a filter: the second does without.
                if name not in made and name not in {f.name for f in query.filters}:
                    made[name] = OPERATORS[kind](part, stems, joins, rule, self.caches)
        return list(made.values())
