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
from benchmarks.measure import ratios
from eddy import wiring
from eddy.engine import Engine

STREAMS = "abcd"
ROWS = 40_000
BATCH = 1_000
WINDOW = 10_000
PHASE = 5_000
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

    def data(self, rows: int, seed: int = 1) -> dict[str, Columns]:
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
            streams=[eddy.Stream(s, time="ts", window=eddy.Range(WINDOW), delay=0) for s in STREAMS],
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
        self._connection.execute("set threads = 1")
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


def run(workload: Workload) -> Iterator[str]:
    """Compare on one workload."""
    data = workload.data(ROWS)
    batches = _batches(data)
    orders, best = _orders(workload, batches)
    yield f"{workload.name}; best fixed order {best}, of {len(orders)} orders"
    ours = _engine(workload, batches[0], best)
    by_hand, duck = ByHand(workload, best), Duck(workload)

    def eddy_(batch: Batch) -> pa.Table:
        return pa.Table.from_batches(ours.run(batch), schema=ours.schema)

    _agree(workload, batches[:3], best)
    contenders: dict[str, Callable[[Batch], object]] = {
        "eddy, best fixed order": eddy_,
        "eddy again (control)": _again(workload, batches[0], best),
        "by hand, the same order": by_hand,
        "duckdb": duck,
    }
    yield from map(str, ratios(contenders, batches, baseline="eddy, best fixed order"))


def _batches(data: Mapping[str, Columns]) -> list[Batch]:
    tables = {s: pa.table(columns).combine_chunks().to_batches(max_chunksize=BATCH) for s, columns in data.items()}
    return [dict(zip(tables, parts, strict=True)) for parts in zip(*tables.values(), strict=True)]


def _engine(workload: Workload, first: Batch, order: str) -> Engine:
    schemas = {s: first[s].schema for s in STREAMS}
    policy = {"name": "fixed", "order": [f"probe_{s}" for s in order]}
    return wiring.engine(workload.query(), schemas, policy, tables={}, clock=time.perf_counter, seed=0)


def _again(workload: Workload, first: Batch, order: str) -> Callable[[Batch], object]:
    engine = _engine(workload, first, order)
    return lambda batch: pa.Table.from_batches(engine.run(batch), schema=engine.schema)


def _orders(workload: Workload, batches: Sequence[Batch]) -> tuple[dict[str, float], str]:
    """The candidates that each order looks at over all micro-batches, and the best order."""
    looked: dict[str, float] = {}
    for order in map("".join, itertools.permutations(STREAMS)):
        engine, looked[order] = _engine(workload, batches[0], order), 0.0
        for batch in batches:
            for _ in engine.run(batch):
                pass
            looked[order] += sum(s.evaluated for s in engine.counted().operators.values())
    return looked, min(looked, key=lambda order: looked[order])


def _agree(workload: Workload, batches: Sequence[Batch], order: str) -> None:
    """All contenders must find the same results."""
    ours, by_hand, duck = _again(workload, batches[0], order), ByHand(workload, order), Duck(workload)
    for batch in batches:
        found = [_rows(ours(batch)), _rows(pa.table(by_hand(batch))), _rows(pa.concat_tables(duck(batch)))]
        if not found[0] == found[1] == found[2]:
            raise AssertionError("the contenders do not agree")


def _rows(table: object) -> list[tuple[int, ...]]:
    assert isinstance(table, pa.Table)
    return sorted(zip(*(table.column(s).to_pylist() for s in STREAMS), strict=True))
