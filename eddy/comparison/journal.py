"""A journal of runs, and what each did over time.

An interrupted comparison goes on from the journal's file. A trace is kept of the first run of each policy on a
workload, for the plots.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eddy.classes.value_names import OTHERS
from eddy.errors import QueryError
from eddy.observe.report import Report

MOST_CLASSES_DRAWN, MOST_ROUTES_DRAWN = 6, 6
"""The most classes of a stream, and routes of a class, that are told apart over time: as many as a reader can."""

MOST_DECISIONS = 20
"""Decisions of a stream that are kept, the latest: more than a page shows."""

DECIDED = ["batch", "stream", "policy", "reason"]

Columns = Mapping[str, Sequence[Any]]
"""A table as plain values."""


class Journal:
    """Remembers runs; with a file also those of an earlier start.

    A line of the file is a run. One that was cut off when the process ended is left out, and so is a run whose key
    nobody asks for: it belongs to another setting.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._found = {} if self._path is None else _read(self._path)

    def find(self, key: str) -> Record | None:
        """Find the run that has been done before, if it has."""
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


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The course of a run, micro-batch by micro-batch.

    `batches` has the tuples that had come by then, and what the micro-batch took; `operators`, `learning`, `routes` and
    `regret` are those of the report, of each micro-batch, and `indexes` the bytes of all indexes and the candidates
    that were found by them. Of each stream, `decisions` has the last ones. `caches` has the bytes of all caches, and
    how many look-ups in them were hits.
    """

    batches: Columns
    operators: Columns
    learning: Columns
    routes: Columns
    regret: Columns
    decisions: Columns
    indexes: Columns
    caches: Columns


@dataclass(frozen=True, kw_only=True)
class Record:
    """A run.

    `key` says of what, `answer` is the digest of its results, and `routes` that of its routes. `seconds`, `results`,
    `rows` and `calls` are those of its micro-batches, and `looked` the candidates that indexes gave in them. Where the
    workload changes, `by_pattern` is what searches by each access pattern have cost.
    """

    key: str
    answer: str
    figures: Mapping[str, Any]
    seconds: Sequence[float]
    results: Sequence[int]
    rows: Sequence[int]
    calls: Sequence[int]
    routes: str
    looked: Sequence[int]
    by_pattern: Columns
    trace: Trace | None

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self), default=_plain)

    @staticmethod
    def parse(line: str) -> Record:
        """From such a line."""
        values = json.loads(line)
        trace = values.pop("trace")
        return Record(**values, trace=None if trace is None else Trace(**trace))


def trace(report: Report) -> Trace:
    """Take the figures of each micro-batch from a report."""
    batches = report.batches()
    over_time = batches[["batch", "rows", "routing_calls", "results", "seconds"]].copy()
    over_time["tuples"] = over_time["rows"].cumsum()
    return Trace(
        batches=_columns(over_time),
        operators=_columns(report.operators(by_batch=True)),
        learning=_columns(report.learning()),
        routes=routes(report),
        regret=_columns(report.regret()),
        decisions=_columns(report.decisions()[DECIDED].groupby("stream", sort=False).tail(MOST_DECISIONS)),
        indexes=_columns(report.indexes().groupby("batch")[["bytes", "candidates"]].sum().reset_index()),
        caches=_columns(report.caches().groupby("batch")[["nbytes", "look_ups", "hits"]].sum().reset_index()),
    )


def routes(report: Report) -> Columns:
    """Count the tuples of each class by route, per micro-batch.

    Small classes and routes are counted together.
    """
    frame = report.routes(by_batch=True)
    if frame.empty:
        return _columns(frame)
    frame["stream"], frame["class"] = frame["stream"].astype(str), frame["class"].astype(str)
    sizes = frame.groupby(["stream", "class"])["tuples"].sum().groupby("stream").nlargest(MOST_CLASSES_DRAWN)
    large = {(stream, name) for _, stream, name in sizes.index}
    known = np.array([pair in large for pair in zip(frame["stream"], frame["class"], strict=True)])
    frame["class"] = frame["class"].where(known, OTHERS)
    often = (
        frame.groupby(["stream", "class", "route"])["tuples"]
        .sum()
        .groupby(["stream", "class"])
        .nlargest(MOST_ROUTES_DRAWN)
    )
    usual = {place[2:] for place in often.index}
    triples = zip(frame["stream"], frame["class"], frame["route"], strict=True)
    frame["route"] = frame["route"].where(np.array([triple in usual for triple in triples]), OTHERS)
    return _columns(frame.groupby(["batch", "stream", "class", "route"], sort=False)["tuples"].sum().reset_index())


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
    records = [_parse(path, number, line) for number, line in enumerate(whole.splitlines(), start=1)]
    return {record.key: record for record in records}


def _cut(path: Path, whole: str) -> None:
    """Take away a line that was not finished.

    The next one must not be written behind it.
    """
    try:
        path.write_text(whole, "utf-8")
    except OSError as error:
        raise QueryError(f'resume "{path}": cannot be written: {error.strerror}') from error


def _parse(path: Path, number: int, line: str) -> Record:
    try:
        return Record.parse(line)
    except (json.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
        raise QueryError(
            f'resume "{path}", line {number}: expected a run as a comparison writes it, got something else: {error}; '
            "name another file, or remove this one"
        ) from error


def _plain(value: object) -> object:
    """Turn numpy's numbers into plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a record holds plain values only, got {value!r}")


def _columns(frame: Any) -> Columns:
    found: dict[str, list[Any]] = frame.to_dict("list")
    return found
