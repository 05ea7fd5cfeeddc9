"""Growth of a join's cost with its windows, results equal: both kinds of kernels, and chains of rows beside order.

Each contender is a process of its own, since kernels are chosen once in a process; at every micro-batch all of them
take turns, with each of their windows. What counts is the CPU of a process: a machine with other work takes longer, but
hardly works more.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import plots
from benchmarks.measure import SEED, Line, setting
from benchmarks.workloads import BATCH, STREAMS, Batch, Columns, Workload, batches
from eddy import wiring
from eddy.engine import Engine
from eddy.kernels.choice import VARIABLE
from eddy.tuples.arrays import Floats

SIZES = (1_000, 10_000, 100_000, 500_000)
BASE = 10_000
COUNTED = 40
WARM = 5
"""Micro-batches of each window before those that count, once it is full."""

FILLING = 10_000
"""Rows of the micro-batches that fill windows."""

GOAL = 1.5
"""The time of the largest window, in times of that of `BASE`."""

Curve = Sequence[tuple[float, float, float]]


class Contender(NamedTuple):
    """Kernels, and whether searches may go along chains."""

    kernels: str
    chains: bool


CONTENDERS: Mapping[str, Contender] = {
    "numpy, rows in order": Contender("numpy", False),
    "compiled, rows in order": Contender("numba", False),
    "compiled, chains": Contender("numba", True),
    "compiled, chains again (control)": Contender("numba", True),
}


def windows(sizes: Sequence[int] = SIZES, counted: int = COUNTED, folder: Path = plots.FIGURES) -> Iterator[Line]:
    """Four streams that share one key with as many values as the window has rows."""
    yield "milliseconds of CPU of a micro-batch, four streams, one key with as many values as the window has rows"
    yield setting(rows=counted * BATCH, batch=BATCH, seed=SEED) + f", {WARM} more before"
    found = _measure(sizes, WARM + counted)
    yield f"{'rows of a window':<34}" + "".join(f"{size:>12,}" for size in sizes)
    curves: dict[str, Curve] = {}
    for name, seconds in found.items():
        low, middle, high = np.percentile(seconds[WARM:] * 1e3, [25, 50, 75], axis=0)
        curves[name] = list(zip(low.tolist(), middle.tolist(), high.tolist(), strict=True))
        grown = f"  {middle[-1] / middle[sizes.index(BASE)]:.2f} times" if BASE in sizes else ""
        yield f"{name:<34}" + "".join(f"{one:12.2f}" for one in middle) + grown
    plots.contenders(folder / "join_windows.svg", "rows of a window", sizes, curves)
    yield f"times: the largest window's over that of {BASE:,} rows; goal at most {GOAL}"


def _measure(sizes: Sequence[int], count: int) -> dict[str, Floats]:
    """Give CPU seconds of each contender, a row for each micro-batch and a column for each window."""
    chance = np.random.default_rng(SEED)
    with ExitStack() as stack:
        ends = {name: stack.enter_context(_start(one, sizes, count)) for name, one in CONTENDERS.items()}
        seconds: dict[str, Floats] = {name: np.zeros((count, len(sizes))) for name in ends}
        for end in ends.values():
            end.recv()
        turns = [(name, at) for name in ends for at in range(len(sizes))]
        for number in range(count):
            results: dict[int, set[int]] = {}
            for which in chance.permutation(len(turns)):
                name, at = turns[which]
                ends[name].send((at, number))
                seconds[name][number, at], rows = ends[name].recv()
                results.setdefault(at, set()).add(rows)
            if any(len(rows) > 1 for rows in results.values()):
                raise AssertionError(f"the contenders do not find as many results: {results}")
    return seconds


@contextmanager
def _start(contender: Contender, sizes: Sequence[int], count: int) -> Iterator[Connection]:
    """Start a contender's process; it ends when nobody asks any more."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = contender.kernels
    try:
        process = context.Process(target=serve, args=(theirs, contender.chains, sizes, count), daemon=True)
        process.start()
    finally:
        os.environ.pop(VARIABLE, None) if before is None else os.environ.update({VARIABLE: before})
    try:
        yield ours
    finally:
        ours.send(None)
        process.join()


def serve(end: Connection, chains: bool, sizes: Sequence[int], count: int) -> None:
    """Fill windows, and then run the micro-batches that are asked for; says what each took, and its results."""
    made = [_fill(size, count, chains) for size in sizes]
    end.send(None)
    while (asked := end.recv()) is not None:
        at, number = asked
        engine, parts = made[at]
        gc.collect(0)
        started = time.process_time()
        rows = sum(batch.num_rows for batch in engine.run(parts[number]))
        end.send((time.process_time() - started, rows))


def _fill(window: int, count: int, chains: bool) -> tuple[Engine, list[Batch]]:
    """Make an engine whose windows are full, and the micro-batches that come next."""
    workload = Workload(name="one key", keys={"k": STREAMS}, domains=lambda _: [window], window=window)
    # Rows outlive their windows by a quarter at most.
    filling = -(-window * 5 // 4 // FILLING) * FILLING
    data = workload.data(filling + count * BATCH)
    parts = batches(_cut(data, slice(filling, None)))
    schemas = {s: parts[0][s].schema for s in workload.streams}
    index = {"kind": "patterns", "chains": chains}
    engine = wiring.engine(
        workload.query(), schemas, "fixed", tables={}, clock=time.perf_counter, seed=SEED, index=index
    )
    for batch in batches(_cut(data, slice(filling)), FILLING):
        for _ in engine.run(batch):
            pass
    return engine, parts


def _cut(data: Mapping[str, Columns], part: slice) -> dict[str, Columns]:
    return {s: {name: values[part] for name, values in columns.items()} for s, columns in data.items()}


BENCHMARKS = (windows,)
