"""Fills docs/experiments.md with tables.

python -m eddy.jobs.experiments.tables DOC OUT...
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eddy.errors import EddyError, QueryError, unknown
from eddy.jobs.experiments.improvement import compute_improvement

PLACE = re.compile(r"<!-- begin (?P<name>\S+) by (?P<by>[^>]+?) -->\n(?P<table>.*?)<!-- end -->\n", re.DOTALL)
"""A place for a table: which experiment, and the columns that its lines stand for."""


def fill_tables(text: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Fill a document with the tables of some experiments.

    Places of other experiments stay as they are.
    """
    return PLACE.sub(lambda place: _place(place, rows), text)


def _place(place: re.Match[str], rows: Sequence[Mapping[str, Any]]) -> str:
    own = [row for row in rows if row["experiment"] == place["name"]]
    if not own:
        return place[0]
    by = [name.strip() for name in place["by"].split(",")]
    known = dict.fromkeys(name for row in own for name in row)
    for name in by:
        if name not in known:
            raise unknown("column", name, known, where=f'table of "{place["name"]}"')
    own = [row for row in own if all(name in row for name in by)]
    return f"<!-- begin {place['name']} by {place['by']} -->\n{markdown(compute_improvement(own, by))}<!-- end -->\n"


def markdown(frame: pd.DataFrame) -> str:
    """A frame as a markdown table.

    >>> print(markdown(pd.DataFrame({"a": [1, 2], "b": ["x", None]})), end="")
    | a | b |
    | --- | --- |
    | 1 | x |
    | 2 |  |
    """
    texts = frame.astype(object).where(frame.notna(), "").astype(str)
    lines = [list(frame.columns), ["---"] * len(frame.columns), *texts.to_numpy().tolist()]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Put the tables of one or more files of rows into a document."""
    parser = argparse.ArgumentParser(prog="python -m eddy.jobs.experiments.tables", description=__doc__)
    parser.add_argument("document", type=Path, help="such as docs/experiments.md")
    parser.add_argument("rows", type=Path, nargs="+", help="what compare_policies wrote with --json")
    chosen = parser.parse_args(arguments)
    try:
        rows = [row for path in chosen.rows for row in _rows(path)]
        chosen.document.write_text(fill_tables(_text(chosen.document), rows), "utf-8")
    except EddyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"filled {chosen.document} from {len(rows):,} rows")
    return 0


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise QueryError(f'"{path}": not JSON: {error}') from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "experiment" in row for row in rows):
        raise QueryError(f'"{path}": expected the rows that compare_policies writes')
    return rows


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise QueryError(f'"{path}": cannot be read: {error.strerror}') from error


if __name__ == "__main__":
    sys.exit(main())
