"""Four-way windowed joins, beside DuckDB asked per micro-batch and beside a loop written by hand.

Every pair of four streams has an equality of its own (or all share one key), windows hold 10,000 rows a stream, and
every 5,000 rows the sizes of the key domains are dealt anew, so that another order is best. A fifth of the rows belong
to planted matches. DuckDB is given the same window contents as Arrow tables and one query for each stream's new
rows, whose join order it chooses itself. The loop by hand keeps its windows in numpy arrays, sorts each stream's keys
once per micro-batch, and joins in the order that the engine is given.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import eddy
from benchmarks.measure import Goal, ratios, setting
from eddy import wiring
from eddy.engine import Engine

STREAMS = "abcd"
ROWS = 40_000
BATCH = 1_000
WINDOW = 10_000
PHASE = 5_000
SEED = 1
PLANTED = 5
"""One row in five belongs to a planted match."""

Ints = np.ndarray[Any, np.dtype[np.int64]]
Columns = dict[str, Ints]
Batch = Mapping[str, pa.RecordBatch]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A join graph, and the sizes of its keys' domains in each phase."""

    name: str
    keys: Mapping[str, str]
    domains: Callable[[np.random.Generator], Sequence[int]]
    window: int = WINDOW

    def data(self, rows: int, seed: int = SEED) -> dict[str, Columns]:
        """Every stream's columns; a key's name is that of the pair it joins, or of all."""
        rng = np.random.default_rng(seed)
        streams: dict[str, Columns] = {s: {"ts": np.arange(rows), "id": np.arange(rows)} for s in STREAMS}
        for key, members in self.keys.items():
            for s in members:
                streams[s][key] = np.zeros(rows, np.int64)
        for start in range(0, rows, PHASE):
            phase = slice(start, min(start + PHASE, rows))
            size = phase.stop - phase.start
            planted = {s: phase.start + rng.permutation(size)[: size // PLANTED] for s in STREAMS}
            for (key, members), domain in zip(self.keys.items(), self.domains(rng), strict=True):
                same = rng.integers(0, domain, size // PLANTED)
                for s in members:
                    streams[s][key][phase] = rng.integers(0, domain, size)
                    streams[s][key][planted[s]] = same
        return streams

    def joins(self) -> list[tuple[str, str, str]]:
        """The equalities: key and the two streams."""
        return [
            (key, a, b)
            for key, members in self.keys.items()
            for a, b in (itertools.combinations(members, 2) if len(members) == 2 else itertools.pairwise(members))
        ]

    def query(self) -> eddy.Query:
        """As the engine takes it."""
        return eddy.Query(
            streams=[eddy.Stream(s, time="ts", window=eddy.Range(self.window), delay=0) for s in STREAMS],
            joins=[f"{a}.{key} = {b}.{key}" for key, a, b in self.joins()],
            select=[f"{s}.id as {s}" for s in STREAMS],
        )


PAIRS = {a + b: a + b for a, b in itertools.combinations(STREAMS, 2)}

COMPLETE = Workload(
    name="complete graph, domains from 50 to 10,000",
    keys=PAIRS,
    domains=lambda rng: rng.permutation([50, 200, 500, 1_000, 2_000, 10_000]).tolist(),
)

CONTRAST = Workload(
    name="complete graph with contrast, domains from 5 to 50,000",
    keys=PAIRS,
    domains=lambda rng: rng.permutation([50, 500, 5_000, 50_000, 50_000, 50_000]).tolist(),
)

COMMON = Workload(name="one key of 10,000 values", keys={"k": STREAMS}, domains=lambda _: [10_000])


class ByHand:
    """What someone would write who needs just this join, in one order, and no more."""

    def __init__(self, workload: Workload, order: str) -> None:
        self._order = order
        self._keys = {key: frozenset(members) for key, members in workload.keys.items()}
        self._windows: dict[str, Columns] = {}

    def __call__(self, batch: Batch) -> Columns:
        """Join the rows of one micro-batch with the windows."""
        new = {s: {c: batch[s].column(c).to_numpy() for c in batch[s].schema.names} for s in STREAMS}
        oldest = min(int(columns["ts"][0]) for columns in new.values()) - WINDOW
        start: dict[str, int] = {}
        for s in STREAMS:
            held = self._windows.get(s, {c: values[:0] for c, values in new[s].items()})
            first = np.searchsorted(held["ts"], oldest)
            start[s] = len(held["ts"]) - int(first)
            self._windows[s] = {c: np.concatenate((held[c][first:], values)) for c, values in new[s].items()}
        sorted_keys: dict[tuple[str, tuple[str, ...]], tuple[Ints, Ints]] = {}
        parts = [self._from(origin, start, sorted_keys) for origin in STREAMS]
        return {s: np.concatenate([part[s] for part in parts]) for s in STREAMS}

    def _from(
        self, origin: str, start: Mapping[str, int], sorted_keys: dict[tuple[str, tuple[str, ...]], tuple[Ints, Ints]]
    ) -> Columns:
        """All results whose last row came from one stream; equal times come in the order of the streams."""
        windows = self._windows
        found = {origin: np.arange(start[origin], len(windows[origin]["ts"]))}
        for target in [s for s in self._order if s != origin]:
            keys = tuple(k for k, members in self._keys.items() if target in members and members & set(found))
            if (target, keys) not in sorted_keys:
                codes = _code([windows[target][k] for k in keys])
                order = np.argsort(codes, kind="stable")
                sorted_keys[target, keys] = (order, codes[order])
            order, codes = sorted_keys[target, keys]
            others = [next(s for s in found if s in self._keys[k]) for k in keys]
            wanted = _code([windows[s][k][found[s]] for s, k in zip(others, keys, strict=True)])
            low, high = np.searchsorted(codes, wanted), np.searchsorted(codes, wanted, side="right")
            count = high - low
            at = np.repeat(np.arange(len(wanted)), count)
            ends = np.cumsum(count)
            rows = order[np.arange(len(at)) + np.repeat(low - (ends - count), count)]
            now, then = windows[origin]["ts"][found[origin][at]], windows[target]["ts"][rows]
            keep = (then < now) | ((then == now) & (target < origin))
            keep &= now - then <= WINDOW
            found = {s: ids[at[keep]] for s, ids in found.items()} | {target: rows[keep]}
        return {s: windows[s]["id"][found[s]] for s in STREAMS}


def _code(columns: Sequence[Ints]) -> Ints:
    """One number for several keys, each below 2^20."""
    code = columns[0]
    for column in columns[1:]:
        code = (code << 20) | column
    return code


class Duck:
    """DuckDB, asked once for each stream's new rows, over the same windows."""

    def __init__(self, workload: Workload) -> None:
        self._connection = duckdb.connect()
        self._joins = " and ".join(f"{a}.{key} = {b}.{key}" for key, a, b in workload.joins())
        self._windows: dict[str, pa.Table] = {}

    def __call__(self, batch: Batch) -> list[pa.Table]:
        """Join the rows of one micro-batch with the windows."""
        oldest = min(batch[s].column("ts")[0].as_py() for s in STREAMS) - WINDOW
        for s in STREAMS:
            new = pa.Table.from_batches([batch[s]])
            held = self._windows.get(s, new.slice(0, 0))
            first = int(np.searchsorted(held.column("ts").to_numpy(), oldest))
            self._windows[s] = pa.concat_tables([held.slice(first), new])
            self._connection.register(s, self._windows[s])
            self._connection.register(f"new_{s}", new)
        return [self._connection.sql(self._text(origin)).to_arrow_table() for origin in STREAMS]

    def _text(self, origin: str) -> str:
        columns = ", ".join(f"{s}.id as {s}" for s in STREAMS)
        tables = ", ".join(f"new_{s} as {s}" if s == origin else s for s in STREAMS)
        earlier = [f"{s}.ts {'<=' if s < origin else '<'} {origin}.ts" for s in STREAMS if s != origin]
        inside = [f"{origin}.ts - {s}.ts <= {WINDOW}" for s in STREAMS if s != origin]
        return f"select {columns} from {tables} where {self._joins} and {' and '.join(earlier + inside)}"


def complete() -> Iterator[str]:
    """Every pair of streams has an equality of its own."""
    yield from _compare(COMPLETE)


def contrast() -> Iterator[str]:
    """The same, with orders that differ far more."""
    yield from _compare(CONTRAST)
    _, _, share = _orders(CONTRAST, _batches(CONTRAST.data(ROWS)))
    yield f"the best order of each phase looks at {share:.2f} of the candidates of the best fixed one (goal: 0.33)"


def common() -> Iterator[str]:
    """All streams share one key."""
    yield from _compare(COMMON)


def memory() -> Iterator[str]:
    """What a stored row occupies, with keys, verdicts and indexes, after 40 micro-batches."""
    yield f"bytes a stored row, of at most 1.5 times its Arrow size plus 16 (window of {WINDOW:,} rows)"
    for workload in (COMPLETE, COMMON):
        batches = _batches(workload.data(ROWS))
        engine = _engine(workload, batches[0], STREAMS)
        for batch in batches:
            _drain(engine, batch)
        stored = engine.counted().streams
        arrow = sum(batches[0][s].nbytes for s in STREAMS) / (BATCH * len(STREAMS))
        each = sum(count.nbytes for count in stored.values()) / sum(count.stored for count in stored.values())
        yield f"{workload.name:<60} {each:6.1f} of {1.5 * arrow + 16:6.1f}: {_verdict(each, 1.5 * arrow + 16)}"


def age() -> Iterator[str]:
    """Does a micro-batch cost more when the query is old."""
    workload, batch = COMMON, 200
    batches = _batches(workload.data(1_000 * batch), batch)
    engine = _engine(workload, batches[0], STREAMS)
    seconds = [_drain(engine, one) for one in batches]
    late, early = np.median(seconds[-100:]), np.median(seconds[100:200])
    yield f"1,000 micro-batches of {batch} rows a stream, {workload.name}: the median of the last 100 is"
    yield f"{late / early:.3f} times that of the second 100 (goal: at most 1.10): {_verdict(late / early, 1.1)}"


def growth() -> Iterator[str]:
    """How the cost of a micro-batch grows with its rows, and with the rows in the windows."""
    yield "milliseconds a micro-batch of four streams, one key with as many values as the window has rows"
    yield "rows a stream:   " + "".join(f"{rows:>10,}" for rows in SIZES)
    yield "window 10,000:   " + "".join(f"{_cost(rows, WINDOW):10.2f}" for rows in SIZES)
    yield "window (rows):   " + "".join(f"{10 * rows:>10,}" for rows in SIZES)
    yield "batch 1,000:     " + "".join(f"{_cost(BATCH, 10 * rows):10.2f}" for rows in SIZES)


SIZES = (250, 500, 1_000, 2_000, 4_000, 8_000)


def _cost(rows: int, window: int) -> float:
    """Milliseconds of the median micro-batch once the windows are full."""
    workload = Workload(name="growth", keys={"k": STREAMS}, domains=lambda _: [window], window=window)
    full = -(-window // rows)
    batches = _batches(workload.data((full + 12) * rows), rows)
    engine = _engine(workload, batches[0], STREAMS)
    return float(np.median([_drain(engine, batch) for batch in batches][full:])) * 1e3


def _drain(engine: Engine, batch: Batch) -> float:
    """Run a micro-batch to its end; says how long it took."""
    started = time.perf_counter()
    for _ in engine.run(batch):
        pass
    return time.perf_counter() - started


def _verdict(got: float, goal: float) -> str:
    return "met" if got <= goal else "missed"


def _compare(workload: Workload) -> Iterator[str]:
    """Ours beside the others on one workload."""
    batches = _batches(workload.data(ROWS))
    looked, best, _ = _orders(workload, batches)
    yield f"{workload.name}; best fixed order {best}, of {len(looked)}"
    yield setting(rows=ROWS, batch=BATCH, seed=SEED)
    contenders: dict[str, Callable[[Batch], object]] = {
        "eddy, best fixed order": _ours(workload, batches[0], best),
        "eddy again (control)": _ours(workload, batches[0], best),
        "by hand, the same order": ByHand(workload, best),
        "duckdb": Duck(workload),
    }
    yield from map(str, ratios(contenders, batches, baseline="eddy, best fixed order", goals=GOALS, agree=_agree))


GOALS: dict[str, Goal] = {"by hand, the same order": ("at least", 0.5), "duckdb": ("at least", 1.0)}
"""How long the others take at least, in times of ours."""


def _batches(data: Mapping[str, Columns], rows: int = BATCH) -> list[Batch]:
    tables = {s: pa.table(columns).combine_chunks().to_batches(max_chunksize=rows) for s, columns in data.items()}
    return [dict(zip(tables, parts, strict=True)) for parts in zip(*tables.values(), strict=True)]


def _engine(workload: Workload, first: Batch, order: str) -> Engine:
    schemas = {s: first[s].schema for s in STREAMS}
    policy = {"name": "fixed", "order": [f"probe_{s}" for s in order]}
    return wiring.engine(workload.query(), schemas, policy, tables={}, clock=time.perf_counter, seed=0)


def _ours(workload: Workload, first: Batch, order: str) -> Callable[[Batch], pa.Table]:
    engine = _engine(workload, first, order)
    return lambda batch: pa.Table.from_batches(engine.run(batch), schema=engine.schema)


def _orders(workload: Workload, batches: Sequence[Batch]) -> tuple[list[str], str, float]:
    """All orders, the best of them, and how far the best one of each phase looks, as a share of it.

    How far an order looks is the number of candidates that its probes look at.
    """
    orders = list(map("".join, itertools.permutations(STREAMS)))
    looked = np.zeros((len(orders), len(batches)))
    for row, order in enumerate(orders):
        engine = _engine(workload, batches[0], order)
        for column, batch in enumerate(batches):
            _drain(engine, batch)
            looked[row, column] = sum(s.evaluated for s in engine.counted().operators.values())
    phases = looked.reshape(len(orders), -1, PHASE // BATCH).sum(axis=2)
    fixed = looked.sum(axis=1)
    return orders, orders[int(fixed.argmin())], float(phases.min(axis=0).sum() / fixed.min())


def _agree(answers: Mapping[str, Any]) -> None:
    """All contenders must find the same results."""
    found = {name: _rows(answer) for name, answer in answers.items()}
    first = next(iter(found.values()))
    different = [name for name, rows in found.items() if rows != first]
    if different:
        raise AssertionError(f"the contenders do not agree: {different}")


def _rows(answer: pa.Table | Columns | list[pa.Table]) -> list[tuple[int, ...]]:
    table = (
        pa.concat_tables(answer)
        if isinstance(answer, list)
        else pa.table(answer)
        if isinstance(answer, dict)
        else answer
    )
    return sorted(zip(*(table.column(s).to_pylist() for s in STREAMS), strict=True))


BENCHMARKS = (complete, contrast, common, memory, age, growth)
