"""Streams whose operators wait for each other keep to whole legal routes, and follow what keys do."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.engine.snapshot import Snapshot, unpack
from eddy.tuples.packed import Packed
from tests.policies.checks import steady_clock

ROWS, BATCH, CHANGE = 6_000, 200, 3_000
PAIRS = ("ab", "ac", "ad", "bc", "bd", "cd")


def query(window: int = 400) -> eddy.Query:
    """Every two streams have a key in common: by two keys a probe finds much less than by one."""
    return eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(window), delay=0) for s in "abcd"],
        joins=[f"{pair[0]}.{pair} = {pair[1]}.{pair}" for pair in PAIRS],
        select=[f"{s}.ts as {s}" for s in "abcd"],
    )


def data(seed: int = 0) -> dict[str, pa.Table]:
    """Domains of keys are dealt anew halfway: small ones find much."""
    chance = np.random.default_rng(seed)
    domains = [dict(zip(PAIRS, chance.permutation([10, 20, 50, 100, 200, 400]), strict=True)) for _ in range(2)]
    late = np.arange(ROWS) >= CHANGE
    tables = {}
    for s in "abcd":
        keys = {
            pair: np.where(late, chance.integers(0, domains[1][pair], ROWS), chance.integers(0, domains[0][pair], ROWS))
            for pair in PAIRS
            if s in pair
        }
        tables[s] = pa.table({"ts": np.arange(ROWS), **keys})
    return tables


def run(policy: Any, seed: int = 0) -> eddy.Run:
    return eddy.run_local(query(), data(seed), policy=policy, batch_rows=BATCH, seed=1, clock=steady_clock())


MESH = {"name": "query_mesh", "costs": "unit"}


def calls(found: eddy.Run, first: int = 0, last: int | None = None) -> int:
    return int(found.report.batches()[first:last]["routing_calls"].sum())


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_join_costs_less_than_in_one_order_and_nobody_asks_all_operators(seed: int) -> None:
    found, fixed = run(MESH, seed), run("fixed", seed)
    order = [(name, "ascending") for name in "abcd"]
    assert found.results.sort_by(order).equals(fixed.results.sort_by(order))
    assert calls(found) < 0.9 * calls(fixed)
    assert {use.kind for use in found.report.counters[-1].insight.uses} == {"unclassified"}


def test_routes_follow_the_keys() -> None:
    found = run(MESH)
    decisions = found.report.decisions()
    assert set(decisions["stream"]) == set("abcd")
    assert decisions.loc[decisions["batch"] >= CHANGE // BATCH, "reason"].str.contains("is cheaper than").any()


def learned(state: Snapshot) -> tuple[dict[str, Any], dict[str, list[Packed]]]:
    """All of a state but what it tells people of indexes, which a restart builds anew."""
    meta, tables = unpack(state)
    del meta["indexed"]
    return meta, tables


def test_routes_go_on_as_they_were_after_a_restart() -> None:
    tables = data()
    parts = {s: table.combine_chunks().to_batches(max_chunksize=BATCH) for s, table in tables.items()}
    batches = [dict(zip(parts, some, strict=True)) for some in zip(*parts.values(), strict=True)]

    def engine() -> Any:
        schemas = {s: table.schema for s, table in tables.items()}
        return wiring.engine(query(), schemas, MESH, tables={}, clock=steady_clock(), seed=0)

    for stop in (1, 8, 17):
        one, other = engine(), engine()
        for batch in batches[:stop]:
            list(one.run(batch))
        state = one.snapshot()
        json.dumps(state.meta)
        other.restore(state)
        for batch in batches[stop : stop + 4]:
            assert [part.to_pydict() for part in one.run(batch)] == [part.to_pydict() for part in other.run(batch)]
            assert one.read_counters().insight == other.read_counters().insight
        assert learned(one.snapshot()) == learned(other.snapshot())


def test_rounds_after_a_restart_are_as_large_as_without_it() -> None:
    """A stream that is calm comes in one round; after a restart nothing is known of it before its first rows."""
    chance = np.random.default_rng(5)
    rows = pa.record_batch({"id": np.arange(8_000), "v": chance.integers(0, 100, 8_000)})
    asked = eddy.Query(
        streams=[eddy.Stream("s")],
        filters=[
            eddy.Filter("first", on="s", where="v < 60"),
            eddy.Filter("second", on="s", where="v % 5 < 4", after=["first"]),
        ],
        select=["s.id"],
    )

    def engine() -> Any:
        return wiring.engine(asked, {"s": rows.schema}, MESH, tables={}, clock=steady_clock(), seed=0)

    one, other = engine(), engine()
    for begun in range(0, 4_000, 400):
        list(one.run({"s": rows.slice(begun, 400)}))
    other.restore(one.snapshot())
    assert other.snapshot() == one.snapshot()
    for running in (one, other):
        list(running.run({"s": rows.slice(4_000)}))
    assert one.read_counters().decisions == other.read_counters().decisions == 1
    assert other.snapshot() == one.snapshot()


def test_many_operators_are_planned_for_in_no_time() -> None:
    """One of sixty filters waits for another, so there is no mesh; there are 1,770 beginnings of other routes."""
    chance, filters = np.random.default_rng(3), 60
    rows = pa.table({f"v{n}": chance.random(4_000) for n in range(filters)})
    asked = eddy.Query(
        streams=[eddy.Stream("s")],
        filters=[
            eddy.Filter(f"f{n}", on="s", where=f"v{n} > 0.05e0", after=["f0"] if n == filters - 1 else None)
            for n in range(filters)
        ],
    )
    started = time.process_time()
    found = eddy.run_local(asked, {"s": rows}, policy=MESH, batch_rows=200)
    # It takes a third of a second; when all beginnings were followed, it took a minute for each micro-batch.
    assert time.process_time() - started < 15
    passed = np.logical_and.reduce([rows[f"v{n}"].to_numpy() > 0.05 for n in range(filters)])
    assert found.results.num_rows == passed.sum()
