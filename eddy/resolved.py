"""A job as it will run, with where each value came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eddy.config import Job
from eddy.lines import joined
from eddy.redaction import shown
from eddy.settings import Path


def resolved(job: Job) -> str:
    """For people: every value, and its line in the file, or what else it came from. Secrets are not shown."""
    rows = [(joined(path), shown(path, value), job.origins.get(path, "default")) for path, value in _leaves(job.values)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    widest = min(widths[1], WIDE)
    return "\n".join(f"{path:<{widths[0]}}  {value:<{widest}}  {origin}" for path, value, origin in rows)


WIDE = 60
"""Characters of a value after which what follows is not aligned any more."""


def _leaves(values: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and (*path, name)[:1] != ("policy",):
            yield from _leaves(value, (*path, name))
        elif value is not None and value != []:
            yield (*path, name), value
