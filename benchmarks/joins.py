"""Four-way windowed joins, beside DuckDB and a loop by hand.

Every pair of four streams has an equality of its own (or all share one key), and windows hold 10,000 rows a stream.
The engine is given the best fixed order of probes, and so is the loop by hand.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import plots
from benchmarks.contenders import ByHand, Duck, make_engine, run_whole
from benchmarks.measure import Goal, Line, ratios, setting
from benchmarks.polars_joins import PolarsJoins
from benchmarks.workloads import (
    BATCH,
    COMMON,
    COMPLETE,
    CONTRAST,
    PHASE,
    ROWS,
    SEED,
    STREAMS,
    WINDOW,
    Batch,
    Columns,
    Workload,
    batches,
)
from eddy.engine import Engine
from eddy.wiring import PolicyChoice

OURS, CONTROL, BY_HAND, DUCK = "eddy, best fixed order", "eddy again (control)", "by hand, the same order", "duckdb"
WRITTEN, AUTO = "eddy, order as written", "eddy, auto"
POLARS = "polars, the same order"

GOALS: dict[str, Goal] = {BY_HAND: ("at least", 1.0), DUCK: ("at least", 1.0), POLARS: ("at least", 1.3)}
"""The time that others must take at least, in times of ours."""

COMMON_GOALS: dict[str, Goal] = {BY_HAND: ("at least", 0.8), DUCK: ("at least", 1.0), POLARS: ("at least", 1.5)}
"""The same where all streams share one key."""

CONTRAST_GOAL = 1 / 3
"""The share of the best fixed order's candidates that the best order of each phase may look at: else changing the order
cannot gain anything."""

AGE_GOAL = 1.1
AGES = 1_000
"""Micro-batches of a query that is old."""


def complete(rows: int = ROWS) -> Iterator[Line]:
    """Every pair of streams has an equality of its own."""
    yield from _compare(COMPLETE, rows)


def contrast(rows: int = ROWS) -> Iterator[Line]:
    """The same, with orders that differ far more."""
    yield from _compare(CONTRAST, rows, CONTRAST_GOAL)


def common(rows: int = ROWS) -> Iterator[Line]:
    """All streams share one key."""
    yield from _compare(COMMON, rows, goals=COMMON_GOALS)


def memory(rows: int = ROWS) -> Iterator[Line]:
    """Measure the bytes of a stored row after all micro-batches.

    With keys, verdicts and indexes.
    """
    yield f"bytes a stored row, of at most 1.5 times its Arrow size plus 16 (window of {WINDOW:,} rows)"
    for workload, policy in itertools.product((COMPLETE, COMMON), ("fixed", "random")):
        parts = batches(workload.data(rows))
        engine = make_engine(workload, parts[0], policy)
        for batch in parts:
            _drain(engine, batch)
        stored = engine.read_counters().streams
        arrow = sum(parts[0][s].nbytes for s in STREAMS) / (BATCH * len(STREAMS))
        each = sum(count.nbytes for count in stored.values()) / sum(count.stored for count in stored.values())
        most = 1.5 * arrow + 16
        yield f"{workload.name + ', policy ' + policy:<60} {each:6.1f} of {most:6.1f}: {_verdict(each, most)}"


def age(count: int = AGES, folder: Path = plots.FIGURES) -> Iterator[Line]:
    """Compare micro-batches of an old query and a young one.

    A young query and the old one take turns, so that whatever else the machine does hits both alike.
    """
    workload, size, tenth = COMMON, 200, count // 10
    parts = batches(workload.data(count * size), size)
    old, young = make_engine(workload, parts[0], "fixed"), make_engine(workload, parts[0], "fixed")
    milliseconds = [_drain(old, batch) * 1e3 for batch in parts[:-tenth]]
    for batch in parts[:tenth]:
        _drain(young, batch)
    turns = [(_drain(young, a), _drain(old, b)) for a, b in zip(parts[tenth : 2 * tenth], parts[-tenth:], strict=True)]
    early, late = (float(np.median(seconds)) * 1e3 for seconds in zip(*turns, strict=True))
    milliseconds += [seconds * 1e3 for _, seconds in turns]
    plots.age(folder / "joins_age.svg", milliseconds, {f"second {tenth}": early, f"last {tenth}": late})
    yield f"{count:,} micro-batches of {size} rows a stream, {workload.name}: the median of the last {tenth} is"
    goal = f"(goal: at most {AGE_GOAL:.2f}): {_verdict(late / early, AGE_GOAL)}"
    yield f"{late / early:.3f} times that of the second {tenth}, in turns {goal}"


def _drain(engine: Engine, batch: Batch) -> float:
    """Run a micro-batch to its end; says how long it took."""
    started = time.perf_counter()
    for _ in engine.run(batch):
        pass
    return time.perf_counter() - started


def _verdict(got: float, goal: float) -> str:
    return "met" if got <= goal else "missed"


def _compare(
    workload: Workload, rows: int, goal: float | None = None, goals: Mapping[str, Goal] = GOALS
) -> Iterator[Line]:
    """Compare ours with the others on one workload.

    `goal` is what the best order of each phase is to save.
    """
    parts = batches(workload.data(rows))
    looked = _count_candidates(workload, parts)
    best, share = _best(looked), _share(looked)
    yield f"{workload.name}; best fixed order {best}, of {len(looked)}"
    yield setting(rows=rows, batch=BATCH, seed=SEED)
    yield from ratios(contenders(workload, parts[0], best), parts, baseline=OURS, goals=goals, agree=agree)
    verdict = "" if goal is None else f" (goal: at most {goal:.2f}): {_verdict(share, goal)}"
    yield f"the best order of each phase looks at {share:.2f} of the candidates of the best fixed one{verdict}"


def contenders(workload: Workload, first: Batch, order: str) -> dict[str, Callable[[Batch], object]]:
    """All of them; the engine and the others that need one are given an order.

    The engine runs as it is written besides, and with `auto`, which begins with that and has to find a better one.
    """
    policies: dict[str, PolicyChoice] = {OURS: _fixed(order), CONTROL: _fixed(order), WRITTEN: "fixed", AUTO: "auto"}
    return {
        **{name: run_whole(make_engine(workload, first, policy)) for name, policy in policies.items()},
        BY_HAND: ByHand(workload, order),
        DUCK: Duck(workload),
        POLARS: PolarsJoins(workload, order),
    }


def _fixed(order: str) -> PolicyChoice:
    return {"name": "fixed", "order": [f"probe_{s}" for s in order]}


def best_order(workload: Workload, parts: Sequence[Batch]) -> str:
    """Find the order of probes that looks at the fewest candidates."""
    return _best(_count_candidates(workload, parts))


def _count_candidates(workload: Workload, parts: Sequence[Batch]) -> dict[str, list[float]]:
    """Count the candidates that probes look at, by order.

    In the middle micro-batch of each phase.

    What is stored does not depend on the order, so one engine fills the windows for all of them.
    """
    looked: dict[str, list[float]] = {"".join(order): [] for order in itertools.permutations(workload.streams)}
    phase = PHASE // BATCH
    filling = make_engine(workload, parts[0], "fixed")
    for number, batch in enumerate(parts):
        if number % phase == phase // 2:
            snapshot = filling.snapshot()
            for order, counts in looked.items():
                engine = make_engine(workload, batch, _fixed(order))
                engine.restore(snapshot)
                _drain(engine, batch)
                counts.append(sum(s.evaluated for s in engine.read_counters().operators.values()))
        _drain(filling, batch)
    return looked


def _best(looked: Mapping[str, Sequence[float]]) -> str:
    """The order that looks at the fewest candidates in all."""
    return min(looked, key=lambda order: sum(looked[order]))


def _share(looked: Mapping[str, Sequence[float]]) -> float:
    """Compare the best order of each phase with the best fixed one.

    Gives the share of candidates that it looks at.
    """
    phases = np.array(list(looked.values()))
    return float(phases.min(axis=0).sum() / phases.sum(axis=1).min())


def agree(answers: Mapping[str, Any]) -> None:
    """All contenders must find the same results."""
    found = {name: rows_of(answer) for name, answer in answers.items()}
    first = next(iter(found.values()))
    different = [name for name, rows in found.items() if rows != first]
    if different:
        raise AssertionError(f"the contenders do not agree: {different}")


def rows_of(answer: pa.Table | Columns | list[pa.Table]) -> list[tuple[int, ...]]:
    """An answer in an order that all have."""
    if isinstance(answer, list):
        table = pa.concat_tables(answer)
    else:
        table = pa.table(answer) if isinstance(answer, dict) else answer
    return sorted(zip(*(table.column(s).to_pylist() for s in sorted(table.column_names)), strict=True))


BENCHMARKS = (complete, contrast, common, memory, age)
