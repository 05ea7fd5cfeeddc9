"""Keys of a source or a sink that do not go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.jobs.config.connectors import BATCH, BYTES
from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.references import sources
from eddy.redaction import KeyPath


def check_connectors(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note keys of sources and sinks that do not go together."""
    found = sources(read)
    for path, source in found:
        if source.get("format") == "spark":
            _check_place(path, source, mistakes)
        if source.get("format") == "kafka":
            _check_value(path, source, mistakes)
    is_batch = any(source.get("mode") == BATCH for _, source in found)
    for place in ("sink", "rejected"):
        sink = read.get(place, {})
        if sink.get("format") == "spark":
            _check_place((place,), sink, mistakes)
            if sink.get("existing") and not is_batch:
                told = f'a stream adds to what is there; leave it out, or read with mode = "{BATCH}"'
                mistakes.add((place, "existing"), told)


def _check_place(path: KeyPath, values: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note what Spark cannot find by the keys that say where rows are."""
    wrong = mistakes.has_within((*path, "name")) or mistakes.has_within((*path, "table"))
    if not (values.get("name") or values.get("table") or wrong):
        mistakes.add(
            (*path, "name"), 'expected the name of a format, such as "delta", or a table, got neither; add one'
        )
    for key in ("path", "schema"):
        if values.get("table") and values.get(key):
            mistakes.add((*path, key), f"a table of a catalog has its own {key}; leave it out, or leave table out")


def _check_value(path: KeyPath, source: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note a value that nobody can read, or that nobody is to read."""
    if source.get("value") == BYTES:
        for key in ("schema", "add"):
            if source.get(key):
                mistakes.add(
                    (*path, key), f'value = "{BYTES}" gives the columns of the connector; leave it out, and use select'
                )
    elif not (source.get("schema") or mistakes.has_within((*path, "schema"))):
        told = f'expected the columns of the value, got none; add them, or read it by select with value = "{BYTES}"'
        mistakes.add((*path, "schema"), told)
