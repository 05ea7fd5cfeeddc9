"""Makes the engine of a cell: for a query, or for several that share its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from eddy.classes.classifier import can_classify
from eddy.contracts import Clock, Setting
from eddy.engine import Engine
from eddy.engine.cell_inputs import write_place
from eddy.engine.lane import Asked
from eddy.engine.machinery import SourceRows
from eddy.errors import Within, check_choice, check_whole, warn
from eddy.observe.prices import Prices
from eddy.operators.cache.room import DEFAULT_MEMORY, Caches
from eddy.operators.stored import pages
from eddy.operators.tuning import settings as index_settings
from eddy.operators.tuning.settings import IndexSettings
from eddy.policies import choice as policies
from eddy.predicates.faults import Faults
from eddy.query import Query
from eddy.query.binding import Binding, bind
from eddy.query.join_graph import probe_name
from eddy.query.pushed_filter import PushedFilter
from eddy.query.state_need import CACHE_STATES, FORGET, KEEP
from eddy.query.together.queries import LONE, check_clocks
from eddy.sql import Column
from eddy.wiring.builder import Builder, build_rows, store_tables

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


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What the engine of a cell is given, whatever is asked.

    `thinking` is the clock of policies, `working` that of steps; both are `clock` if nothing is said.
    """

    clock: Clock
    seed: int
    cell: int = 0
    index: IndexChoice = None
    cache_memory: int | None = None
    cache_state: str | None = None
    thinking: Clock | None = None
    working: Clock | None = None


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A query of a cell as it is begun: by whom it is routed, and where it has been.

    `schemas` are those of its streams, and of tables of which it reads some columns; `cells` is the number of cells
    that share its rows. `parts` are what its state depends on, where that is more than the query says, and `pushed`
    which filters rows have passed before.
    """

    query: Query
    schemas: Mapping[str, pa.Schema]
    policy: PolicyChoice
    cells: int = 1
    parts: Mapping[str, str] | None = None
    pushed: Sequence[PushedFilter] = ()


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
    """Build the engine of a cell that one query has for itself, of what `Begun` and `Tools` tell."""
    begun = Begun(query=query, schemas=schemas, policy=policy, cells=cells, parts=parts, pushed=pushed)
    tools = Tools(clock=clock, seed=seed, cell=cell, index=index, thinking=thinking, working=working)
    tools = replace(tools, cache_memory=cache_memory, cache_state=cache_state)
    return engine_together({LONE: begun}, tables, tools)


def engine_together(begun: Mapping[str, Begun], tables: Mapping[str, pa.RecordBatch], tools: Tools) -> Engine:
    """Build the engine of one cell for some queries; one that has it for itself is called `LONE`."""
    known = {name: table.schema for name, table in tables.items()}
    bindings, asked = {}, {}
    for name, one in begun.items():
        with Within(write_place(name)):
            schemas = {n: s for n, s in known.items() if n in one.query.given}
            bindings[name] = bind(one.query, {**schemas, **one.schemas})
    check_clocks(bindings)
    rows = build_rows(bindings)
    for name, binding in bindings.items():
        with Within(write_place(name)):
            asked[name] = _ask(name, begun[name], binding, rows, tools)
    store_tables(tables, rows)
    return Engine(asked, rows, clock=tools.clock, seed=(tools.seed, tools.cell))


def _ask(name: str, begun: Begun, binding: Binding, rows: Mapping[str, SourceRows], tools: Tools) -> Asked:
    """Make what one query is answered with, and who routes it."""
    clock, policy = tools.clock, begun.policy
    caches = Caches(
        check_memory(tools.cache_memory), tools.working or clock, keep=check_cache_state(tools.cache_state) == KEEP
    )
    made = Builder(
        name=name,
        binding=binding,
        rows=rows,
        index=read_index(tools.index),
        seed=(tools.seed, tools.cell),
        caches=caches,
        faults=Faults(values=begun.query.show_values),
    ).build()
    options = [one.name for one in made.operators if one.rule.optional]
    setting = _setting(binding, tools.thinking or clock, begun.cells, options)
    return Asked(
        binding=binding,
        machinery=made,
        policy=make_policy(policy, setting),
        policy_name=policy_name(policy),
        prices=setting.prices,
        clock=clock,
        working=tools.working or clock,
        parts=begun.parts,
        pushed=begun.pushed,
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
