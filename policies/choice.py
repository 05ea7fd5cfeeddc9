"""What a user chooses: one of our policies, or of another package's, by its name, or a class."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from eddy.contracts import Policy, Setting
from eddy.errors import QueryError, quote, unknown_name
from eddy.plug_ins import PlugIns
from eddy.policies.registry import POLICIES

PolicyChoice = str | Mapping[str, Any] | Callable[[Setting], Policy]
"""A policy's name; its name and parameters, {"name": "fixed", "order": ["big"]}; or a class that is being written."""

POLICY_PARTS = (
    "features insight is_calm is_listening is_new is_trying is_urgent plan observe learn snapshot restore"
).split()

ENTRY_POINTS = "eddy.policies"
"""The entry-point group in which other packages register policies."""


def make_policy(choice: PolicyChoice, setting: Setting) -> Policy:
    """Build a policy from what a user chose."""
    if callable(choice):
        return _build(choice, setting, {}, policy_name(choice))
    parameters = check_policy(choice)
    name, told = parameters["name"], {key: value for key, value in parameters.items() if key != "name"}
    return _build(_policy(name), setting, told, name)


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


def offer(choice: str | Mapping[str, Any], offered: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the parameters that a policy has among those that are offered; what was chosen counts first."""
    chosen = {"name": choice} if isinstance(choice, str) else choice
    known = policy_parameters(str(chosen["name"]))
    return {**{name: value for name, value in offered.items() if name in known}, **chosen}


def _build(make: Callable[..., Policy], setting: Setting, told: Mapping[str, Any], name: str) -> Policy:
    """Build a policy, or say how its class must be written."""
    try:
        signature = _read_signature(make) if isinstance(make, type) else inspect.signature(make)
        signature.bind(setting, **told)
    except TypeError as error:
        raise QueryError(
            f'policy "{name}": it cannot be built as Name(setting, parameter=value, ...): {error}; '
            "write __init__(self, setting, *, parameter=default, ...)"
        ) from None
    if missing := sorted(getattr(make, "__abstractmethods__", ())):
        raise QueryError(f'policy "{name}": it has no {quote(missing)}; write it')
    return _check_contract(make(setting, **told), name)


# An engine is built anew whenever its cell moves to another worker, and `auto` builds several policies for it.
_read_signature = lru_cache(maxsize=64)(inspect.signature)


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
    found = list(_read_signature(_policy(name)).parameters.values())
    if loose := [p.name for p in found[1:] if p.kind is p.POSITIONAL_OR_KEYWORD]:
        raise QueryError(
            f'policy "{name}": expected keyword-only parameters, got {quote(loose)} without; '
            f"write __init__(self, setting, *, {', '.join(loose)})"
        )
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


def list_policies() -> list[str]:
    """List our policies, and those of other packages."""
    return list(_known())


def policy_name(choice: PolicyChoice) -> str:
    """Write a choice of policy and parameters as one text."""
    if isinstance(choice, str | Mapping):
        return json.dumps({"name": choice} if isinstance(choice, str) else dict(choice), sort_keys=True, default=str)
    return getattr(choice, "__qualname__", type(choice).__name__)


def _policy(name: str) -> Callable[..., Policy]:
    """Find one of our policies, or of another package's.

    A registered name counts only if none of ours has it.
    """
    known = _known()
    if name not in known:
        raise unknown_name("policy", name, known, where="policy")
    return known[name]


def _known() -> PlugIns[Callable[..., Policy]]:
    return PlugIns(POLICIES, group=ENTRY_POINTS, kind="policy")
