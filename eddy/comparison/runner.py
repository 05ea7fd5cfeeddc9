"""Runners: policies run in this process, or on Spark."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from eddy.comparison.workload import Workload
from eddy.errors import QueryError, unknown_name
from eddy.local import iter_local
from eddy.observe.indexing import IndexCount
from eddy.observe.report import Report

if TYPE_CHECKING:
    from eddy.wiring import IndexChoice, PolicyChoice


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """An answer, its counters, and the seconds that it took.

    `cpu_seconds` are those of this process; on Spark others work for it, so nobody knows them.
    """

    results: pa.Table
    report: Report
    wall_seconds: float
    cpu_seconds: float | None = None


class RunPolicy(Protocol):
    """Runs a policy, with the rows of a micro-batch, a seed, a choice of indexes, and the memory of caches."""

    def __call__(
        self, policy: PolicyChoice, batch_rows: int, seed: int, index: IndexChoice, cache_memory: int | None, /
    ) -> RunResult:
        """Run once, from beginning to end."""


class Runner(Protocol):
    """A place to run policies in."""

    @property
    def name(self) -> str:
        """The name in tables."""

    def describe(self) -> dict[str, Any]:
        """Give the settings of the runner that its runs depend on."""

    def prepare(self, workload: Workload) -> AbstractContextManager[RunPolicy]:
        """Make ready for runs on a workload.

        What was made for them is gone at the end.
        """


class Local:
    """In this process, with `iter_local`."""

    name = "local"

    def describe(self) -> dict[str, Any]:
        """Nothing besides."""
        return {}

    @contextmanager
    def prepare(self, workload: Workload) -> Iterator[RunPolicy]:
        """There is nothing to make."""

        def run(
            policy: PolicyChoice, batch_rows: int, seed: int, index: IndexChoice, cache_memory: int | None
        ) -> RunResult:
            index = tell_coming(workload, policy, batch_rows, seed, index)
            data = workload.cut(batch_rows)
            started, cpu = time.perf_counter(), time.process_time()
            done = iter_local(
                workload.query,
                data,
                policy=policy,
                index=index,
                cache_memory=cache_memory,
                batch_rows=batch_rows,
                seed=seed,
            ).run(quiet=True)
            wall_seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
            return RunResult(
                results=done.results, report=done.report, wall_seconds=wall_seconds, cpu_seconds=cpu_seconds
            )

        yield run


class OnSpark:
    """Runs streaming queries on Spark, with `attach`.

    They read files of one micro-batch each.
    """

    name = "spark"

    def __init__(self, cells: int | None) -> None:
        self._cells = cells
        self._warm = False

    def describe(self) -> dict[str, Any]:
        """Give the number of cells that share the work."""
        return {"cells": self._cells}

    @contextmanager
    def prepare(self, workload: Workload) -> Iterator[RunPolicy]:
        """Write the files of a workload.

        A policy with micro-batches of its own size has files of its own. The first run of all is done twice and counts
        once: it is in it that Spark starts its workers and compiles most of its code, which takes several times what a
        run takes.
        """
        if workload.paced:
            raise QueryError(
                f'compare: runner="spark": streams of workload "{workload.name}" come at rates of their own, and files '
                'of one size would not keep them; take runner="local"'
            )
        from eddy.spark.trial import SparkTrial  # noqa: PLC0415  so that policies can be compared where there is no Spark

        with tempfile.TemporaryDirectory(prefix="eddy-trial-") as place:
            trial = SparkTrial(workload.query, workload.data, Path(place), cells=self._cells)

            def run(
                policy: PolicyChoice, batch_rows: int, seed: int, index: IndexChoice, cache_memory: int | None
            ) -> RunResult:
                index = tell_coming(workload, policy, batch_rows, seed, index)
                started = partial(
                    trial.run, policy, batch_rows=batch_rows, seed=seed, index=index, cache_memory=cache_memory
                )
                if not self._warm:
                    started()
                    self._warm = True
                results, report, seconds = started()
                return RunResult(results=results, report=report, wall_seconds=seconds)

            yield run


def tell_coming(
    workload: Workload, policy: PolicyChoice, batch_rows: int, seed: int, index: IndexChoice
) -> IndexChoice:
    """Tell indexes of kind `told` what they will be asked; all others go as they are.

    A run of the same policy with an index for each access pattern is recorded; no part of it is timed.
    """
    from eddy.wiring import read_index  # noqa: PLC0415  a plug-in that is imported first needs us before the wiring

    settings = read_index(index, may_be_told=True)
    if not settings.does.is_told or settings.coming:
        return index
    recorded = iter_local(
        workload.query, workload.cut(batch_rows), policy=policy, index="patterns", batch_rows=batch_rows, seed=seed
    ).run(quiet=True)
    return replace(settings, coming=[_count_probes(counters.indexes) for counters in recorded.report.counters])


def _count_probes(indexes: Sequence[IndexCount]) -> dict[str, dict[str, float]]:
    """Count the probes of each input by access pattern; of a scan that serves several, in equal parts."""
    found: dict[str, dict[str, float]] = {}
    for count in indexes:
        known = found.setdefault(count.input, {})
        for pattern in count.patterns:
            known[pattern] = known.get(pattern, 0.0) + count.probes / len(count.patterns)
    return found


RUNNERS = ("local", "spark")
"""The runners that a user may choose."""


def choose_runner(name: str, cells: int | None = None) -> Runner:
    """Make a runner by its name, with the cells of one on Spark."""
    if name not in RUNNERS:
        raise unknown_name("runner", str(name), RUNNERS, where="compare")
    if name == OnSpark.name:
        return OnSpark(cells)
    if cells is not None:
        raise QueryError(f'compare: cells are Spark\'s: expected them with runner="spark" only, got {cells!r}')
    return Local()
