"""What looks of a catalog take that do not depend on tuples, and what it takes to look for cheaper maps.

`operators/index/price.py` and `operators/tuning/learned.py` have both as constants, in times of a tuple's look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks import indexes
from benchmarks.measure import SEED, Line
from benchmarks.workloads import COMPLETE, Workload, batches
from eddy.tuples.request import Request
from eddy.wiring import IndexChoice

ROWS = 20_000
"""Rows of a stream: windows of 10,000 are full for ten micro-batches."""

PROBES = 10_000
TURNS = 200

INPUT = "b"
"""The input that is searched, by its first key."""

CHOSEN = {"kind": "chosen", "chains": False, "period": 1_000, "trigger": 1_000}
"""Looks as often as there may be any."""


def calls(rows: int = ROWS, turns: int = TURNS, workload: Workload = COMPLETE) -> Iterator[Line]:
    """Nanoseconds of a look into a part: what each of many tuples takes, and what one takes however few there are."""
    engine = run(workload, rows, {"kind": "patterns", "chains": False})
    catalog = engine._stores[INPUT].catalog
    codes = np.random.default_rng(SEED).integers(0, 1 << 40, PROBES)
    few, many = (median(partial(catalog.find, Request({0: codes[:probes]})), turns) for probes in (1, PROBES))
    parts = len(catalog.parts)
    each = (many - few) / parts / PROBES
    yield f"{workload.name}; {rows:,} rows, {parts} parts, seed {SEED}"
    yield f"a tuple looks into a part      {each * 1e9:10.1f} ns"
    yield f"a look, however few tuples     {few / parts * 1e9:10.1f} ns  {few / parts / each:8.0f} looks of a tuple"


def looks(rows: int = ROWS, workload: Workload = COMPLETE) -> Iterator[Line]:
    """Microseconds of a look for cheaper maps, for each pattern that is tracked."""
    parts = batches(workload.data(rows))
    engine: Any = indexes._engine(workload, parts[0], "random", CHOSEN)
    took: dict[bool, list[float]] = {False: [], True: []}
    known = 0
    for batch in parts:
        indexes._drain(engine, batch)
        learned = [tuner.learned for tuner in engine._indexes._tuners._tuners.values()]
        new, known = sum(one.looks for one in learned) - known, sum(one.looks for one in learned)
        tracked = max(len(one.shares) for one in learned) or 1
        took[new > 0].append(engine.read_counters().tuning / (max(new, 1) * tracked))
    yield f"{workload.name}; {rows:,} rows, {len(took[True])} micro-batches with looks for other maps, seed {SEED}"
    if took[True]:
        yield f"a pattern that is tracked      {np.median(took[True]) * 1e6:10.1f} us"


def run(workload: Workload, rows: int, index: IndexChoice) -> Any:
    """Run an engine by chance, which searches by all patterns."""
    parts = batches(workload.data(rows))
    engine = indexes._engine(workload, parts[0], "random", index)
    for batch in parts:
        indexes._drain(engine, batch)
    return engine


def median(act: Callable[[], object], turns: int) -> float:
    """Time something; the median of some turns."""
    took = []
    for _ in range(turns):
        started = time.perf_counter()
        act()
        took.append(time.perf_counter() - started)
    return float(np.median(took))


COSTS: Sequence[Callable[..., Iterator[Line]]] = (calls, looks)
