"""Contenders in joins: the engine, DuckDB, and a loop written by hand.

DuckDB is given the same window contents as Arrow tables and one part of a query for each stream's new rows, whose join
order it chooses itself. The loop by hand keeps its windows in numpy arrays, sorts each stream's keys once per
micro-batch, and joins in the order that the engine is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.measure import make_clocks
from benchmarks.workloads import Batch, Columns, Ints, Workload
from eddy import wiring
from eddy.engine import Engine
from eddy.wiring import IndexChoice, PolicyChoice


def make_engine(workload: Workload, first: Batch, policy: PolicyChoice, index: IndexChoice = None) -> Engine:
    """Build the engine, for rows as in a first micro-batch."""
    schemas = {s: first[s].schema for s in workload.streams}
    return wiring.engine(workload.query(), schemas, policy, tables={}, seed=0, index=index, **make_clocks())


def run_whole(engine: Engine) -> Callable[[Batch], pa.Table]:
    """Build what runs a micro-batch and gives its whole answer."""
    return lambda batch: pa.Table.from_batches(engine.run(batch), schema=engine.schema)


class ByHand:
    """A loop for just this join, in one order, and no more."""

    def __init__(self, workload: Workload, order: str) -> None:
        self._order = order
        self._window = workload.window
        self._streams = workload.streams
        self._keys = {key: frozenset(members) for key, members in workload.keys.items()}
        self._windows: dict[str, Columns] = {}

    def __call__(self, batch: Batch) -> Columns:
        """Join the rows of one micro-batch with the windows."""
        new = {s: {c: batch[s].column(c).to_numpy() for c in batch[s].schema.names} for s in self._streams}
        oldest = min(int(columns["ts"][0]) for columns in new.values()) - self._window
        start: dict[str, int] = {}
        for s in self._streams:
            held = self._windows.get(s, {c: values[:0] for c, values in new[s].items()})
            first = np.searchsorted(held["ts"], oldest)
            start[s] = len(held["ts"]) - int(first)
            self._windows[s] = {c: np.concatenate((held[c][first:], values)) for c, values in new[s].items()}
        sorted_keys: dict[tuple[str, tuple[str, ...]], tuple[Ints, Ints]] = {}
        parts = [self._from(origin, start, sorted_keys) for origin in self._streams]
        return {s: np.concatenate([part[s] for part in parts]) for s in self._streams}

    def _from(
        self, origin: str, start: Mapping[str, int], sorted_keys: dict[tuple[str, tuple[str, ...]], tuple[Ints, Ints]]
    ) -> Columns:
        """All results whose last row came from one stream.

        Equal times come in the order of the streams.
        """
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
            keep &= now - then <= self._window
            found = {s: ids[at[keep]] for s, ids in found.items()} | {target: rows[keep]}
        return {s: windows[s]["id"][found[s]] for s in self._streams}


def _code(columns: Sequence[Ints]) -> Ints:
    """One number for several keys, each below 2^20."""
    code = columns[0]
    for column in columns[1:]:
        code = (code << 20) | column
    return code


class Duck:
    """DuckDB, asked for what each stream's new rows find, over the same windows."""

    def __init__(self, workload: Workload) -> None:
        self._connection = duckdb.connect()
        self._window = workload.window
        self._streams = workload.streams
        self._joins = " and ".join(f"{a}.{key} = {b}.{key}" for key, a, b in workload.joins())
        self._windows: dict[str, pa.Table] = {}

    def __call__(self, batch: Batch) -> pa.Table:
        """Join the rows of one micro-batch with the windows."""
        oldest = min(batch[s].column("ts")[0].as_py() for s in self._streams) - self._window
        for s in self._streams:
            new = pa.Table.from_batches([batch[s]])
            held = self._windows.get(s, new.slice(0, 0))
            first = int(np.searchsorted(held.column("ts").to_numpy(), oldest))
            self._windows[s] = pa.concat_tables([held.slice(first), new])
            self._connection.register(s, self._windows[s])
            self._connection.register(f"new_{s}", new)
        # One statement for all: in turns they take a tenth more. Windows in tables of DuckDB's own, from which old rows
        # are deleted, take up to a third more than those in Arrow.
        text = " union all ".join(map(self._text, self._streams))
        found: pa.Table = self._connection.sql(text).to_arrow_table()
        return found

    def _text(self, origin: str) -> str:
        columns = ", ".join(f"{s}.id as {s}" for s in self._streams)
        tables = ", ".join(f"new_{s} as {s}" if s == origin else s for s in self._streams)
        earlier = [f"{s}.ts {'<=' if s < origin else '<'} {origin}.ts" for s in self._streams if s != origin]
        inside = [f"{origin}.ts - {s}.ts <= {self._window}" for s in self._streams if s != origin]
        return f"select {columns} from {tables} where {self._joins} and {' and '.join(earlier + inside)}"
