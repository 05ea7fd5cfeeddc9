"""Profiles: what a job's file says besides for one place where it runs, `[profile.prod]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eddy.errors import QueryError, unknown_name
from eddy.redaction import KeyPath

PROFILE = "profile"
"""The table of the file that has the profiles; each has sections as the file does."""

KINDS = {"format": "", "name": "policy"}
"""Keys that decide which other keys a table may have, each with the one table in which it does; "" is any table."""


def choose_profile(file: str, values: dict[str, Any], name: str | None) -> dict[KeyPath, KeyPath]:
    """Lay a profile over what the file says, and take all profiles out of it.

    It gives the place in the file of each table and key that is the profile's, by the place that it takes. A table of
    the profile that says another `format`, or another policy, replaces that of the file: its keys are others.

    >>> values = {"sink": {"format": "console", "rows": 3}, "profile": {"prod": {"sink": {"format": "noop"}}}}
    >>> choose_profile("job.toml", values, "prod"), values
    ({('sink',): ('profile', 'prod', 'sink')}, {'sink': {'format': 'noop'}})
    """
    profiles = values.pop(PROFILE, {})
    named = isinstance(profiles, dict) and all(isinstance(one, dict) for one in profiles.values())
    if not named:
        raise QueryError(f'config "{file}": {PROFILE}: expected tables [{PROFILE}.NAME], each with sections of a job')
    if name is None:
        return {}
    if not profiles:
        raise QueryError(f'config "{file}": --profile {name}: the file has no profile; add [{PROFILE}.{name}]')
    if name not in profiles:
        raise unknown_name("profile", name, profiles, where=f'config "{file}"')
    return {place: (PROFILE, name, *place) for place in _lay_over(values, profiles[name], ())}


def _lay_over(below: dict[str, Any], above: Mapping[str, Any], path: KeyPath) -> Iterator[KeyPath]:
    """Lay a table over another one; yields what it replaces or adds."""
    for name, value in above.items():
        known, here = below.get(name), (*path, name)
        if isinstance(value, dict) and isinstance(known, dict) and not _is_other_kind(known, value, here):
            yield from _lay_over(known, value, here)
        else:
            below[name] = value
            yield here


def _is_other_kind(below: Mapping[str, Any], above: Mapping[str, Any], path: KeyPath) -> bool:
    return any(key in above and above[key] != below.get(key) and table in ("", path[0]) for key, table in KINDS.items())
