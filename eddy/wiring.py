"""The composition root: a query and a policy's name become an engine.

The only file of the engine that sees concrete operators and policies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

import pyarrow as pa

from eddy.binding import Binding, bind
from eddy.contracts import Operator, Policy, Setting
from eddy.engine import Engine
from eddy.errors import QueryError, unknown
from eddy.query import Filter, Query
from eddy.router import Clock
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
    clock: Clock,
    seed: int,
    cell: int = 0,
) -> Engine:
    """Build the engine of one cell."""
    binding = bind(query, schemas)
    if len(query.inputs) > 1:
        raise QueryError("query: only queries over one stream can be run so far; joins are not built yet")
    stores = {name: Stem(schemas[name]) for name in query.inputs}
    operators = [_filter(f, binding, stores) for f in query.filters]
    setting = Setting(operators=tuple(operator.name for operator in operators))
    return Engine(binding, operators, stores, make_policy(policy, setting), clock=clock, seed=seed, cell=cell)


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


def _filter(asked: Filter, binding: Binding, stores: Mapping[str, Stem]) -> Operator:
    return OPERATORS["filter"](
        asked.name,
        asked.on,
        asked.bind(binding.types),
        asked.predicate.columns,
        {name: stores[name].take for name in asked.on},
    )
