"""More than usual of everything: a burst, a hot key, a stream that stalls, windows that explode, rows that all raise.

Each kind of load has an answer that can be told without forming it, and must be given within `MEMORY`, or be refused
by a limit before that. Materialised, what comes out would be larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import eddy
from eddy.policies.registry import POLICIES
from eddy.wiring import PolicyChoice
from tests.memory import measured
from tests.policies.choices import chosen

MEMORY = 192 << 20
"""Bytes, for rows of a few hundred thousand bytes: some more than what the tuples come to that the engine lets wait, in
every form that they have at a time. It does not grow with what is formed."""

HOT = 5_000
"""Rows of one key that make four hundred megabytes of pairs."""

MINUTE, HOUR, AFTER = 60, 60, 20
"""Seconds, and minutes: of a stall, and of what comes after it."""

Batches = Mapping[str, Sequence[pa.Table]]


@dataclass(frozen=True, kw_only=True)
class Load:
    """A kind of load, its size, and how the streams are joined."""

    kind: str
    rows: int
    join: str
    policy: str


def _table(ts: Any, k: Any, v: Any = None) -> pa.Table:
    return pa.table({"ts": ts, "k": k, "v": np.arange(len(ts)) if v is None else v})


def _query(names: str, joins: Sequence[str], window: Any, **more: Any) -> eddy.Query:
    streams = [eddy.Stream(name, time="ts", window=window, delay=0) for name in names]
    return eddy.Query(streams=streams, joins=joins, select=[f"{name}.v as {name}" for name in names], **more)


def _counted(load: Load, query: eddy.Query, data: Batches) -> Iterator[int]:
    """The sizes of the parts in which results come."""
    probes = [f"probe_{stream.name}" for stream in query.streams] if query.joins else []
    names = [*(f.name for f in query.filters), *probes]
    for part in eddy.iter_local(query, data, policy=_choice(load, names), batch_rows=1 << 30):
        yield part.num_rows


def _choice(load: Load, operators: Sequence[str]) -> PolicyChoice:
    return chosen(load.policy, operators, "a.k")


def _refused(load: Load, query: eddy.Query, data: Batches, limit: str) -> str:
    with pytest.raises(eddy.QueryError, match=limit):
        sum(_counted(load, query, data))
    return "refused"


def hot_key(load: Load) -> str:
    """All rows of two streams join, and half of the pairs pass a filter."""
    size = HOT + load.rows
    data = {name: [_table(np.ones(size, np.int64), np.full(size, 7))] for name in "ab"}
    asked = _query("ab", [load.join], eddy.Range(10), filters=[eddy.Filter("less", on=("a", "b"), where="a.v < b.v")])
    assert sum(_counted(load, asked, data)) == size * (size - 1) // 2
    return "in parts"


def hot_key_between(load: Load) -> str:
    """Pairs without end are formed on the way, and none of them is a result."""
    size = HOT // 2 + load.rows
    data = {name: [_table(np.ones(size, np.int64), np.full(size, 7))] for name in "ab"}
    data["c"] = [_table([1], [7], [-1])]
    asked = _query("abc", [load.join, "b.k = c.k", "a.v + b.v = c.v"], eddy.Range(10))
    assert sum(_counted(load, asked, data)) == 0
    return "in parts"


def burst(load: Load) -> str:
    """One micro-batch is ten times as large as the others."""
    usual = 200 + load.rows
    sizes = [usual, usual, 10 * usual, usual]
    chance = np.random.default_rng(load.rows)
    data = {name: [_table(np.full(n, t * 5), chance.integers(0, 20, n)) for t, n in enumerate(sizes)] for name in "ab"}
    a, b = (pa.concat_tables(data[name]).to_pandas().groupby(["ts", "k"]).size().reset_index(name="n") for name in "ab")
    met = a.merge(b, how="cross")
    met = met[((met["ts_x"] - met["ts_y"]).abs() <= 10) & MATCHES[load.join](met["k_x"], met["k_y"])]
    found = sum(_counted(load, _query("ab", [load.join], eddy.Range(10)), data))
    assert found == int((met["n_x"] * met["n_y"]).sum())
    return "in parts"


def stall(load: Load) -> str:
    """A stream says nothing for an hour while others go on; when it is back, what was kept for it is let go of."""
    size, minutes = 200 + load.rows, range(HOUR + AFTER)
    going = [_table(np.full(size, t * MINUTE), np.arange(size)) for t in minutes]
    late = [_table([t * MINUTE] if t == 0 or t >= HOUR else [], [1] if t == 0 or t >= HOUR else []) for t in minutes]
    late = [table.cast(going[0].schema) for table in late]
    joins, window, data = ["a.k = b.k", "b.k = c.k"], eddy.Range(MINUTE - 1), {"a": going, "b": going, "c": late}
    policy = _choice(load, ["probe_a", "probe_b", "probe_c"])
    run = eddy.run_local(_query("abc", joins, window), data, policy=policy, batch_rows=1 << 30)
    assert run.results.num_rows == 1 + AFTER
    stored = run.report.streams().query("stream == 'a'")["stored"].tolist()
    assert max(stored) == HOUR * size
    assert stored[-1] < HOUR * size // 4
    return _refused(load, _query("abc", joins, window, max_state=size * HOUR * 8), data, "max_state")


def explosion(load: Load) -> str:
    """A window without end, of a comparison that is always true."""
    size = HOT + load.rows
    data = {name: [_table(np.arange(size), np.full(size, 7))] for name in "ab"}
    limits = {"max_fanout": size // 2} if load.rows % 2 else {"max_results": 10 * size}
    return _refused(load, _query("ab", ["a.k <= b.k"], eddy.Unbounded(), **limits), data, next(iter(limits)))


def faults(load: Load) -> str:
    """Every row raises, and every pair has an error of its own."""
    size = 1_000 + 10 * load.rows

    def raises(v: int) -> bool:
        raise ValueError(f"{v} " + "x" * 1_000)

    rows = _table(np.arange(size), np.arange(size))
    filters = [
        eddy.Filter("raises", on="a", function=raises, columns=["v"], rowwise=True, on_error="keep"),
        eddy.Filter("divides", on="a", where="1 / (k - v) > 0", on_error="keep"),
    ]
    assert sum(_counted(load, _query("a", [], eddy.Range(10), filters=filters), {"a": [rows]})) == size
    return "counted"


LOADS: dict[str, Callable[[Load], str]] = {
    "hot key": hot_key,
    "hot key between": hot_key_between,
    "burst": burst,
    "stall": stall,
    "explosion": explosion,
    "faults": faults,
}

MATCHES: dict[str, Callable[[pd.Series, pd.Series], Any]] = {
    "a.k = b.k": lambda a, b: a == b,
    "a.k <= b.k": lambda a, b: a <= b,
    "abs(a.k - b.k) <= 1": lambda a, b: (a - b).abs() <= 1,
    "a.k + b.k > 13": lambda a, b: a + b > 13,
}
"""The joins, and the same for pandas. Equal keys, of 7, fulfil each of them."""


def loads(kinds: Sequence[str] = tuple(LOADS)) -> st.SearchStrategy[Load]:
    """Loads of some kinds."""
    return st.builds(
        Load,
        kind=st.sampled_from(kinds),
        rows=st.integers(0, 200),
        join=st.sampled_from(sorted(MATCHES)),
        policy=st.sampled_from(sorted(POLICIES)),
    )


def bear(load: Load, number: int = 0) -> str:
    """Give its answer or its error, in bounded memory."""
    with measured() as taken:
        word = LOADS[load.kind](load)
    assert taken.most < MEMORY, f"{taken.most:,} bytes"
    return f"{load.kind} {word}"
