"""The composition root: it makes an engine of a query.

The only file of the engine that sees concrete operators and policies.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.classes.classifier import can_classify
from eddy.contracts import Clock, Operator, Policy, Setting, Store
from eddy.engine import Engine
from eddy.engine.machinery import Machinery
from eddy.errors import QueryError, check_whole, describe_error, quote, unknown_name, warn
from eddy.kernels.choice import choose_kernels
from eddy.observe.prices import Prices
from eddy.operators.cache.room import DEFAULT_MEMORY, Caches
from eddy.operators.cache.scope import MOST_PARTS, list_parts
from eddy.operators.conditions import Conditions, sort_conditions
from eddy.operators.filter import FilterColumns, Memory
from eddy.operators.joined_indexes import IndexRoom, JoinIndexes
from eddy.operators.matching import Matching
from eddy.operators.passing import Passing
from eddy.operators.registry import OPERATORS
from eddy.operators.stem import Stem
from eddy.operators.tuning import settings as index_settings
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.tuners import Tuners
from eddy.policies.registry import POLICIES
from eddy.predicates.faults import Faults
from eddy.predicates.judge import Judge
from eddy.query import Filter, Query
from eddy.query.binding import Binding, bind
from eddy.query.filter import SKIP
from eddy.query.join_graph import cached_name, find_near, probe_name, whole_name
from eddy.sql import Column
from eddy.tuples.lineage import Rule

PolicyChoice = str | Mapping[str, Any] | Callable[[Setting], Policy]
"""A policy's name; its name and parameters, {"name": "fixed", "order": ["big"]}; or a class that is being written."""

IndexChoice = index_settings.IndexChoice
"""A kind of indexes, "bits"; a kind with its keys, {"kind": "bits", "bits": 14}; or all settings."""

read_index = index_settings.read_index
find_index_mistakes = index_settings.find_mistakes
list_index_defaults = index_settings.list_defaults
INDEX_NAMES = index_settings.CHOICES
"""What others may know of the indexes that a user chooses."""

POLICY_PARTS = (
    "features",
    "insight",
    "is_calm",
    "is_listening",
    "is_new",
    "is_urgent",
    "plan",
    "observe",
    "learn",
    "snapshot",
    "restore",
)

ENTRY_POINTS = "eddy.policies"
"""The entry-point group in which other packages register policies."""


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
    index: IndexChoice = None,
    cache_memory: int | None = None,
    thinking: Clock | None = None,
) -> Engine:
    """Build the engine of one cell.

    `schemas` are those of the streams; the tables come as they are. `parts` are what its state depends on, by names for
    people, where that is more than the query says. `index` is no part of it, nor are caches: with another one the rows
    stay, and what was learned of their indexes is learned anew.

    Policies say by `thinking` what it takes to plan and learn, by `clock` where none is given. Operators may wait for a
    service; thinking is work of this thread alone, and on a busy machine the wall says that it does not pay.
    """
    binding = bind(query, {**schemas, **{name: table.schema for name, table in tables.items()}})
    faults = Faults(values=query.show_values)
    caches = Caches(check_memory(cache_memory), clock)
    made = _build_machinery(binding, tables, faults, read_index(index), (seed, cell), caches)
    setting = _setting(binding, thinking or clock, cells, [o.name for o in made.operators if o.rule.optional])
    return Engine(
        binding,
        made,
        make_policy(policy, setting),
        setting.prices,
        policy_name=policy_name(policy),
        clock=clock,
        seed=(seed, cell),
        parts=parts,
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


def describe_idle_index(query: Query) -> str:
    """Say that a query has no use for a choice of indexes, or nothing."""
    if query.predicates:
        return ""
    return f'query "{query.name}": it joins nothing, so there are no indexes; take "index" away, it says nothing'


def list_read_columns(
    query: Query, schemas: Mapping[str, pa.Schema], policy: PolicyChoice, clock: Clock
) -> dict[str, pa.Schema]:
    """List the columns of each stream that an engine would read.

    Tables are as they are. Mistakes are found on the way. A column is read to answer the query, to admit rows, or to
    tell them apart. Mistakes in the texts of joins and filters, and in the policy's parameters, are the errors that
    building an engine would raise.
    """
    binding = bind(query, schemas)
    for predicate in binding.query.predicates:
        predicate.condition(binding.types)
    for f in binding.query.filters:
        f.bind(binding.types)
    features = make_policy(policy, _setting(binding, clock)).features
    found = dict(schemas)
    for stream in binding.query.streams:
        schema = schemas[stream.name]
        read = {*binding.find_stored(stream.name).names, stream.malformed, stream.arrived}
        read |= {schema.field(attribute.column.name).name for attribute in features.of(stream.name)}
        found[stream.name] = pa.schema([field for field in schema if field.name in read])
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
        operators=(*(f.name for f in query.filters), *probes),
        columns=tuple(columns),
        reads=frozenset(stored.intersection(columns)),
        sql_reads={f.name: frozenset(f.predicate.columns) for f in query.filters if f.where is not None},
        prices=Prices(probes),
        judged={f.name: f.on[0] for f in query.filters if probes and len(f.on) == 1 and f.on[0] in streams},
        make=lambda choice, offered: make_policy(_offer(choice, offered), setting),
        cells=cells,
        clock=thinking,
        options=tuple(options),
    )
    return setting


def _pass_input(binding: Binding, faults: Faults) -> Machinery:
    """Filters alone: no row is kept."""
    (name,) = binding.query.inputs
    store = Passing(binding.find_stored(name))
    filters = [_filter(f, binding, {name: store}, faults) for f in binding.query.filters]
    return Machinery(filters, {name: store}, faults)


def _build_machinery(
    binding: Binding,
    tables: Mapping[str, pa.RecordBatch],
    faults: Faults,
    index: IndexSettings,
    seed: tuple[int, int],
    caches: Caches,
) -> Machinery:
    """Make the filters, and where inputs are joined a STeM, a probe, its first phase and caches for each.

    The filters remember what they said of rows that are stored.
    """
    query = binding.query
    if len(query.inputs) == 1:
        return _pass_input(binding, faults)
    # Kernels are compiled before there are rows, so that no operator's seconds have that in them.
    choose_kernels()
    room = IndexRoom(query.max_state)
    stems = _make_stems(binding, index, room)
    joins = sort_conditions(query.predicates, binding.types, stems, faults)
    for name, table in tables.items():
        stems[name].append(table, np.zeros(table.num_rows, np.int64), np.arange(table.num_rows))
        stems[name].settle(None)
    memories = [stems[f.on[0]] if len(f.on) == 1 else None for f in query.filters]
    filters = [_filter(f, binding, stems, faults, m) for f, m in zip(query.filters, memories, strict=True)]
    sets = [predicate.inputs for predicate in query.predicates]
    near = {name: find_near(name, query.inputs, sets) for name in query.inputs}
    matching = {name: Matching(name, stems, joins) for name in query.inputs}
    probes = [
        OPERATORS["probe"](matching[name], Rule(near=near[name], gives=frozenset([name]))) for name in query.inputs
    ]
    meets = [
        OPERATORS["meets"](matching[name], Rule(near=near[name], lacks=name, optional=True)) for name in query.inputs
    ]
    caches.left = room.left_by_all
    cached = _make_cached(query, stems, joins, near, caches)
    catalogs = {name: stem.catalog for name, stem in stems.items()}
    indexes = JoinIndexes(catalogs, Tuners(catalogs, index, seed), room)
    return Machinery([*filters, *probes, *meets, *cached], stems, faults, indexes, caches)


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
    own = {name: [f.name for f in query.filters if f.on == (name,)] for name in query.inputs}
    streams = {
        s.name: Stem(
            binding.find_stored(s.name),
            time=s.time,
            tick_type=binding.tick_type,
            delay=s.delay_ticks,
            window=s.window,
            filters=own[s.name],
            index=index,
            index_room=room.left,
        )
        for s in query.streams
    }
    room.stems.extend(streams.values())
    tables = {t.name: Stem(binding.find_stored(t.name), filters=own[t.name], index=index) for t in query.tables}
    return {**streams, **tables}


def make_policy(choice: PolicyChoice, setting: Setting) -> Policy:
    """Build a policy from what a user chose."""
    if callable(choice):
        return _check_contract(choice(setting), policy_name(choice))
    parameters = check_policy(choice)
    name, told = parameters["name"], {key: value for key, value in parameters.items() if key != "name"}
    return _check_contract(_policy(name)(setting, **told), name)


def check_policy(choice: PolicyChoice) -> Mapping[str, Any]:
    """Check what a user chose by name, and give it with its parameters; a class has none."""
    if callable(choice):
        return {}
    parameters = {"name": choice} if isinstance(choice, str) else choice
    if not isinstance(parameters, Mapping) or not isinstance(parameters.get("name"), str):
        raise QueryError(f'policy: expected a name, or {{"name": ..., parameter: value}}, or a class, got {choice!r}')
    name = parameters["name"]
    known = policy_parameters(name)
    for parameter in parameters:
        if parameter not in (*known, "name"):
            raise unknown_name("parameter", parameter, known, where=f'policy "{name}"')
    missing = [p for p, default in known.items() if default is inspect.Parameter.empty and p not in parameters]
    if missing:
        raise QueryError(f'policy "{name}": expected the parameter {quote(missing)}, got none; add it')
    return parameters


def _offer(choice: str | Mapping[str, Any], offered: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the parameters that a policy has among those that are offered; what was chosen counts first."""
    chosen = {"name": choice} if isinstance(choice, str) else choice
    known = policy_parameters(str(chosen["name"]))
    return {**{name: value for name, value in offered.items() if name in known}, **chosen}


def _check_contract(policy: Policy, name: str) -> Policy:
    """Refuse a policy that lacks a part of the contract.

    Otherwise the part would be missed in the middle of a query.
    """
    missing = [part for part in POLICY_PARTS if not hasattr(policy, part)]
    if missing:
        raise QueryError(f'policy "{name}": it has no {quote(missing)}; derive its class from eddy.contracts.Policy')
    return policy


def policy_parameters(name: str) -> dict[str, Any]:
    """List the parameters of a policy with their defaults.

    `inspect.Parameter.empty` stands for a parameter that must be given.

    >>> policy_parameters("lottery")
    {'half_life': 1000}
    """
    found = inspect.signature(_policy(name)).parameters.values()
    return {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY}


def depends_on_time(choice: PolicyChoice) -> bool:
    """Tell whether the seconds that steps take may change a policy's routes.

    >>> depends_on_time("random"), depends_on_time("source"), depends_on_time({"name": "source", "costs": "unit"})
    (False, True, False)
    """
    if not isinstance(choice, str | Mapping):
        return True
    given = {"name": choice} if isinstance(choice, str) else choice
    known = {**policy_parameters(str(given["name"])), **given}
    # A policy with a budget thinks for so long, and others may be among the arms of one that has some.
    return known.get("costs", "unit") != "unit" or bool(known.get("budget_ms") or known.get("arms"))


def policy_names() -> list[str]:
    """List the policies that come with this project."""
    return list(POLICIES)


def policy_name(choice: PolicyChoice) -> str:
    """Write a choice of policy and parameters as one text."""
    if isinstance(choice, str | Mapping):
        return json.dumps({"name": choice} if isinstance(choice, str) else dict(choice), sort_keys=True, default=str)
    return getattr(choice, "__qualname__", type(choice).__name__)


def _policy(name: str) -> Callable[..., Policy]:
    """Find one of our policies, or of another package's.

    A registered name counts only if none of ours has it.
    """
    if name in POLICIES:
        return POLICIES[name]
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in points:
        raise unknown_name("policy", name, [*POLICIES, *points], where="policy")
    try:
        build: Callable[..., Policy] = points[name].load()
    except Exception as error:
        raise QueryError(
            f'policy "{name}": the package that offers it as "{points[name].value}" cannot be loaded: '
            f"{describe_error(error)}"
        ) from error
    return build


def _filter(
    asked: Filter, binding: Binding, stores: Mapping[str, Store], faults: Faults, memory: Memory | None = None
) -> Operator:
    predicate = asked.bind(binding.types)
    judge = Judge(asked.name, predicate, faults, on_error=asked.on_error, skips_nulls=asked.nulls == SKIP)
    columns = {column: stores[str(column.stream)].column(column.name) for column in asked.predicate.columns}
    times = {
        stream.name: (stream.time, stores[stream.name].column(stream.time))
        for stream in binding.query.streams
        if stream.name in asked.on and stream.time
    }
    reading = FilterColumns(asked.on, columns, times, asked.after or ())
    return OPERATORS["filter"](asked.name, judge, reading, memory)
