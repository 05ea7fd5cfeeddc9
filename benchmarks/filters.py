"""Six filters beside a hand-written loop in the same order.

The hand-written loop is what someone would write who knows the best order and needs nothing else: row numbers that
shrink from filter to filter, and one gather at the end. At every micro-batch all must give the same rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from benchmarks.measure import Goal, Line, make_clocks, ratios, seconds_of, setting
from eddy import wiring
from eddy.tuples.arrays import Mask

COSTLY_ROWS, BATCH = 400_000, 10_000
"""Forty micro-batches of costly filters: a hundred would take each contender a minute."""

SEED = 1
KEYS = 10_000
FILTERS = 6
PASS = 0.7
"""Each filter passes seven rows in ten, so that even the last one is asked about one row in six."""

CHEAP_BATCHES = {1_000: 300, 10_000: 100, 100_000: 30}
"""Rows of a micro-batch of cheap filters, and how many of them are timed: small ones take little, and scatter more."""

CHEAP_GOALS = {1_000: 3.0, 10_000: 1.5, 100_000: 1.2}
"""The most that an engine for any query may cost beside code for one, where filters cost next to nothing. What it
costs for each micro-batch and each step is the same for few rows and for many."""

COSTLY_GOAL = 1.03
COSTLY_MICROS = 20.0
"""Microseconds a tuple: what a regular expression over a long text takes, or a small model."""

PAYLOAD = 100
SAMPLE = 500
"""Tuples of a measurement that calibrates: some milliseconds, so that the clock is exact enough."""

OURS, AUTO = "eddy, policy fixed", "eddy, policy auto"
BY_HAND, CONTROL = "by hand", "by hand again (control)"

Ints = np.ndarray[Any, np.dtype[np.int64]]
Batches = Sequence[pa.RecordBatch]


def cheap(batches: Mapping[int, int] = CHEAP_BATCHES) -> Iterator[Line]:
    """Membership of an integer in a table of 10,000 keys, through a boolean lookup array."""
    rng = np.random.default_rng(SEED)
    tables = [rng.random(KEYS) < PASS for _ in range(FILTERS)]

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

    yield f"cheap filters: lookup in a table of {KEYS:,} keys"
    for size, count in batches.items():
        rows = size * count
        keys = {f"k{i}": rng.integers(0, KEYS, rows) for i in range(FILTERS)}
        yield from _compare(filters, by_hand, _batches({"id": np.arange(rows), **keys}, size), CHEAP_GOALS[size])


def costly(rows: int = COSTLY_ROWS) -> Iterator[Line]:
    """Repeated hashing of a payload of 100 bytes, tuple by tuple."""
    rng = np.random.default_rng(SEED)
    payload = pa.array([rng.bytes(PAYLOAD) for _ in range(rows)], pa.binary())
    batches = _batches({"id": np.arange(rows), "payload": payload}, BATCH)
    sample = payload[:SAMPLE].to_pylist()
    rounds = _rounds(sample)
    tests = [partial(accepts, salt=bytes([i]), rounds=rounds) for i in range(FILTERS)]
    filters = [
        eddy.Filter(f"f{i}", on="a", function=test, columns=["payload"], rowwise=True) for i, test in enumerate(tests)
    ]

    def by_hand(batch: pa.RecordBatch) -> Ints:
        alive = np.arange(batch.num_rows)
        payload = batch.column("payload").to_numpy(zero_copy_only=False)
        for test in tests:
            alive = alive[np.fromiter(map(test, payload[alive]), np.bool_, len(alive))]
        return batch.column("id").to_numpy()[alive]

    yield f"costly filters: {rounds} rounds of hashing, {_micros(sample, rounds):.1f} microseconds a tuple"
    yield from _compare(filters, by_hand, batches, COSTLY_GOAL)


def accepts(payload: bytes, salt: bytes, rounds: int) -> bool:
    """Tell whether a payload's hash is among the seven tenths."""
    digest = salt + payload
    for _ in range(rounds):
        digest = hashlib.sha256(digest).digest() + payload
    return digest[0] < 256 * PASS


def _rounds(sample: Sequence[bytes]) -> int:
    """Find how many rounds of hashing cost what they should.

    The cost is that of a costly filter, on the machine at hand.
    """
    few, many = 8, 32
    least = _micros(sample, few)
    each = (_micros(sample, many) - least) / (many - few)
    return max(1, round(few + (COSTLY_MICROS - least) / each))


def _micros(sample: Sequence[bytes], rounds: int) -> float:
    test = partial(accepts, salt=b"0", rounds=rounds)
    return seconds_of(lambda: [test(value) for value in sample]) / len(sample) * 1e6


def _batches(columns: Mapping[str, Any], size: int) -> Batches:
    table = pa.table({"ts": columns["id"], **columns})
    return table.combine_chunks().to_batches(max_chunksize=size)


def _compare(
    filters: Sequence[eddy.Filter], by_hand: Callable[[pa.RecordBatch], Ints], batches: Batches, goal: float
) -> Iterator[Line]:
    query = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.id"])
    schema = batches[0].schema
    yield setting(rows=sum(batch.num_rows for batch in batches), batch=batches[0].num_rows, seed=SEED)
    contenders: dict[str, Callable[[pa.RecordBatch], object]] = {
        BY_HAND: by_hand,
        CONTROL: by_hand,
        AUTO: _ours(query, schema, "auto"),
        OURS: _ours(query, schema, "fixed"),
    }
    goals: dict[str, Goal] = {OURS: ("at most", goal)}
    yield from ratios(contenders, batches, baseline=BY_HAND, goals=goals, agree=_agree, seed=SEED)


def _ours(query: eddy.Query, schema: pa.Schema, policy: str) -> Callable[[pa.RecordBatch], list[pa.RecordBatch]]:
    engine = wiring.engine(query, {"a": schema}, policy, tables={}, seed=SEED, **make_clocks())
    return lambda batch: list(engine.run({"a": batch}))


def _agree(answers: Mapping[str, Any]) -> None:
    """The engine must give the rows that the loop by hand gives, in whichever order."""
    expected = answers[BY_HAND].tolist()
    for name in (OURS, AUTO):
        got = sorted(i for part in answers[name] for i in part.column("id").to_pylist())
        if not got == expected == answers[CONTROL].tolist():
            text = f"{name} found {len(got)} rows and the loop by hand {len(expected)}; they do not agree"
            raise AssertionError(text)


BENCHMARKS = (cheap, costly)
