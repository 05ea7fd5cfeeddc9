"""Values that win over the file: `--set policy.name=content`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eddy.errors import QueryError
from eddy.jobs.config.places import is_key, join_key, split
from eddy.jobs.config.schema import ConfigKey, ConfigPart, Section
from eddy.jobs.config.sections import JOB
from eddy.redaction import KeyPath, display

PREFIX = "spark.eddy."
"""Settings that `spark-submit --conf` gives to a job of ours begin with this."""


@dataclass(frozen=True)
class Override:
    """A value, where it goes, and who says so."""

    path: KeyPath
    text: str
    origin: str


def from_command(text: str) -> Override:
    """Read an argument of `--set`.

    >>> from_command("policy.name=content").path
    ('policy', 'name')
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise QueryError(f'--set "{name}": expected section.key=value, for example policy.name=content')
    return Override(_path(name.strip(), "--set"), value.strip(), "--set")


def from_spark(settings: Mapping[str, str]) -> list[Override]:
    """Read a setting `--conf spark.eddy.section.key=value`.

    >>> from_spark({"spark.eddy.engine.seed": "3", "spark.master": "local"})
    [Override(path=('engine', 'seed'), text='3', origin='--conf')]
    """
    return [
        Override(_path(name.removeprefix(PREFIX), "--conf"), value, "--conf")
        for name, value in sorted(settings.items())
        if name.startswith(PREFIX)
    ]


def _path(name: str, origin: str) -> KeyPath:
    try:
        if is_key(name):
            return split(name)
    except ValueError:
        pass  # an escape in a quoted part that TOML does not have
    raise QueryError(f"{origin} {name}: expected a dotted key as TOML spells it, for example policy.name")


def put(values: dict[str, Any], override: Override) -> KeyPath:
    """Set a value, or with no text take it away.

    Gives the place at which it stands now.
    """
    part: ConfigPart | None = JOB
    table, path = values, override.path
    for depth, name in enumerate(path[:-1]):
        if isinstance(part, Section) and part.flat:
            path = (*path[:depth], ".".join(path[depth:]))
            break
        part = part.section(name, table) if part is not None else None
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            got = display(override.path[: depth + 1], inner)
            raise QueryError(f"{override.origin} {join_key(override.path)}: {name} is no table, got {got}")
        table = inner
    key = _key(part, table, path[-1])
    if key is not None and not key.kind.single:
        raise QueryError(
            f"{override.origin} {join_key(path)}: expected a key of a single value, but this is {key.kind.expected}; "
            "change it in the file"
        )
    if not override.text:
        table.pop(path[-1], None)
        return path
    table[path[-1]] = _read_plain(override.text) if key is not None and key.kind.plain else _read(override.text)
    return path


def _key(part: ConfigPart | None, table: Mapping[str, Any], name: str) -> ConfigKey | None:
    """Give the key of a name, if the section has it."""
    section = part.choose(table) if part is not None else None
    if section is None:
        return None
    return section.keys.get(name, section.others)


def _read_plain(text: str) -> str:
    """Take a text as it is, but for one that stands in quotes as in the file.

    >>> _read_plain('"none"'), _read_plain("none"), _read_plain("3"), _read_plain("'a' = 'a'")
    ('none', 'none', '3', "'a' = 'a'")
    """
    found = _read(text)
    return found if isinstance(found, str) else text


def _read(text: str) -> Any:
    """Read a value as TOML would.

    What it cannot read is a text.
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
