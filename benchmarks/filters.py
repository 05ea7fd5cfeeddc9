"""Six filters over a million tuples, beside a hand-written loop with the same order.

The hand-written loop is what someone would write who knows the best order and needs nothing else: row numbers that
shrink from filter to filter, and one gather at the end. Both are checked to give the same rows.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from benchmarks.measure import ratios
from eddy import wiring
from eddy.function import Mask

ROWS = 1_000_000
BATCH = 10_000
KEYS = 10_000
FILTERS = 6
PASS = 0.7
"""Each filter passes seven rows in ten, so that even the last one is asked about one row in six."""

HASHES = 26
"""Rounds of SHA-256 over 100 bytes: about 20 microseconds a tuple."""

Ints = np.ndarray[Any, np.dtype[np.int64]]
Batches = Sequence[pa.RecordBatch]


def cheap() -> Iterator[str]:
    """Membership of an integer in a table of 10,000 keys, through a boolean lookup array."""
    rng = np.random.default_rng(1)
    tables = [rng.random(KEYS) < PASS for _ in range(FILTERS)]
    columns = {f"k{i}": rng.integers(0, KEYS, ROWS) for i in range(FILTERS)}
    batches = _batches({"id": np.arange(ROWS), **columns})

    def member(table: Mask) -> Callable[[Ints], Mask]:
        def look_up(k: Ints) -> Mask:
            return table[k]

        return look_up

    filters = [
        eddy.Filter(f"f{i}", on="a", function=member(table), columns=[f"k{i}"]) for i, table in enumerate(tables)
    ]

    def by_hand(batch: pa.RecordBatch) -> Ints:
        alive = np.arange(batch.num_rows)
        for i, table in enumerate(tables):
            alive = alive[table[batch.column(f"k{i}").to_numpy()[alive]]]
        return batch.column("id").to_numpy()[alive]

    yield "cheap filters: lookup in a table of 10,000 keys (goal: at most 2.0)"
    yield from _compare(filters, by_hand, batches)


def costly() -> Iterator[str]:
    """Repeated hashing of a payload of 100 bytes, tuple by tuple."""
    rng = np.random.default_rng(2)
    payload = pa.array([rng.bytes(100) for _ in range(ROWS)], pa.binary())
    batches = _batches({"id": np.arange(ROWS), "payload": payload})

    def accepts(payload: bytes, salt: bytes) -> bool:
        digest = salt + payload
        for _ in range(HASHES):
            digest = hashlib.sha256(digest).digest() + payload
        return digest[0] < 256 * PASS

    tests = [partial(accepts, salt=bytes([i])) for i in range(FILTERS)]
    filters = [
        eddy.Filter(f"f{i}", on="a", function=test, columns=["payload"], rowwise=True) for i, test in enumerate(tests)
    ]

    def by_hand(batch: pa.RecordBatch) -> Ints:
        alive = np.arange(batch.num_rows)
        payload = batch.column("payload").to_numpy(zero_copy_only=False)
        for test in tests:
            alive = alive[np.fromiter(map(test, payload[alive]), np.bool_, len(alive))]
        return batch.column("id").to_numpy()[alive]

    sample = batches[0].column("payload").to_pylist()[:2_000]
    started = time.perf_counter()
    for value in sample:
        tests[0](value)
    micros = (time.perf_counter() - started) / len(sample) * 1e6
    yield f"costly filters: {micros:.1f} microseconds a tuple (goal: at most 1.03)"
    yield from _compare(filters, by_hand, batches)


def _batches(columns: dict[str, object]) -> Batches:
    table = pa.table({"ts": np.arange(ROWS), **columns})
    return table.combine_chunks().to_batches(max_chunksize=BATCH)


def _compare(
    filters: Sequence[eddy.Filter], by_hand: Callable[[pa.RecordBatch], Ints], batches: Batches
) -> Iterator[str]:
    query = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.id"])
    engine = wiring.engine(query, {"a": batches[0].schema}, "fixed", tables={}, clock=time.perf_counter, seed=0)

    def ours(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        return list(engine.run({"a": batch}))

    got = [i for batch in batches[:2] for part in ours(batch) for i in part.column("id").to_pylist()]
    if sorted(got) != np.concatenate([by_hand(batch) for batch in batches[:2]]).tolist():
        raise AssertionError("the engine and the loop by hand do not agree")
    contenders = {"by hand": by_hand, "by hand again (control)": by_hand, "eddy, policy fixed": ours}
    yield from map(str, ratios(contenders, batches, baseline="by hand"))


BENCHMARKS = (cheap, costly)
