"""Indexes that are chosen while a query runs: the same answer, the same routes, and what is told of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.operators.index import admission
from eddy.operators.stem import Stem

KINDS: Mapping[str, Any] = {
    "patterns": None,
    "hash": {"kind": "hash", "count": 1, "period": 1_500},
    "bits": {"kind": "bits", "bits": 6, "period": 1_500, "migrate": "partial"},
    "static": {"kind": "static", "training": 1_500},
    "chosen": {"kind": "chosen", "period": 1_500, "migrate": "all"},
    "all at once": {"kind": "chosen", "schedule": "continuous", "period": 500, "assess": "cdia_random", "theta": 0.2},
}

ROWS = 200
"""Few enough that even a look through all rows has fewer candidates than are looked at in one go: where a step is cut
into several, a policy sees several."""
BATCHES = 12
STREAMS = "abc"


def complete_graph() -> eddy.Query:
    return eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(400), delay=0) for s in STREAMS],
        joins=[f"{x}.{x}{y} = {y}.{x}{y}" for x, y in itertools.combinations(STREAMS, 2)],
        select=[f"{s}.ts as {s}" for s in STREAMS],
    )


def batches() -> Iterator[dict[str, pa.RecordBatch]]:
    """Keys whose domains are dealt anew half-way, so that other routes are best."""
    rng = np.random.default_rng(5)
    for number in range(BATCHES):
        domains = dict(
            zip(("ab", "ac", "bc"), (20, 100, 800) if number < BATCHES // 2 else (800, 100, 20), strict=True)
        )
        yield {
            s: pa.RecordBatch.from_pydict(
                {
                    "ts": np.arange(number * ROWS, (number + 1) * ROWS),
                    **{key: rng.integers(0, size, ROWS) for key, size in domains.items() if s in key},
                }
            )
            for s in STREAMS
        }


def make(index: Any, policy: Any) -> Engine:
    first = next(batches())
    return wiring.engine(
        complete_graph(),
        {name: rows.schema for name, rows in first.items()},
        policy,
        tables={},
        clock=lambda: 0.0,
        seed=3,
        index=index,
    )


def run(engine: Engine, given: list[dict[str, pa.RecordBatch]]) -> tuple[list[Any], list[Any], list[Any]]:
    """The answers, sorted; the routes; and the decisions about indexes."""
    answers, routes, told = [], [], []
    for number, batch in enumerate(given):
        found = pa.Table.from_batches(engine.run(batch), schema=engine.schema).to_pylist()
        counters = engine.read_counters()
        answers.append(sorted(map(str, found)))
        routes.append(counters.routes)
        told += [(number, tuning) for tuning in counters.tunings]
    return answers, routes, told


@pytest.mark.parametrize("policy", ["random", "content"])
def test_under_unit_costs_routes_do_not_depend_on_the_index(policy: str) -> None:
    choice = {"name": policy, "costs": "unit"} if "costs" in wiring.policy_parameters(policy) else policy
    given = list(batches())
    answers, routes, _ = run(make(None, choice), given)
    assert sum(map(len, answers))
    for name, index in KINDS.items():
        found = run(make(index, choice), given)
        assert found[0] == answers, name
        assert found[1] == routes, name


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"patterns"}))
def test_decisions_are_told_and_are_the_same_again(name: str) -> None:
    given = list(batches())
    _, _, told = run(make(KINDS[name], "random"), given)
    # Whoever may leave things as they are does so where little is to be gained.
    assert told or KINDS[name]["kind"] == "chosen"
    assert {tuning.input for _, tuning in told} <= set(STREAMS)
    assert all(tuning.after and tuning.number > 0 for _, tuning in told)
    assert run(make(KINDS[name], "random"), given)[2] == told


@pytest.mark.parametrize("name", ["bits", "chosen"])
def test_stopped_at_any_micro_batch_it_answers_as_before(name: str) -> None:
    given = list(batches())
    answers, routes, _ = run(make(KINDS[name], "random"), given)
    engine = make(KINDS[name], "random")
    for number, batch in enumerate(given):
        state = engine.snapshot()
        engine = make(KINDS[name], "random")
        engine.restore(state)
        found = run(engine, [batch])
        assert (found[0], found[1]) == ([answers[number]], [routes[number]])


def test_another_index_keeps_the_rows_and_learns_anew() -> None:
    given = list(batches())
    answers, _, _ = run(make(None, "random"), given)
    engine = make(KINDS["bits"], "random")
    run(engine, given[:8])
    other = make(KINDS["chosen"], "random")
    other.restore(engine.snapshot())
    assert run(other, given[8:])[0] == answers[8:]


def test_patterns_have_nothing_to_keep_or_to_tell() -> None:
    engine = make(None, "random")
    _, _, told = run(engine, list(batches())[:6])
    assert told == []
    assert '"tuning": {}' in engine.snapshot().meta or '"tuning"' not in engine.snapshot().meta


def test_what_is_evaluated_of_an_order_does_not_depend_on_whether_there_is_room_for_it() -> None:
    """A policy learns the same from an index that leaves rows out and from a look through all of them."""
    query = eddy.Query(
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(40), delay=0) for name in "ab"],
        joins=["a.k < b.k"],
        select=["a.id as a", "b.id as b"],
    )
    chance = np.random.default_rng(0)

    def draw(first: int) -> pa.RecordBatch:
        ids = np.arange(first, first + 400)
        keys = pa.array(chance.integers(0, 50, 400), mask=chance.random(400) < 0.1)
        return pa.record_batch({"ts": ids // 10, "k": keys, "id": ids})

    given = [{name: draw(400 * number) for name in "ab"} for number in range(4)]
    seen = []
    for room in (None, 1):
        engine = wiring.engine(
            query, {n: given[0][n].schema for n in "ab"}, "fixed", tables={}, clock=lambda: 0.0, seed=0
        )
        with pytest.MonkeyPatch.context() as patch:
            if room is not None:
                patch.setattr(Stem, "_room", lambda _: 0)
                patch.setattr(admission, "LEAST_ROOM", 0)
            counted, maps = [], set()
            for batch in given:
                rows = sum(found.num_rows for found in engine.run(batch))
                counters = engine.read_counters()
                counted.append((rows, {hop: s.evaluated for hop, s in counters.operators.items()}))
                maps |= {count.map for count in counters.indexes}
        seen.append(counted)
        assert ("scan" in maps) == (room is not None)
    assert seen[0] == seen[1]
    assert sum(rows for rows, _ in seen[0])
