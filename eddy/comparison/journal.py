"""Runs that are done, in a file: an interrupted comparison goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

from eddy.comparison.record import Record
from eddy.errors import QueryError


class Journal:
    """Remembers runs; with a file also those of an earlier start.

    A line of the file is a run. One that was cut off when the process ended is left out, and so is a run whose key
    nobody asks for: it belongs to another setting.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._found = {} if self._path is None else _read(self._path)

    def find(self, key: str) -> Record | None:
        """The run that has been done before, if it has."""
        return self._found.get(key)

    def add(self, record: Record) -> None:
        """Remember a run, before the next one begins."""
        self._found[record.key] = record
        if self._path is not None:
            try:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(f"{record.line()}\n")
            except OSError as error:
                raise QueryError(f'resume "{self._path}": cannot be written: {error.strerror}') from error


def _read(path: Path) -> dict[str, Record]:
    if not path.parent.is_dir():  # found now, and not after the first run
        raise QueryError(f'resume "{path}": there is no such folder; make it first')
    try:
        text = path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f'resume "{path}": cannot be read: {error}') from error
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        _cut(path, whole)
    records = [_parsed(path, number, line) for number, line in enumerate(whole.splitlines(), start=1)]
    return {record.key: record for record in records}


def _cut(path: Path, whole: str) -> None:
    """Take a line away that was not finished: the next one is not to be written behind it."""
    try:
        path.write_text(whole, "utf-8")
    except OSError as error:
        raise QueryError(f'resume "{path}": cannot be written: {error.strerror}') from error


def _parsed(path: Path, number: int, line: str) -> Record:
    try:
        return Record.parse(line)
    except (json.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
        raise QueryError(
            f'resume "{path}", line {number}: expected a run as a comparison writes it, got something else: {error}; '
            "name another file, or remove this one"
        ) from error
