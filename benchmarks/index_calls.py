"""What looks of a catalog take that do not depend on tuples, rows of a chain, and what it takes to decide about maps.

`operators/index/price.py`, `admission.py` and `operators/tuning/learned.py` have these as constants, in times of a
tuple's look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks import indexes
from benchmarks.contenders import make_engine
from benchmarks.measure import SEED, Line
from benchmarks.workloads import COMPLETE, Workload, batches
from eddy.kernels.arguments import Chain, ChainKernels, Screen, Term, Walk
from eddy.kernels.choice import choose_chains
from eddy.query.together.queries import LONE
from eddy.tuples.arrays import Integers, Tags
from eddy.tuples.request import Request, TimeBounds
from eddy.tuples.splitmix import mix
from eddy.wiring import IndexChoice

ROWS = 20_000
"""Rows of a stream: windows of 10,000 are full for ten micro-batches."""

PROBES = 10_000
TURNS = 200

WINDOWS = (10_000, 40_000)
"""Rows of chains: caches hold the first, and not the second."""

MATCHES = 9
"""Rows of a value of the key that a chain has, none of which has the other key of the search."""

INPUT = "b"
"""The input that is searched, by its first key."""

CHOSEN = {"kind": "chosen", "chains": False, "period": 1_000, "trigger": 1_000}
"""Looks as often as there may be any."""


def calls(rows: int = ROWS, turns: int = TURNS, workload: Workload = COMPLETE) -> Iterator[Line]:
    """Nanoseconds of a look into a part: what each of many tuples takes, and what one takes however few there are."""
    engine = run(workload, rows, {"kind": "patterns", "chains": False})
    catalog = engine.lanes[LONE]._streams[INPUT].catalog
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
    engine: Any = make_engine(workload, parts[0], "random", CHOSEN)
    took: dict[bool, list[float]] = {False: [], True: []}
    known = 0
    for batch in parts:
        indexes._drain(engine, batch)
        learned = [tuner.learned for tuner in engine.lanes[LONE]._indexes._tuners._tuners.values()]
        new, known = sum(one.looks for one in learned) - known, sum(one.looks for one in learned)
        tracked = max(len(one.shares) for one in learned) or 1
        took[new > 0].append(engine.read_counters().tuning / (max(new, 1) * tracked))
    yield f"{workload.name}; {rows:,} rows, {len(took[True])} micro-batches with looks for other maps, seed {SEED}"
    if took[True]:
        yield f"a pattern that is tracked      {np.median(took[True]) * 1e6:10.1f} us"


def links(windows: Sequence[int] = WINDOWS, turns: int = TURNS) -> Iterator[Line]:
    """Nanoseconds of a row of a chain: one that is linked, one that lacks a key, and one that only shares the head."""
    kernels = choose_chains()
    yield f"chains, {PROBES // 10:,} tuples, seed {SEED}; nanoseconds a row"
    yield f"{'':<30}" + "".join(f"{window:>12,}" for window in windows)
    found = [_time_chains(kernels, window, turns) for window in windows]
    for name in found[0]:
        yield f"{name:<30}" + "".join(f"{took[name] * 1e9:12.1f}" for took in found)


def _time_chains(kernels: ChainKernels, rows: int, turns: int) -> dict[str, float]:
    """Time chains of so many rows, each by what one more row of its kind takes."""
    rng = np.random.default_rng(SEED)
    probes = PROBES // 10
    come = min(probes, rows)

    def walk(values: int, bits: int) -> Callable[[], object]:
        """Follow chains of a key of so many values, whose rows lack the other key of the search."""
        keys, wanted = (rng.integers(0, values, size) for size in (rows, probes))
        tags = _make_tags(keys)
        chain = Chain(np.zeros(1 << bits, np.uint32), np.zeros(rows, np.uint32), 1, rows.bit_length() + 1)
        kernels.link(chain, tags, 0)
        lacks = Term("=", np.zeros(rows, np.int64), None, np.ones(probes, np.int64), None)
        terms = [Term("=", keys, None, wanted, None), lacks]
        asked = Screen(terms, np.full(probes, rows), None, np.arange(rows), TimeBounds(None, None), None, rows)
        along = Walk(chain, mix([wanted]), True)
        return lambda: kernels.walk(along, asked, 0, 1 << 18, False)

    tags = _make_tags(rng.integers(0, rows, rows))
    bits = (rows - 1).bit_length()
    chain = Chain(np.zeros(1 << bits, np.uint32), np.zeros(rows, np.uint32), 1, rows.bit_length() + 1)
    kernels.link(chain, tags, 0)

    def link() -> None:
        kernels.unlink(chain, tags[rows - come :], rows - come)
        kernels.link(chain, tags[rows - come :], rows - come)

    few, many, shared = (
        median(walk(values, width), turns)
        for values, width in ((rows, bits), (rows // MATCHES, bits), (rows, bits - 3))
    )
    # A key of fewer values has that many rows more; with an eighth of the heads as many more only share one.
    alike = probes * (MATCHES - 1)
    heads = probes * (rows / (1 << bits - 3) - rows / (1 << bits))
    return {
        "a tuple that finds one": few / probes,
        "a row that lacks a key": (many - few) / alike,
        "a row that shares the head": (shared - few) / heads,
        "a row that is linked": median(link, turns) / come,
    }


def _make_tags(keys: Integers) -> Tags:
    """Make the tags of rows, all of which have a key: the rest of a hash, and a bit that is set."""
    return (mix([keys]) >> np.uint64(32)).astype(np.uint32) | np.uint32(1)


def decisions(rows: int = ROWS, workload: Workload = COMPLETE) -> Iterator[Line]:
    """Microseconds of a decision which maps there is room for, for each map that may be."""
    parts = batches(workload.data(rows))
    engine: Any = make_engine(workload, parts[0], "random", None)
    took: list[float] = []
    for store in engine.lanes[LONE]._streams.values():
        store.catalog.rest = partial(_note_decision, store.catalog, store.catalog.rest, took)
    for batch in parts:
        indexes._drain(engine, batch)
    yield f"{workload.name}; {rows:,} rows, {len(took)} decisions, seed {SEED}"
    if took:
        yield f"a map that may be              {np.median(took) * 1e6:10.1f} us"


def _note_decision(catalog: Any, rest: Callable[..., None], took: list[float], *room: int) -> None:
    """End a micro-batch of an input, and note what a decision took for each map."""
    admission = catalog._serving.admission
    before, started = admission.decisions, time.thread_time()
    rest(*room)
    if admission.decisions > before and admission._decided:
        took.append((time.thread_time() - started) / len(admission._decided))


def run(workload: Workload, rows: int, index: IndexChoice) -> Any:
    """Run an engine by chance, which searches by all patterns."""
    parts = batches(workload.data(rows))
    engine = make_engine(workload, parts[0], "random", index)
    for batch in parts:
        indexes._drain(engine, batch)
    return engine


def median(act: Callable[[], object], turns: int) -> float:
    """Time something by the thread's own clock, since others are at work on the machine; the median of some turns."""
    took = []
    for _ in range(turns):
        started = time.thread_time()
        act()
        took.append(time.thread_time() - started)
    return float(np.median(took))


COSTS: Sequence[Callable[..., Iterator[Line]]] = (calls, looks, links, decisions)
