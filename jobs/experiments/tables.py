"""Fill docs/experiments.md and the CSV files beside it.

The call is python -m eddy.jobs.experiments.tables DOC [OUT...].
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

from eddy.errors import EddyError, QueryError, unknown_name
from eddy.jobs.experiments.improvement import compute_improvement

PLACE = re.compile(
    r"<!-- begin (?P<name>\S+) by (?P<by>[^>;]+?)(?P<chosen>;[^>]*?)? -->\n(?P<table>.*?)<!-- end -->\n", re.DOTALL
)
"""A place for a table: which experiment, the columns that its lines stand for, and what of the CSV the page shows.

    <!-- begin random by operators; only policy = content | knows; only over = source; show calls % | time % -->
"""

INTERVAL = " ±"
"""Ends the name of a CSV's column with the half widths of the intervals of another one."""


def tables(text: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, pd.DataFrame]:
    """Compute whole tables of experiments.

    They are those that a page has a place for and the rows are about.
    """
    return {place["name"]: table for place in PLACE.finditer(text) if (table := _table(place, rows)) is not None}


def _table(place: re.Match[str], rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame | None:
    own = [row for row in rows if row["experiment"] == place["name"]]
    if not own:
        return None
    by = [name.strip() for name in place["by"].split(",")]
    known = dict.fromkeys(name for row in own for name in row)
    for name in by:
        _check_column(name, known, place)
    return compute_improvement([row for row in own if all(name in row for name in by)], by)


def fill_tables(text: str, found: Mapping[str, pd.DataFrame]) -> str:
    """Fill a page with these tables.

    Other places stay as they are.
    """

    def fill(place: re.Match[str]) -> str:
        if place["name"] not in found:
            return place[0]
        head = place[0].partition("\n")[0]
        return f"{head}\n{markdown(_select(found[place['name']], place))}<!-- end -->\n"

    return PLACE.sub(fill, text)


def _select(table: pd.DataFrame, place: re.Match[str]) -> pd.DataFrame:
    """Select the lines and columns that a place asks for.

    A column with one value is not repeated in every line.
    """
    keep, told = list(table.columns), set[str]()
    for part in filter(None, (place["chosen"] or "").split(";")):
        word, _, rest = part.strip().partition(" ")
        column, _, values = rest.partition(" = ")
        names = [name.strip() for name in (values if word == "only" else rest).split("|")]
        if word == "only":
            _check_column(column, table.columns, place)
            table = table[table[column].astype(str).isin(names)]
            told |= {column} if len(names) == 1 else set()
        elif word == "show":
            for name in names:
                _check_column(name, table.columns, place)
            keep = [*keep[: keep.index("over") + 1], *names]
        else:
            raise QueryError(
                f'table of "{place["name"]}": expected "only COLUMN = VALUE" or "show COLUMNS", got "{word}"'
            )
    return table[[name for name in keep if name not in told]]


def _check_column(name: str, known: Any, place: re.Match[str]) -> None:
    if name not in known:
        raise unknown_name("column", name, known, where=f'table of "{place["name"]}"')


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table with intervals in columns of their own."""
    columns: dict[str, Any] = {}
    for name in table.columns:
        texts = table[name].astype(str)
        columns[name] = texts.str.partition(" ± ")[0]
        if texts.str.contains(" ± ", regex=False).any():
            columns[f"{name}{INTERVAL}"] = texts.str.partition(" ± ")[2]
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame(columns).to_csv(path, index=False, lineterminator="\n")


def read_csv(path: Path) -> pd.DataFrame:
    """Read a table as it was written.

    Each interval stands beside its mean again.
    """
    read = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in [name for name in read.columns if name.endswith(INTERVAL)]:
        half = read.pop(name)
        mean = name.removesuffix(INTERVAL)
        read[mean] = read[mean].where(half == "", read[mean] + " ± " + half)
    return read


def csv_of(page: Path, name: str) -> Path:
    """Name the file with the whole table of an experiment.

    It stands beside the page.
    """
    return page.parent / "experiments" / f"{name}.csv"


def markdown(frame: pd.DataFrame) -> str:
    """Write a frame as a markdown table.

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
    """Write the CSV files of some rows, and fill a document.

    It is filled from all CSV files that it has.
    """
    parser = argparse.ArgumentParser(prog="python -m eddy.jobs.experiments.tables", description=__doc__)
    parser.add_argument("document", type=Path, help="such as docs/experiments.md")
    parser.add_argument("rows", type=Path, nargs="*", help="what `eddy compare` wrote with --out")
    chosen = parser.parse_args(arguments)
    page: Path = chosen.document
    try:
        rows = [row for path in chosen.rows for row in _rows(path)]
        text = _text(page)
        for name, table in tables(text, rows).items():
            write_csv(table, csv_of(page, name))
        page.write_text(fill_tables(text, _read_tables(page, text)), "utf-8")
    except EddyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"filled {page} from {len(rows):,} rows")
    return 0


def _read_tables(page: Path, text: str) -> dict[str, pd.DataFrame]:
    names = [place["name"] for place in PLACE.finditer(text)]
    return {name: read_csv(csv_of(page, name)) for name in names if csv_of(page, name).exists()}


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise QueryError(f'"{path}": not JSON: {error}') from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "experiment" in row for row in rows):
        raise QueryError(f'"{path}": expected the rows that `eddy compare` writes')
    return rows


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise QueryError(f'"{path}": cannot be read: {error.strerror}') from error


if __name__ == "__main__":
    sys.exit(main())
