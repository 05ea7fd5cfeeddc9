"""The columns of an input that are known before Spark reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.jobs.config.query.keys import STREAM, TABLE
from eddy.jobs.config.schema import ConfigPart
from eddy.jobs.sources.registry import make_source
from eddy.jobs.sources.source import SourceValues

SOURCE_SECTIONS: Mapping[str, ConfigPart] = {
    "streams": STREAM.parts["source"],
    "tables": TABLE.parts["source"],
}
"""What describes where the rows of an input come from."""


def find_columns(kind: str, name: str, values: SourceValues) -> Sequence[str] | None:
    """Find the columns of a source; None where Spark alone knows them, or the source lacks something.

    A source with a mistake is an error.
    """
    schema = make_source(name, values).schema() if has_what_it_needs(kind, values) else None
    return None if schema is None else list(schema.names)


def has_what_it_needs(kind: str, values: SourceValues) -> bool:
    """Tell whether a source lacks nothing.

    What is missing, or is no value that it may have, has been told.
    """
    return _is_whole(SOURCE_SECTIONS[kind], values)


def _is_whole(part: ConfigPart, values: Mapping[str, Any]) -> bool:
    section = part.choose(values)
    if section is None:
        return False
    needed = [name for name, key in section.keys.items() if key.required]
    needed += [name for name in values if section.others is not None]
    inner = [(one, values.get(name)) for name, one in section.parts.items()]
    return all(values.get(name) is not None for name in needed) and all(
        not one.required if given is None else _is_whole(one, given) for one, given in inner
    )
