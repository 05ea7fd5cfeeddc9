"""A run as it is remembered: figures, answer, and what plots over time need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eddy.naming import OTHERS
from eddy.report import Report

CLASSES, ROUTES = 6, 6
"""Of a stream's classes and of a class's routes those that are told apart over time: as many as a reader can."""

Columns = Mapping[str, Sequence[Any]]
"""A table as plain values."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What a run did over time, micro-batch by micro-batch.

    `batches` has the tuples that had come by then, and what the micro-batch took; `operators`, `learning` and `routes`
    are those of the report, of each micro-batch.
    """

    batches: Columns
    operators: Columns
    learning: Columns
    routes: Columns


@dataclass(frozen=True, kw_only=True)
class Record:
    """A run: `key` says of what, `answer` is the digest of its results."""

    key: str
    answer: str
    figures: Mapping[str, Any]
    seconds: Sequence[float]
    results: Sequence[int]
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


def _plain(value: object) -> object:
    """Of numpy's numbers the plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a record holds plain values only, got {value!r}")


def trace(report: Report) -> Trace:
    """What a report says of each micro-batch."""
    batches = report.batches()
    over_time = batches[["batch", "rows", "routing_calls", "results", "seconds"]].copy()
    over_time["tuples"] = over_time["rows"].cumsum()
    return Trace(
        batches=_columns(over_time),
        operators=_columns(report.operators(by_batch=True)),
        learning=_columns(report.learning()),
        routes=routes(report),
    )


def routes(report: Report) -> Columns:
    """How many tuples of each class set out on each route, in each micro-batch; small classes and routes are one."""
    frame = report.routes(by_batch=True)
    if frame.empty:
        return _columns(frame)
    frame["stream"], frame["class"] = frame["stream"].astype(str), frame["class"].astype(str)
    sizes = frame.groupby(["stream", "class"])["tuples"].sum().groupby("stream").nlargest(CLASSES)
    large = {(stream, name) for _, stream, name in sizes.index}
    known = np.array([pair in large for pair in zip(frame["stream"], frame["class"], strict=True)])
    frame["class"] = frame["class"].where(known, OTHERS)
    often = frame.groupby(["stream", "class", "route"])["tuples"].sum().groupby(["stream", "class"]).nlargest(ROUTES)
    usual = {place[2:] for place in often.index}
    triples = zip(frame["stream"], frame["class"], frame["route"], strict=True)
    frame["route"] = frame["route"].where(np.array([triple in usual for triple in triples]), OTHERS)
    return _columns(frame.groupby(["batch", "stream", "class", "route"], sort=False)["tuples"].sum().reset_index())


def _columns(frame: Any) -> Columns:
    found: dict[str, list[Any]] = frame.to_dict("list")
    return found
