"""A-Greedy where probes wait for others: logical filters, as in section 5.2.3 of the thesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import MOST_ALONG_PATH
from eddy.engine import Engine
from eddy.policies.matrix.order import Problem
from eddy.policies.matrix.path_order import Paths, find_paths, order_by_paths
from eddy.policies.shared.legality import Legality
from tests.eddy.test_exhaustive import EDGES, machine
from tests.policies.checks import steady_clock

UNIT = {"name": "a_greedy", "costs": "unit"}
ROWS, BATCH, KEYS = 12_000, 500, 200


def order_example(drops: dict[str, float]) -> str:
    """The order of figure 5.3 (a), where logical filters drop such shares of the rows."""
    graph = machine([*EDGES.items()])
    operators = tuple(EDGES)
    start = graph.start("1")
    paths = find_paths(lambda route: graph.ready_after(start, route), operators)
    needed = [tuple(operators.index(hop.operator) for hop in paths[name][:-1]) for name in operators]
    chance = np.random.default_rng(0)
    counts = np.stack([chance.random(4_000) >= drops[name] for name in operators], axis=1).astype(np.float64)
    for number, path in enumerate(needed):
        counts[:, number] *= counts[:, path].prod(axis=1)
    profiled = tuple(operators.index(name) for name in paths if len(paths[name]) > 1)
    outcomes = Paths((), needed, profiled).relate(counts)
    legality = Legality(operators, lambda route: graph.ready_after(start, route))
    order = order_by_paths(Problem.of(outcomes, np.ones(len(operators)), legality), needed)
    return "".join(operators[number] for number in order)


def test_the_example_of_5_2_3() -> None:
    """F3 = R3 R4 drops most, then F1 = R2, F4 = R3 R5, F5 = R3 R5 R6; 3 comes first, since 4 waits for it."""
    assert order_example({"2": 0.3, "3": 0.05, "4": 0.9, "5": 0.2, "6": 0.1}) == "34256"
    # What only 6 drops is reached by way of 3 and 5, before what drops less for its cost.
    assert order_example({"2": 0.2, "3": 0.0, "4": 0.1, "5": 0.0, "6": 0.95}) == "35624"


def test_what_more_joined_rows_there_are_than_are_counted_is_not_known() -> None:
    paths = Paths((), [(), (0,)], (1,))
    found = paths.relate(np.array([[5_000.0, float(MOST_ALONG_PATH)], [10.0, 5.0]]))
    assert np.isnan(found[0, 1])
    assert found[1, 1] == 0.5


Making = Callable[[Any], Engine]


def lookups(joins: Sequence[str], tables: dict[str, pa.RecordBatch], rows: pa.RecordBatch) -> Making:
    query = eddy.Query(
        streams=[eddy.Stream("a", time="ts")],
        tables=[eddy.Table(name) for name in tables],
        joins=joins,
        select=["a.ts"],
    )

    def make(policy: Any) -> Engine:
        return wiring.engine(query, {"a": rows.schema}, policy, tables=tables, clock=steady_clock(), seed=0)

    return make


def trap() -> tuple[Making, list[pa.RecordBatch]]:
    """A lookup of b drops nothing and joins one row, of which c drops nearly all; e drops a fifth at once."""
    rng = np.random.default_rng(0)
    tables = {
        "e": pa.record_batch({"k": np.arange(KEYS * 4 // 5)}),
        "b": pa.record_batch({"k": np.arange(KEYS), "c": rng.permutation(KEYS)}),
        "c": pa.record_batch({"k": np.arange(KEYS // 50)}),
    }
    rows = pa.record_batch({"ts": np.arange(ROWS), "b": rng.integers(0, KEYS, ROWS), "e": rng.integers(0, KEYS, ROWS)})
    make = lookups(["a.e = e.k", "a.b = b.k", "b.c = c.k"], tables, rows)
    return make, [rows.slice(n, BATCH) for n in range(0, ROWS, BATCH)]


def ring() -> tuple[Making, list[pa.RecordBatch]]:
    """From a there are two ways to c."""
    rng = np.random.default_rng(1)
    tables = {
        "b": pa.record_batch({"k": np.repeat(np.arange(KEYS), 5), "c": rng.integers(0, KEYS, 5 * KEYS)}),
        "c": pa.record_batch({"b": rng.integers(0, KEYS, KEYS), "d": rng.integers(0, KEYS, KEYS)}),
        "d": pa.record_batch({"k": rng.integers(0, KEYS, KEYS), "c": rng.integers(0, KEYS, KEYS)}),
    }
    rows = pa.record_batch({"ts": np.arange(ROWS), "b": rng.integers(0, KEYS, ROWS), "d": rng.integers(0, KEYS, ROWS)})
    make = lookups(["a.b = b.k", "b.c = c.b", "c.d = d.c", "d.k = a.d"], tables, rows)
    return make, [rows.slice(n, BATCH) for n in range(0, ROWS, BATCH)]


def run(running: Engine, batch: pa.RecordBatch) -> tuple[int, dict[str, float]]:
    """The results of a micro-batch, and each operator's calls."""
    results = sum(part.num_rows for part in running.run({"a": batch}))
    calls: dict[str, float] = {}
    for hop, statistic in running.read_counters().operators.items():
        calls[hop.operator] = calls.get(hop.operator, 0) + statistic.rows_in
    return results, calls


def per_row(running: Engine, batches: list[pa.RecordBatch]) -> tuple[int, float]:
    """All results, and calls a row in the second half."""
    found = [run(running, batch) for batch in batches]
    late = [sum(by.values()) for _, by in found[len(found) // 2 :]]
    return sum(rows for rows, _ in found), sum(late) / len(late) / BATCH


def test_an_order_that_only_paths_tell_is_found() -> None:
    make, batches = trap()
    results, calls = per_row(make(UNIT), batches)
    expected, fixed = per_row(make("fixed"), batches)
    assert results == expected
    # e first costs 1 + 0.8 + 0.8 calls; b and c first 1 + 1, and next to nothing behind.
    assert fixed > 2.5
    assert calls < 2.15


@pytest.mark.parametrize("policy", [UNIT, {**UNIT, "p": 0.02}, {**UNIT, "search": "exact", "p": 0.02}])
def test_a_join_with_circles_costs_little_more_than_by_merit(policy: dict[str, Any]) -> None:
    make, batches = ring()
    results, calls = per_row(make(policy), batches)
    expected, merit = per_row(make({"name": "source", "costs": "unit"}), batches)
    assert results == expected
    assert calls < 1.07 * merit


@pytest.mark.parametrize("stream", [trap, ring])
def test_a_run_that_is_stopped_everywhere_is_as_one_that_is_not(
    stream: Callable[[], tuple[Making, list[pa.RecordBatch]]],
) -> None:
    make, batches = stream()
    steady, stopped = make(UNIT), make(UNIT)
    for batch in batches[:12]:
        snapshot, stopped = stopped.snapshot(), make(UNIT)
        stopped.restore(snapshot)
        assert run(stopped, batch) == run(steady, batch)
        assert stopped.read_counters().routes == steady.read_counters().routes


def test_profiling_takes_its_share_where_a_key_is_hot() -> None:
    """Every tenth row joins 400 rows of b, each of which joins 20 of c."""
    rng = np.random.default_rng(2)
    tables = {
        "e": pa.record_batch({"k": np.arange(KEYS // 2)}),
        "b": pa.record_batch({"k": np.repeat(np.arange(KEYS), np.where(np.arange(KEYS) % 10, 1, 400)) % KEYS}),
        "c": pa.record_batch({"k": np.repeat(np.arange(KEYS), 20)}),
    }
    keys = tables["b"].column("k").to_numpy()
    tables["b"] = pa.record_batch({"k": keys, "c": rng.integers(0, KEYS, len(keys))})
    rows = pa.record_batch({"ts": np.arange(4_000), "b": rng.integers(0, KEYS, 4_000), "e": np.full(4_000, KEYS)})
    make = lookups(["a.e = e.k", "a.b = b.k", "b.c = c.k"], tables, rows)
    engine = make(UNIT)
    found = [run(engine, rows.slice(n, BATCH)) for n in range(0, 4_000, BATCH)]
    assert sum(sum(calls.values()) for _, calls in found[-2:]) < 4 * 2 * BATCH
