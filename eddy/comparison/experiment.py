"""The runs of a comparison: policies by workloads by seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from eddy.comparison.contender import BASELINE, Contender
from eddy.comparison.runner import tell_coming
from eddy.comparison.workload import Workload
from eddy.errors import QueryError
from eddy.local import BATCH_ROWS, run_local
from eddy.query import Range, Rows, Window

QUICK_ROWS, QUICK_SEEDS, QUICK_POINTS = 10_000, 1, 4
"""A quick look at an experiment is cut down to these: enough to see that it runs, too little for a figure."""

MICROSECONDS = 1e6
"""In a second: a window that is given as a duration counts in them."""


class Point(Protocol):
    """A workload for any seed."""

    @property
    def label(self) -> str:
        """The name in tables; no two points of an experiment share it."""

    @property
    def varied(self) -> Mapping[str, Any]:
        """Values that tell points of a kind apart; each a column."""

    def describe(self) -> Mapping[str, Any]:
        """Give the plain values that its runs depend on."""

    def workload(self, seed: int, rows: int | None = None) -> Workload:
        """The workload with a seed, or no more than some rows of it."""


@dataclass(frozen=True, kw_only=True)
class SizedPoint:
    """A point with sizes of micro-batches and windows.

    Without a window the query keeps its own.
    """

    point: Point
    batch_rows: int
    window: Window | None
    several: frozenset[str]

    @property
    def varied(self) -> dict[str, Any]:
        """Values that tell it from other setups.

        Sizes are there only where there are several.
        """
        return {**self.point.varied, **{name: value for name, value in self.sizes.items() if name in self.several}}

    @property
    def sizes(self) -> dict[str, Any]:
        """Columns of every row."""
        return {"batch_rows": self.batch_rows} | ({} if self.window is None else _window(self.window))

    @property
    def label(self) -> str:
        """The name in tables."""
        told = {"batch_rows": f"batch_rows={self.batch_rows}", "window": f"window={self.window}"}
        return " ".join([self.point.label, *(told[name] for name in sorted(self.several))])

    def describe(self) -> dict[str, Any]:
        """Give the plain values that its runs depend on."""
        return {**self.point.describe(), "batch_rows": self.batch_rows, "window": str(self.window)}

    def workload(self, seed: int, rows: int | None = None) -> Workload:
        """Give the workload, with the window on all of its streams."""
        made = self.point.workload(seed, rows)
        if self.window is None:
            return made
        streams = [replace(stream, window=self.window) for stream in made.query.streams]
        return replace(made, query=replace(made.query, streams=streams))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Policies by workloads by seeds.

    `totals` asks for what has been produced by when. `marks` are columns to add to the rows that have some values, such
    as what a paper says of them.
    """

    name: str
    points: Sequence[Point]
    contenders: Sequence[Contender]
    seeds: Sequence[int]
    batch_rows: Sequence[int]
    windows: Sequence[Window] = ()
    repeats: int
    marks: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = ()
    totals: bool = False
    rows: int | None = None

    @property
    def setups(self) -> list[SizedPoint]:
        """Every workload in every size."""
        windows: Sequence[Window | None] = self.windows or [None]
        several = frozenset(n for n, all in (("batch_rows", self.batch_rows), ("window", self.windows)) if len(all) > 1)
        return [
            SizedPoint(point=point, batch_rows=batch_rows, window=window, several=several)
            for point, batch_rows, window in itertools.product(self.points, self.batch_rows, windows)
        ]

    @property
    def baseline(self) -> Contender:
        """The policy that others are compared with.

        It is the first that has this role.
        """
        return next(contender for contender in self.contenders if contender.role == BASELINE)

    def add_control(self, without: Sequence[Contender]) -> Sequence[Contender]:
        """List all policies but some, and the baseline once more."""
        left = [contender for contender in self.contenders if contender not in without]
        return [*left, self.baseline.control()] if self.baseline in left else left

    def shrink(self) -> Experiment:
        """Take a small part of it.

        A workload that is left out is built all the same, one row of it, so that a mistake in its values is told.
        """
        every = max(len(self.points) // QUICK_POINTS, 1)
        points, seeds = self.points[::every], self.seeds[:QUICK_SEEDS]
        for point in self.points:
            if point not in points:
                point.workload(seeds[0], rows=1)
        return replace(self, points=points, seeds=seeds, repeats=1, rows=QUICK_ROWS)


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A policy that does not apply to a workload, and why."""

    contender: Contender
    point: Point
    reason: str

    def __str__(self) -> str:
        return f"skipped: {self.contender.label} on {self.point.label}: {self.reason}"


def find_inapplicable(experiment: Experiment) -> Iterator[Skipped]:
    """Try every policy on one row of every workload.

    One that can run nowhere is the user's mistake.
    """
    for contender in experiment.contenders:
        tried = [(point, *_try_policy(contender, point, experiment)) for point in experiment.points]
        mistakes = [error for _, _, error in tried if error is not None]
        if mistakes and all(reason is not None for _, reason, _ in tried):
            raise mistakes[0]
        for point, reason, _ in tried:
            if reason is not None:
                yield Skipped(contender=contender, point=point, reason=reason)


def _window(window: Window) -> dict[str, Any]:
    """Write a window as text, and how large it is.

    >>> _window(Range("1 minute"))
    {'window': "Range('1 minute')", 'window_size': 60.0, 'window_unit': 'seconds'}
    """
    sizes: dict[str, Any] = {}
    match window:
        case Range(length=str()):
            sizes = {"window_size": window.ticks / MICROSECONDS, "window_unit": "seconds"}
        case Range():
            sizes = {"window_size": float(window.ticks), "window_unit": "units of the event time"}
        case Rows():
            sizes = {"window_size": float(window.count), "window_unit": "rows"}
    return {"window": str(window), **sizes}


def _try_policy(contender: Contender, point: Point, experiment: Experiment) -> tuple[str | None, QueryError | None]:
    """Find why a policy does not apply, and its error.

    The error is there where the policy itself says so.
    """
    workload = point.workload(experiment.seeds[0], rows=1)
    missing = contender.find_missing(workload)
    if missing is not None:
        return missing, None
    try:
        policy = contender.choice(workload)
        index = tell_coming(workload, policy, BATCH_ROWS, experiment.seeds[0], contender.index)
        run_local(workload.query, workload.data, policy=policy, index=index)
    except QueryError as error:
        return str(error), error
    return None, None
