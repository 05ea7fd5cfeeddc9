"""Queries that are answered together, beside the same queries one after the other; without Spark.

Four streams join by one key, in windows of 10,000 rows; see `query_sets`. What counts is the CPU of the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from benchmarks import plots
from benchmarks.contenders import run_whole
from benchmarks.measure import SEED, Goal, Line, setting, summary, times_of
from benchmarks.query_sets import QuerySet, agree, make_data
from benchmarks.workloads import BATCH, STREAMS, WINDOW, Batch, batches
from eddy import wiring
from eddy.engine import Engine
from eddy.observe.counters import Counters

FILLING = 12
"""Micro-batches that fill the windows, and do not count."""

COUNTED = 20
FEW = 8
"""Micro-batches that count where they are long."""

TOGETHER, CONTROL, APART = "together", "together again (control)", "one after the other"
LONE, AGAIN, SET_OF_ONE = "a query alone", "alone again (control)", "a set of one"

ROUNDS = 10
"""Rounds of hashing a row of a costly filter: several microseconds."""

COUNTS = (1, 2, 4, 8, 16, 32, 64)

STATE_GOAL, ONE_GOAL = 1.1, 1.02


class Together:
    """One engine for all queries."""

    def __init__(self, queries: Mapping[str, eddy.Query], first: Batch) -> None:
        begun = {
            name: wiring.Begun(query=query, schemas={s: rows.schema for s, rows in first.items()}, policy="fixed")
            for name, query in queries.items()
        }
        self.engine = wiring.engine_together(begun, {}, wiring.Tools(clock=time.perf_counter, seed=SEED))
        self.calls = 0

    def __call__(self, batch: Batch) -> dict[str, pa.Table]:
        """Answer all queries."""
        found: dict[str, list[pa.RecordBatch]] = {name: [] for name in self.engine.lanes}
        for name, rows in self.engine.run_each(batch):
            found[name].append(rows)
        self.calls += sum(map(count_calls, self.engine.read_each().values()))
        lanes = self.engine.lanes
        return {name: pa.Table.from_batches(parts, schema=lanes[name].binding.schema) for name, parts in found.items()}


class Apart:
    """An engine for each query; they run one after the other."""

    def __init__(self, queries: Mapping[str, eddy.Query], first: Batch) -> None:
        schemas = {s: rows.schema for s, rows in first.items()}
        self.engines = {name: _make_engine(query, schemas) for name, query in queries.items()}
        self.calls = 0

    def __call__(self, batch: Batch) -> dict[str, pa.Table]:
        """Answer all queries."""
        found = {name: run_whole(engine)(batch) for name, engine in self.engines.items()}
        self.calls += sum(count_calls(engine.read_counters()) for engine in self.engines.values())
        return found


def _make_engine(
    query: eddy.Query, schemas: Mapping[str, pa.Schema], tables: Mapping[str, pa.RecordBatch] | None = None
) -> Engine:
    return wiring.engine(query, schemas, "fixed", tables=tables or {}, clock=time.perf_counter, seed=SEED)


def count_calls(counters: Counters) -> int:
    """Count the rows about which filters were asked in a micro-batch."""
    return sum(
        round(done.evaluated - done.skipped - done.reused)
        for hop, done in counters.operators.items()
        if "_below_" in hop.operator
    )


def one(counted: int = 4 * COUNTED) -> Iterator[Line]:
    """A set of one query, beside the query itself."""
    parts = _make_parts(counted)
    queries = QuerySet(count=1).write(list_streams())
    contenders: dict[str, Callable[[Batch], object]] = {
        LONE: Apart(queries, parts[0]),
        AGAIN: Apart(queries, parts[0]),
        SET_OF_ONE: Together(queries, parts[0]),
    }
    yield "a set of one query beside the query itself; " + setting(rows=counted * BATCH, batch=BATCH, seed=SEED)
    yield from _compare(contenders, parts, LONE, {SET_OF_ONE: ("at most", ONE_GOAL)})


def eight(counted: int = COUNTED) -> Iterator[Line]:
    """Eight queries with half of their filters in common: seconds, calls, bytes of state and of memory."""
    parts = _make_parts(counted)
    queries = QuerySet(rounds=0).write(list_streams())
    whole, apart = Together(queries, parts[0]), Apart(queries, parts[0])
    again = Together(queries, parts[0])
    contenders: dict[str, Callable[[Batch], object]] = {TOGETHER: whole, CONTROL: again, APART: apart}
    yield f"{len(queries)} queries, two of four filters in common; " + setting(
        rows=counted * BATCH, batch=BATCH, seed=SEED
    )
    yield from _compare(contenders, parts, TOGETHER)
    yield f"rows about which functions were asked: {whole.calls:,} together, {apart.calls:,} apart"
    yield f"    {whole.calls / apart.calls:.3f} times"
    saved, alone = _count_saved(whole.engine), [_count_saved(engine) for engine in apart.engines.values()]
    times = saved / max(alone)
    yield f"bytes of state: {saved:,} together, {max(alone):,} the largest alone, {sum(alone):,} in all apart"
    yield f"    {times:.3f} times the largest alone (goal: at most {STATE_GOAL}): {_tell(times <= STATE_GOAL)}"
    held, single = _count_held(whole.engine), [_count_held(engine) for engine in apart.engines.values()]
    yield f"bytes in memory: {held:,} together, {max(single):,} the largest alone, {sum(single):,} in all apart"
    yield f"    {held / sum(single):.3f} times those apart, {held / max(single):.3f} times the largest alone"


def overlap(counted: int = FEW) -> Iterator[Line]:
    """Eight queries with none to all of their four filters in common, cheap ones and costly ones."""
    parts = _make_parts(counted)
    told = f"8 queries, four filters each; costly ones hash each row {ROUNDS} times; "
    yield told + setting(rows=counted * BATCH, batch=BATCH, seed=SEED)
    for name, rounds in (("cheap", 0), ("costly", ROUNDS)):
        for shared in range(len(STREAMS) + 1):
            queries = QuerySet(shared=shared, rounds=rounds).write(list_streams())
            whole, apart = Together(queries, parts[0]), Apart(queries, parts[0])
            times = times_of({TOGETHER: whole, APART: apart}, parts, agree=agree, clock=time.process_time)[FILLING:]
            low, middle, high = np.percentile(times[:, 1] / times[:, 0], [25, 50, 75])
            ratio = f"{middle:6.3f} [{low:.3f} .. {high:.3f}] times together"
            calls = f"calls {whole.calls / apart.calls:.3f} of those apart"
            yield f"{name:<7} {25 * shared:>4} % in common: one after the other takes {ratio}; {calls}"


def growth(counts: Sequence[int] = COUNTS, counted: int = FEW, folder: Path = plots.FIGURES) -> Iterator[Line]:
    """One to 64 queries together, and one after the other."""
    parts = _make_parts(counted)
    yield "milliseconds of CPU of a micro-batch, and of one more query; " + setting(
        rows=counted * BATCH, batch=BATCH, seed=SEED
    )
    curves: dict[str, list[tuple[float, float, float]]] = {TOGETHER: [], APART: []}
    contenders: dict[str, Callable[[Batch], object]] = {}
    for count in counts:
        queries = QuerySet(count=count).write(list_streams())
        contenders |= {f"{TOGETHER} {count}": Together(queries, parts[0]), f"{APART} {count}": Apart(queries, parts[0])}
    times = times_of(contenders, parts, clock=time.process_time)[FILLING:] * 1e3
    found = dict(zip(contenders, times.T, strict=True))
    first = float(np.median(found[f"{TOGETHER} {counts[0]}"]))
    for count in counts:
        middles = {}
        for kind, curve in curves.items():
            low, middles[kind], high = np.percentile(found[f"{kind} {count}"], [25, 50, 75]).tolist()
            curve.append((low, middles[kind], high))
        further = "" if count == 1 else f"; one more {(middles[TOGETHER] - first) / (count - counts[0]):6.2f}"
        told = ", ".join(f"{kind} {middle:8.2f}" for kind, middle in middles.items())
        yield f"{count:>3} queries: {told}{further}; {middles[APART] / middles[TOGETHER]:.2f} times"
    plots.contenders(folder / "together_queries.svg", "queries", counts, curves)


LITERALS: Mapping[str, tuple[str, str]] = {
    "equal to": ("d.v = {bound}", "d.v = p.bound"),
    "below": ("d.v < {bound}", "d.v < p.bound"),
}
"""How a query compares with its literal, and with that of a table of parameters."""


def parameters(counts: Sequence[int] = (2, 8, 32, 64), counted: int = FEW) -> Iterator[Line]:
    """Queries that differ in a literal, beside one query that joins a table of the literals."""
    parts = _make_parts(counted)
    yield "queries that differ in a literal, in times of one query that joins a table of parameters; " + setting(
        rows=counted * BATCH, batch=BATCH, seed=SEED
    )
    for name, (condition, joined) in LITERALS.items():
        for count in counts:
            bounds = {f"q{number}": 1 + number * 999 // count for number in range(count)}
            contenders: dict[str, Callable[[Batch], object]] = {
                "table": _Table(joined, bounds, parts[0]),
                "table again": _Table(joined, bounds, parts[0]),
                "set": Together(_write_literals(condition, bounds), parts[0]),
            }
            times = times_of(contenders, parts, agree=agree, clock=time.process_time)[FILLING:]
            low, middle, high = np.percentile(times[:, 2] / times[:, 0], [25, 50, 75])
            control = float(np.median(times[:, 1] / times[:, 0]))
            ratio = f"{middle:6.3f} [{low:.3f} .. {high:.3f}]"
            each = " / ".join(f"{1e3 * float(np.median(times[:, at])):.2f}" for at in (2, 0))
            yield f"{name:<9} {count:>3} queries: {ratio}, control {control:.3f}; {each} ms a micro-batch"


def _write_literals(condition: str, bounds: Mapping[str, int]) -> dict[str, eddy.Query]:
    template = QuerySet(count=1, shared=0).write(list_streams())["q0"]
    return {
        name: eddy.Query(
            name=name,
            streams=template.streams,
            joins=template.joins,
            filters=[eddy.Filter("bound", on="d", where=condition.format(bound=bound))],
            select=template.select,
        )
        for name, bound in bounds.items()
    }


class _Table:
    """One query that joins a table of parameters."""

    def __init__(self, condition: str, bounds: Mapping[str, int], first: Batch) -> None:
        template = QuerySet(count=1, shared=0).write(list_streams())["q0"]
        query = eddy.Query(
            streams=template.streams,
            tables=[eddy.Table("p")],
            joins=[*template.joins, condition],
            select=["p.query", *(f"{s}.id as {s}" for s in STREAMS)],
        )
        table = pa.record_batch({"query": [*bounds], "bound": [*bounds.values()]})
        schemas = {s: rows.schema for s, rows in first.items()}
        self.engine = _make_engine(query, schemas, {"p": table})

    def __call__(self, batch: Batch) -> pa.Table:
        """Answer all queries; the answer says whose rows they are."""
        return run_whole(self.engine)(batch)


def list_streams() -> list[eddy.Stream]:
    """List the streams as the engine takes them, with times that are numbers."""
    return [eddy.Stream(s, time="ts", window=eddy.Range(WINDOW), delay=0) for s in STREAMS]


def _make_parts(counted: int) -> list[Batch]:
    return batches(make_data((FILLING + counted) * BATCH))


def _compare(
    contenders: Mapping[str, Callable[[Batch], object]],
    parts: Sequence[Batch],
    baseline: str,
    goals: Mapping[str, Goal] | None = None,
) -> Iterator[Line]:
    times = times_of(contenders, parts, agree=agree, clock=time.process_time)[FILLING:]
    for ratio in summary(list(contenders), times, baseline=baseline, goals=goals):
        yield ratio
        yield f"    {1e3 * ratio.each:.2f} ms a micro-batch"


def _count_saved(engine: Engine) -> int:
    """Count the bytes of a state."""
    state: Any = engine.snapshot()
    return len(state.meta) + len(state.blob)


def _count_held(engine: Engine) -> int:
    """Count the bytes of rows and indexes in memory; reports count rows for each query that needs them."""
    stores: Any = engine._rows.values()  # nobody else has to tell what all queries hold together
    own = sum(view.nbytes - rows.count_bytes(view) for rows in stores for view in rows.views)
    return int(own + sum(rows.nbytes for rows in stores))


def _tell(is_met: bool) -> str:
    return "met" if is_met else "missed"


BENCHMARKS = (one, eight, overlap, growth, parameters)
