"""Rows of runs to a file, by its suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from eddy.comparison.turns import MeasuredRow
from eddy.errors import QueryError, quote


def table(rows: Sequence[MeasuredRow]) -> pa.Table:
    """Rows as a table with a column for every name in any of them.

    Values of several kinds become texts.

    >>> table([{"a": 1}, {"a": 2, "b": "x"}]).to_pylist()
    [{'a': 1, 'b': None}, {'a': 2, 'b': 'x'}]
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _json(rows: Sequence[MeasuredRow], path: Path) -> None:
    """One run on each line, without what it does not have."""
    lines = ",\n".join(json.dumps({n: v for n, v in row.items() if v is not None}, default=str) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", "utf-8")


def _parquet(rows: Sequence[MeasuredRow], path: Path) -> None:
    pq.write_table(table(rows), path)


def _csv(rows: Sequence[MeasuredRow], path: Path) -> None:
    csv.write_csv(table(rows), path)


FORMATS: dict[str, Callable[[Sequence[MeasuredRow], Path], None]] = {".parquet": _parquet, ".csv": _csv, ".json": _json}
"""The formats of files, by suffix."""

PAGES = (".html", ".htm")
"""The suffixes of a report."""


def check_target(path: str | Path, suffixes: Sequence[str] = tuple(FORMATS)) -> Path:
    """Check that a path can be written.

    It is found out now, and not after an hour of runs.
    """
    found = Path(path)
    if found.suffix not in suffixes:
        raise QueryError(f'"{path}": expected a name that ends in {quote(suffixes)}, got "{found.suffix}"')
    if not found.parent.is_dir():
        raise QueryError(f'"{path}": there is no such folder as "{found.parent}"; make it first')
    return found


def save(rows: Sequence[MeasuredRow], path: str | Path) -> None:
    """Write rows."""
    place = check_target(path)
    try:
        FORMATS[place.suffix](rows, place)
    except OSError as error:
        raise QueryError(f'"{path}": cannot be written: {error.strerror}') from error
