"""What A-Greedy asks before it probes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Leg
from eddy.engine import Engine
from eddy.policies.matrix.asking import ask_first
from eddy.tuples import Hop
from tests.policies.checks import steady_clock

KEYS, ROWS, BATCH = 500, 6_000, 500

B, C, D, ASKED = Hop("probe_b"), Hop("probe_c"), Hop("probe_d"), Hop("meets_d")


def star(match: float, fan: int) -> tuple[Callable[[], Engine], list[pa.RecordBatch]]:
    """Three lookups with few matches or many, and the rows that look them up."""
    rng = np.random.default_rng(0)
    found = round(KEYS * match)
    names = ("b", "c", "d")
    tables = {name: pa.record_batch({"k": np.repeat(rng.permutation(KEYS)[:found], fan)}) for name in names}
    rows = pa.record_batch({"ts": np.arange(ROWS), **{name: rng.integers(0, KEYS, ROWS) for name in names}})
    query = eddy.Query(
        streams=[eddy.Stream("a", time="ts")],
        tables=[eddy.Table(name) for name in names],
        joins=[f"a.{name} = {name}.k" for name in names],
        select=["a.ts"],
    )
    policy = {"name": "a_greedy", "costs": "unit"}  # so that routes do not depend on the machine

    def make() -> Engine:
        return wiring.engine(query, {"a": rows.schema}, policy, tables=tables, clock=steady_clock(), seed=0)

    return make, [rows.slice(n, BATCH) for n in range(0, ROWS, BATCH)]


def run(running: Engine, batch: pa.RecordBatch) -> tuple[int, dict[str, Any]]:
    """The results of a micro-batch, and each operator's calls."""
    rows = sum(part.num_rows for part in running.run({"a": batch}))
    return rows, {hop.operator: s for hop, s in running.read_counters().operators.items()}


def test_inputs_are_asked_first_where_few_rows_match() -> None:
    make, batches = star(0.1, 20)
    running = make()
    *_, last = [run(running, batch)[1] for batch in batches]
    assert sum(name.startswith("meets_") for name in last) == 2
    assert sum(s.rows_in for s in last.values()) < 2 * BATCH
    (stream, _, route), rows = max(running.read_counters().routes.items(), key=lambda one: one[1])
    assert (stream, rows > BATCH / 2, route[0].startswith("meets_")) == ("a", True, True)


def test_a_decision_says_what_is_asked_first_and_what_that_is_to_cost() -> None:
    make, batches = star(0.1, 20)
    running = make()
    for batch in batches[:-1]:
        run(running, batch)
    _, calls = run(running, batches[-1])
    counters = running.read_counters()
    (_, _, route), _ = max(counters.routes.items(), key=lambda one: one[1])
    (decision,) = counters.insight.decisions
    (way,) = decision.ways
    assert way.route == route
    assert counters.trees[decision.key] == ("-> " + " > ".join(route),)
    asked = [f'"{name}"' for name in route if name.startswith("meets_")]
    assert decision.reason.startswith(f"{', '.join(asked)} first, as few rows match; ")
    per_row = sum(s.rows_in for s in calls.values()) / BATCH
    assert 0.5 * per_row < way.predicted < 2 * per_row


@pytest.mark.parametrize(("match", "fan"), [(0.9, 1), (1.0, 2)])
def test_nothing_is_asked_where_most_rows_match(match: float, fan: int) -> None:
    make, batches = star(match, fan)
    running = make()
    for batch in batches:
        assert not any(name.startswith("meets_") for name in run(running, batch)[1])


def test_a_run_that_is_stopped_everywhere_asks_as_one_that_is_not() -> None:
    make, batches = star(0.1, 20)
    steady, stopped = make(), make()
    for batch in batches:
        snapshot, stopped = stopped.snapshot(), make()
        stopped.restore(snapshot)
        (found, calls), (expected, steady_calls) = run(stopped, batch), run(steady, batch)
        assert found == expected
        assert {n: s.rows_in for n, s in calls.items()} == {n: s.rows_in for n, s in steady_calls.items()}
        assert stopped.read_counters().routes == steady.read_counters().routes
        assert str(stopped.read_counters().insight.decisions) == str(steady.read_counters().insight.decisions)


def test_what_is_dropped_where_an_input_is_asked_is_shown_to_all_that_come_later() -> None:
    leg = Leg(route=(B, C, D), aside=((C, D), (D,), ()), label="profiling", tag=3)
    longer = ask_first(leg, (ASKED, B, C, D))
    assert longer.route == (ASKED, B, C, D)
    assert longer.aside == ((B, C, D), (C, D), (D,), ())
    assert (longer.label, longer.tag) == ("profiling", 3)
    assert ask_first(leg, (B, ASKED, C, D)).aside == ((C, D), (C, D), (D,), ())
    assert ask_first(Leg(route=(B, C, D)), (ASKED, B, C, D)).aside == ()
    exhaustive = Leg(route=(B, C, D), exhaustive=True)
    assert ask_first(exhaustive, (ASKED, B, C, D)) is exhaustive
