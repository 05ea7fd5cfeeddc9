"""Every setting of a comparison; secrets are not among what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eddy.comparison.html.table import Cell, Line, table
from eddy.redaction import shown
from eddy.settings import Path


def settings(values: Mapping[str, Any]) -> str:
    """A line for each."""
    lines = [Line(cells=[Cell(text=" / ".join(path)), Cell(text=shown(path, value))]) for path, value in flat(values)]
    return table(["setting", "value"], lines, texts=2)


def flat(values: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The settings inside of settings.

    >>> list(flat({"a": {"b": 1}, "c": []}))
    [(('a', 'b'), 1), (('c',), [])]
    """
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, (*path, str(name)))
        else:
            yield (*path, str(name)), value
