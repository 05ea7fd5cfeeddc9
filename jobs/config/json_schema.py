"""The JSON Schema of a job's file, by which editors complete and check it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eddy.jobs.config.profiles import PROFILE
from eddy.jobs.config.schema import SCALAR, ConfigKey, ConfigPart, NamedSections, Section, Variants
from eddy.jobs.config.sections import JOB
from eddy.wiring import list_policies

DRAFT = "http://json-schema.org/draft-07/schema#"

Schema = dict[str, Any]

VARIABLE: Schema = {"type": "string", "pattern": r"\$\{"}
"""A text with a variable may stand for any value."""


def make_schema() -> Schema:
    """Make the schema of a job, and of its profiles, which may leave anything out."""
    whole = describe_part(JOB)
    whole["properties"][PROFILE] = {
        "type": "object",
        "description": "What the file says besides for one place where it runs; --profile NAME chooses it.",
        "additionalProperties": describe_part(JOB, partly=True),
    }
    return {"$schema": DRAFT, "title": "A job of eddy", **whole}


def describe_part(part: ConfigPart, path: tuple[str, ...] = (), *, partly: bool = False) -> Schema:
    """Describe a part of the file; one that is said `partly` needs nothing."""
    if isinstance(part, NamedSections):
        each = describe_part(part.each, (*path, "NAME"), partly=partly)
        return {"type": "object", "description": part.text, "additionalProperties": each, "minProperties": 1}
    if isinstance(part, Variants):
        formats = [_variant(part, name, path, partly=partly) for name in part.formats]
        return {"type": "object", "description": part.text, "anyOf": formats}
    return _section(part, path, partly=partly)


def _variant(part: Variants, name: str, path: tuple[str, ...], *, partly: bool) -> Schema:
    """Describe one format of a section, which its name tells; where none is named the default is meant."""
    section = _section(part.formats[name], path, partly=partly)
    section["properties"] = {"format": {"const": name, "description": part.formats[name].text}, **section["properties"]}
    if not partly and name != part.default:
        section["required"] = ["format", *section.get("required", ())]
    return section


def _section(part: Section, path: tuple[str, ...], *, partly: bool) -> Schema:
    parts = {name: describe_part(inner, (*path, name), partly=partly) for name, inner in part.parts.items()}
    keys = {name: _key(key, (*path, name)) for name, key in part.keys.items()}
    found: Schema = {"type": "object", "description": part.text, "properties": {**keys, **parts}}
    found["additionalProperties"] = False if part.others is None else _others(part, part.others, path)
    if not partly:
        if required := list(_list_required(part)):
            found["required"] = required
        # Of a part and what may stand instead of it one is needed.
        if either := [{"anyOf": [{"required": [one]} for one in names]} for names in part.instead.items()]:
            found["allOf"] = either
    return found


def _others(part: Section, key: ConfigKey, path: tuple[str, ...]) -> Schema:
    one = _key(key, (*path, ""))
    # A name with dots is tables within tables to TOML.
    return {"anyOf": [one, {"type": "object"}]} if part.flat else one


def _list_required(part: Section) -> Iterator[str]:
    yield from (name for name, key in part.keys.items() if key.required)
    yield from (name for name, inner in part.parts.items() if inner.required and name not in part.instead)


def _key(key: ConfigKey, path: tuple[str, ...]) -> Schema:
    kinds: Mapping[str, Any] = {"enum": list(key.choices)} if key.choices else key.kind.json
    if path == ("policy", "name"):
        kinds = {"enum": list_policies()}
    free = key.literal or key.kind.plain or key.kind is SCALAR or not kinds
    said = dict(kinds) if free and not key.choices and path != ("policy", "name") else {"anyOf": [kinds, VARIABLE]}
    told = {} if key.default in (None, []) else {"default": key.default}
    return {**said, **told, "description": key.text}
