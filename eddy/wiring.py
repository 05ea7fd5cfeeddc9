"""The composition root: a query and a policy's name become an engine.

The only file of the engine that sees concrete operators and policies.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.binding import Binding, bind
from eddy.contracts import Operator, Policy, Setting
from eddy.engine import Engine, Store
from eddy.errors import QueryError, unknown
from eddy.lineage import Rule
from eddy.query import Filter, Query, reachable
from eddy.router import Clock
from operators.conditions import conditions
from operators.filter import Memory, Take
from operators.passing import Passing
from operators.registry import OPERATORS
from operators.stem import Stem
from policies.registry import POLICIES

PolicyChoice = str | Mapping[str, Any]
"""A policy's name, or its name and parameters: {"name": "fixed", "order": ["big"]}."""

ENTRY_POINTS = "eddy.policies"
"""The entry-point group in which other packages register policies."""


def engine(
    query: Query,
    schemas: Mapping[str, pa.Schema],
    policy: PolicyChoice,
    *,
    tables: Mapping[str, pa.RecordBatch],
    clock: Clock,
    seed: int,
    cell: int = 0,
) -> Engine:
    """Build the engine of one cell; `schemas` are the streams', and the tables come as they are."""
    binding = bind(query, {**schemas, **{name: table.schema for name, table in tables.items()}})
    stores, operators = _joining(binding, tables) if len(query.inputs) > 1 else _passing(binding)
    setting = Setting(operators=tuple(operator.name for operator in operators))
    return Engine(
        binding,
        operators,
        stores,
        make_policy(policy, setting),
        policy_name=json.dumps(policy, sort_keys=True, default=str),
        clock=clock,
        seed=seed,
        cell=cell,
    )


def _passing(binding: Binding) -> tuple[Mapping[str, Store], Sequence[Operator]]:
    """Filters alone: no row is kept."""
    (name,) = binding.query.inputs
    store = Passing(binding.stored(name))
    return {name: store}, [_filter(f, binding, {name: store.take}, None) for f in binding.query.filters]


def _joining(binding: Binding, tables: Mapping[str, pa.RecordBatch]) -> tuple[Mapping[str, Store], Sequence[Operator]]:
    """A STeM for every input, filters that remember, and a probe into every STeM."""
    query = binding.query
    own = {name: [f.name for f in query.filters if f.on == (name,)] for name in query.inputs}
    stems = {
        s.name: Stem(binding.stored(s.name), time=s.time, ticks=binding.ticks, window=s.window, filters=own[s.name])
        for s in query.streams
    }
    stems |= {table.name: Stem(binding.stored(table.name), filters=own[table.name]) for table in query.tables}
    joins = conditions(query.predicates, binding.types, stems)
    for name, table in tables.items():
        stems[name].append(table, np.zeros(table.num_rows, np.int64), np.arange(table.num_rows))
        stems[name].settle(None)
    takes = {name: stem.take for name, stem in stems.items()}
    filters = [_filter(f, binding, takes, stems[f.on[0]] if len(f.on) == 1 else None) for f in query.filters]
    near = {name: _near(name, query) for name in query.inputs}
    probes = [
        OPERATORS["probe"](name, stems, joins, Rule(near=near[name], gives=name), max_fanout=query.max_fanout)
        for name in query.inputs
    ]
    return stems, [*filters, *probes]


def _near(target: str, query: Query) -> frozenset[frozenset[str]]:
    """What a tuple must span before an input is probed.

    That is what some condition needs, or any input from which no conditions lead here.
    """
    sets = [frozenset(str(c.stream) for c in predicate.columns) for predicate in query.predicates]
    apart = [name for name in query.inputs if target not in reachable(name, sets)]
    return frozenset([*(inputs - {target} for inputs in sets if target in inputs), *(frozenset([n]) for n in apart)])


def make_policy(choice: PolicyChoice, setting: Setting) -> Policy:
    """Build a policy from its name and parameters."""
    parameters = {"name": choice} if isinstance(choice, str) else dict(choice)
    name = parameters.pop("name", None)
    if not isinstance(name, str):
        raise QueryError(f'policy: expected a name, or {{"name": ..., parameter: value}}, got {choice!r}')
    build = _policies().get(name)
    if build is None:
        raise unknown("policy", name, _policies(), where="policy")
    known = [p.name for p in inspect.signature(build).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for parameter in parameters:
        if parameter not in known:
            raise unknown("parameter", parameter, known, where=f'policy "{name}"')
    return build(setting, **parameters)


def _policies() -> dict[str, Callable[..., Policy]]:
    """Ours, and those of other packages under names that ours do not have."""
    return {point.name: point.load() for point in entry_points(group=ENTRY_POINTS)} | POLICIES


def _filter(asked: Filter, binding: Binding, takes: Mapping[str, Take], memory: Memory | None) -> Operator:
    return OPERATORS["filter"](asked.name, asked.on, asked.bind(binding.types), asked.predicate.columns, takes, memory)
