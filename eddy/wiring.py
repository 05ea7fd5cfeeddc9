"""The composition root: it makes an engine of a query.

The only file of the engine that sees concrete operators and policies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import cast

import numpy as np
import pyarrow as pa

from eddy.classes.classifier import can_classify
from eddy.contracts import Clock, Operator, Setting, Store
from eddy.engine import Engine
from eddy.engine.machinery import Machinery
from eddy.errors import check_choice, check_whole, warn
from eddy.kernels.choice import choose_kernels
from eddy.observe.prices import Prices
from eddy.operators.cache.room import DEFAULT_MEMORY, Caches
from eddy.operators.cache.scope import MOST_PARTS, list_parts
from eddy.operators.conditions import Conditions, sort_conditions
from eddy.operators.filter import FilterColumns, FilterOperator
from eddy.operators.joined_indexes import IndexRoom, JoinIndexes
from eddy.operators.matching import Matching
from eddy.operators.passing import Passing
from eddy.operators.registry import OPERATORS
from eddy.operators.shared import SharedRows
from eddy.operators.stem import Stem
from eddy.operators.stored import pages
from eddy.operators.stored.held import HeldResults
from eddy.operators.tuning import settings as index_settings
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.tuners import Tuners
from eddy.policies import choice as policies
from eddy.predicates.faults import Faults
from eddy.query import Filter, Query
from eddy.query.binding import Binding, bind
from eddy.query.cost import read_tariff
from eddy.query.emit import counts_rows
from eddy.query.existence import SEMI
from eddy.query.join_graph import cached_name, find_near, probe_name, whole_name
from eddy.query.pushed_filter import PushedFilter
from eddy.query.state_need import CACHE_STATES, FORGET, KEEP
from eddy.sql import Column
from eddy.tuples.lineage import Rule
from eddy.tuples.tuples import Appearance

PolicyChoice = policies.PolicyChoice
make_policy = policies.make_policy
check_policy = policies.check_policy
policy_parameters = policies.policy_parameters
policy_names = policies.policy_names
list_policies = policies.list_policies
policy_name = policies.policy_name
depends_on_time = policies.depends_on_time
"""What others may know of the policies that a user chooses."""

IndexChoice = index_settings.IndexChoice
"""A kind of indexes, "bits"; a kind with its keys, {"kind": "bits", "bits": 14}; or all settings."""

read_index = index_settings.read_index
find_index_mistakes = index_settings.find_mistakes
list_index_defaults = index_settings.list_defaults
INDEX_NAMES = index_settings.CHOICES
"""What others may know of the indexes that a user chooses."""

count_stored = pages.count_values
"""What others may know of rows that are written down."""


def engine(  # noqa: PLR0913  all that a cell is made of, most of it by keyword
    query: Query,
    schemas: Mapping[str, pa.Schema],
    policy: PolicyChoice,
    *,
    tables: Mapping[str, pa.RecordBatch],
    clock: Clock,
    seed: int,
    cell: int = 0,
    cells: int = 1,
    parts: Mapping[str, str] | None = None,
    pushed: Sequence[PushedFilter] = (),
    index: IndexChoice = None,
    cache_memory: int | None = None,
    cache_state: str | None = None,
    thinking: Clock | None = None,
    working: Clock | None = None,
) -> Engine:
    """Build the engine of one cell.

    `schemas` are those of the streams. `parts` are what its state depends on, where that is more than the query says,
    and `pushed` which filters rows have passed before. `thinking` is the clock of a policy, `working` that of steps.
    """
    binding = bind(query, {**schemas, **{name: table.schema for name, table in tables.items()}})
    caches = Caches(check_memory(cache_memory), working or clock, keep=check_cache_state(cache_state) == KEEP)
    made = _build_machinery(binding, tables, Faults(values=query.show_values), read_index(index), (seed, cell), caches)
    setting = _setting(binding, thinking or clock, cells, [o.name for o in made.operators if o.rule.optional])
    return Engine(
        binding,
        made,
        make_policy(policy, setting),
        setting.prices,
        policy_name=policy_name(policy),
        clock=clock,
        working=working or clock,
        seed=(seed, cell),
        parts=parts,
        pushed=pushed,
        by_clock=depends_on_time(policy),
    )


def check_index(choice: IndexChoice, query: Query) -> IndexSettings:
    """Read what a user chose; warn where it says nothing, since nothing is joined."""
    settings = read_index(choice)
    if choice is not None and (text := describe_idle_index(query)):
        warn(text)
    return settings


def check_memory(memory: int | None) -> int:
    """Check the bytes that caches may occupy; None stands for what they have if nobody says anything.

    >>> check_memory(-1)
    Traceback (most recent call last):
    eddy.errors.QueryError: cache_memory: expected a whole number of 0 or more, got -1
    """
    return DEFAULT_MEMORY if memory is None else check_whole(memory, "cache_memory", 0)


def check_cache_state(state: str | None) -> str:
    """Check what becomes of caches in a restart; None stands for what does if nobody says anything.

    >>> check_cache_state("kept")
    Traceback (most recent call last):
    eddy.errors.QueryError: caches: unknown cache_state "kept"; did you mean "keep"? known: "forget", "keep"
    """
    if state is not None:
        check_choice(state, CACHE_STATES, "cache_state", where="caches")
    return state or FORGET


def describe_idle_index(query: Query) -> str:
    """Say that a query has no use for a choice of indexes, or nothing."""
    if query.predicates:
        return ""
    return f'query "{query.name}": it joins nothing, so there are no indexes; take "index" away, it says nothing'


def list_read_columns(
    query: Query, schemas: Mapping[str, pa.Schema], policy: PolicyChoice, clock: Clock
) -> dict[str, pa.Schema]:
    """List the columns of each stream and table that an engine would read.

    A column is read to answer the query, to admit rows, or to tell them apart. Mistakes in the texts of joins and
    filters, and in the policy's parameters, are the errors that building an engine would raise.
    """
    binding = bind(query, schemas)
    for condition in binding.query.conditions:
        condition.condition(binding.types)
    for f in binding.query.filters:
        f.bind(binding.types)
    features = make_policy(policy, _setting(binding, clock)).features
    # A table of which nothing is read still has rows to join: a column has to say how many.
    found = {name: pa.schema([*binding.find_stored(name)] or [*schema][:1]) for name, schema in schemas.items()}
    for streams in binding.query.sources.values():
        # The rows of a source are read once, with what is read under any of its names.
        schema = schemas[streams[0].name]
        read = {*binding.find_stored(streams[0].name).names, streams[0].malformed, streams[0].arrived}
        read |= {schema.field(one.column.name).name for stream in streams for one in features.of(stream.name)}
        found |= dict.fromkeys(
            (stream.name for stream in streams), pa.schema([field for field in schema if field.name in read])
        )
    return found


def _setting(binding: Binding, thinking: Clock, cells: int = 1, options: Sequence[str] = ()) -> Setting:
    """Write what a policy may know of a query.

    It is the operators, and the columns that can tell rows apart.
    """
    query = binding.query
    probes = [probe_name(name) for name in query.inputs] if len(query.inputs) > 1 else []
    columns = [Column(s.name, f.name) for s in query.streams for f in binding.schemas[s.name] if can_classify(f.type)]
    streams = {s.name for s in query.streams}
    stored = {Column(s.name, column) for s in query.streams for column in binding.find_stored(s.name).names}
    setting = Setting(
        operators=(*(f.name for f in query.filters), *(one.name for one in query.existence), *probes),
        columns=tuple(columns),
        reads=frozenset(stored.intersection(columns)),
        sql_reads={f.name: frozenset(f.predicate.columns) for f in query.filters if f.where is not None},
        prices=Prices(probes),
        judged={f.name: f.on[0] for f in query.filters if probes and len(f.on) == 1 and f.on[0] in streams},
        make=lambda choice, offered: make_policy(policies.offer(choice, offered), setting),
        cells=cells,
        clock=thinking,
        options=tuple(options),
    )
    return setting


def _pass_input(binding: Binding, faults: Faults) -> Machinery:
    """Filters alone: no row is kept."""
    (name,) = binding.query.inputs
    (source,) = binding.query.sources
    store = Passing(binding.find_stored(name))
    filters = [_filter(f, binding, {name: store}, faults) for f in binding.query.filters]
    sifts, tariff = {one.name: one.sift for one in filters}, read_tariff(binding.query.filters)
    held = _make_held(binding, {name: store})
    return Machinery(filters, {name: store}, {source: store}, faults, tariff=tariff, sifts=sifts, held=held)


def _make_held(binding: Binding, stores: Mapping[str, Store], room: IndexRoom | None = None) -> HeldResults | None:
    """Make what holds results that are told later, where they are; it comes before indexes in their room."""
    if binding.own_time is None:
        return None
    counted = {n: s for n, s in stores.items() if isinstance(s, Stem) and s.counted is not None}
    held = HeldResults(binding, stores, counted)
    if room is not None:
        room.count_held = held.count_bytes
    return held


def _build_machinery(
    binding: Binding,
    tables: Mapping[str, pa.RecordBatch],
    faults: Faults,
    index: IndexSettings,
    seed: tuple[int, int],
    caches: Caches,
) -> Machinery:
    """Make the filters, and where inputs are looked up a STeM, a probe, its first phase and caches for each."""
    query = binding.query
    if len(query.given) == 1 and not counts_rows(query.emit, query.streams[0]):
        return _pass_input(binding, faults)
    # Kernels are compiled before there are rows, so that no operator's seconds have that in them.
    choose_kernels()
    room = IndexRoom(query.max_state)
    stems = _make_stems(binding, index, room)
    joins = sort_conditions(query.predicates, binding.types, stems, faults)
    exists = _make_exists(binding, stems, faults)
    for name, table in tables.items():
        arrivals = np.arange(table.num_rows)
        stems[name].rows.append(table, np.zeros(table.num_rows, np.int64), [Appearance(arrivals)])
        stems[name].rows.settle(None)
    filters = _make_filters(binding, stems, faults)
    sets = [predicate.inputs for predicate in query.predicates]
    near = {name: find_near(name, query.inputs, sets) for name in query.inputs}
    matching = {name: Matching(name, stems, joins) for name in query.inputs}
    probes = [OPERATORS["probe"](matching[n], Rule(near=near[n], gives=frozenset([n]))) for n in query.inputs]
    meets = [OPERATORS["meets"](matching[n], Rule(near=near[n], lacks=n, optional=True)) for n in query.inputs]
    caches.left, caches.streams = room.left_by_all, frozenset(s.name for s in query.streams)
    cached = _make_cached(query, stems, joins, near, caches)
    catalogs = {name: stem.catalog for name, stem in stems.items()}
    indexes = JoinIndexes(catalogs, Tuners(catalogs, index, seed), room)
    operators = [*filters, *exists, *probes, *meets, *cached]
    rows = {s.origin: stems[s.name].rows for s in query.streams} | {t.name: stems[t.name].rows for t in query.tables}
    tariff, held = read_tariff(query.filters), _make_held(binding, stems, room)
    return Machinery(operators, stems, rows, faults, indexes, caches, tariff, caches.taps, held=held)


def _make_filters(binding: Binding, stems: Mapping[str, Stem], faults: Faults) -> list[Operator]:
    """Make the filters; one over one input remembers what it said of rows that are stored."""
    filters = binding.query.filters
    memories = [stems[f.on[0]] if len(f.on) == 1 else None for f in filters]
    return [_filter(f, binding, stems, faults, m) for f, m in zip(filters, memories, strict=True)]


def _make_exists(binding: Binding, stems: Mapping[str, Stem], faults: Faults) -> list[Operator]:
    """Make an operator for each table that is asked for a match; no other searches that table."""
    asked = binding.query.existence
    sorted_out = [sort_conditions(one.conditions, binding.types, stems, faults) for one in asked]
    return [
        OPERATORS["exists"](one.name, Matching(one.table, stems, own), Rule(needs=one.needs), keeps=one.kind == SEMI)
        for one, own in zip(asked, sorted_out, strict=True)
    ]


def _make_cached(
    query: Query,
    stems: Mapping[str, Stem],
    joins: Conditions,
    near: Mapping[str, frozenset[frozenset[str]]],
    caches: Caches,
) -> list[Operator]:
    """Make the operators for each part of the join that can be cached, or kept whole."""
    parts = islice(list_parts(query.inputs, [s.name for s in query.streams], near, joins), MOST_PARTS)
    made: dict[str, Operator] = {}
    for part, before in parts:
        rule = Rule(near=before, gives=part, does=frozenset(map(probe_name, part)), optional=True)
        for kind, name in (("cached", cached_name(part)), ("whole", whole_name(part))):
            # Names of inputs may make two parts be called the same, or as a filter: the second does without.
            if name not in made and name not in {f.name for f in query.filters}:
                made[name] = OPERATORS[kind](part, stems, joins, rule, caches)
    return list(made.values())


def _make_stems(binding: Binding, index: IndexSettings, room: IndexRoom) -> dict[str, Stem]:
    """Make the STeMs of all inputs; those of tables do not count for `max_state`."""
    query = binding.query
    own = {name: [f.name for f in query.filters if f.on == (name,)] for name in query.given}
    numbered = {stream.name for stream in query.streams if counts_rows(query.emit, stream)}
    # Nobody searches the rows of a single stream, since tables send no tuples; but newer ones may take their places.
    keeps = len(query.streams) > 1 or bool(numbered)
    rows = {
        source: SharedRows(
            binding.find_stored(streams[0].name), time=streams[0].time, tick_type=binding.tick_type, keeps=keeps
        )
        for source, streams in query.sources.items()
    }
    streams = {
        s.name: Stem(
            rows[s.origin],
            name=s.name,
            delay=s.delay_ticks,
            window=s.window,
            # A row that waits for newer ones stays until these come, whether it can still be met or not.
            horizon=binding.horizons[s.name].ticks if s.name in binding.horizons and s.name not in numbered else None,
            filters=own[s.name],
            index=index,
            index_room=room.left,
            numbers=s.name in numbered,
        )
        for s in query.streams
    }
    room.stems.extend(streams.values())
    looked_up = {t.name: SharedRows(binding.find_stored(t.name)) for t in query.tables}
    tables = {name: Stem(found, filters=own[name], index=index) for name, found in looked_up.items()}
    return {**streams, **tables}


def _filter(
    asked: Filter, binding: Binding, stores: Mapping[str, Store], faults: Faults, memory: Stem | None = None
) -> FilterOperator:
    judge = asked.make_judge(binding.types, faults)
    columns = {column: stores[str(column.stream)].column(column.name) for column in asked.predicate.columns}
    times = {
        stream.name: (stream.time, stores[stream.name].column(stream.time))
        for stream in binding.query.streams
        if stream.name in asked.on and stream.time
    }
    reading = FilterColumns(asked.on, columns, times, asked.after or ())
    # Beside the contract of an operator it judges row numbers alone, for sieves.
    return cast("FilterOperator", OPERATORS["filter"](asked.name, judge, reading, memory))
