"""The bound: what it is told, and that it is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.jobs.experiments.workloads.stream_star import stream_star

ROWS = 12_000
VALUES = 6


def mirror(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pass or fail by what is drawn already."""
    return values


mirror.__annotations__ = {"values": np.ndarray}


def own_attributes(seed: int = 0) -> tuple[eddy.Query, dict[str, pa.Table], Mapping[str, Any], np.ndarray[Any, Any]]:
    """Three filters, each told by an attribute of its own; and the true rates of every row."""
    rng = np.random.default_rng(seed)
    table = rng.random((3, VALUES))
    keys = rng.integers(0, VALUES, (3, ROWS))
    rates = np.stack([table[i, keys[i]] for i in range(3)], axis=1)
    passed = rng.random((ROWS, 3)) < rates
    columns = {f"k{i}": keys[i] for i in range(3)} | {f"p{i}": passed[:, i] for i in range(3)}
    filters = [eddy.Filter(f"op{i}", on="s", function=mirror, columns=[f"p{i}"]) for i in range(3)]
    told = {
        f"op{i}": {"attribute": f"s.k{i}", "values": list(range(VALUES)), "selectivities": table[i].tolist()}
        for i in range(3)
    }
    query = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    return query, {"s": pa.table({"ts": np.arange(ROWS), **columns})}, {"operators": told}, rates


def calls(query: eddy.Query, data: Mapping[str, pa.Table], truth: Any, *, batch_rows: int = 1_000) -> eddy.Run:
    policy = {"name": "knows", "truth": truth, "costs": "unit"}
    return eddy.run_local(query, data, policy=policy, batch_rows=batch_rows)


def per_row(run: eddy.Run, first: int = 0, last: int | None = None) -> float:
    batches = run.report.batches()[first:last]
    return float(batches["routing_calls"].sum() / batches["rows"].sum())


def best(rates: np.ndarray[Any, Any]) -> float:
    """Calls a row where every row takes its best order."""
    return float((1 + np.sort(rates, axis=1)[:, :-1].cumprod(axis=1).sum(axis=1)).mean())


def test_each_operator_may_have_an_attribute_of_its_own() -> None:
    query, data, truth, rates = own_attributes()
    assert per_row(calls(query, data, truth)) == pytest.approx(best(rates), rel=0.02)


def test_one_attribute_for_all_is_the_same_as_the_same_one_for_each() -> None:
    parts, rates = {"attribute": "s.k0", "values": [0, 1, 2]}, {"op0": [0.1, 0.5, 0.9], "op1": [0.5] * 3}
    shared = {**parts, "selectivities": rates}
    own = {"operators": {name: {**parts, "selectivities": told} for name, told in rates.items()}}
    query, data, _, _ = own_attributes()
    runs = [calls(query, data, truth).report.batches()["routing_calls"].tolist() for truth in (shared, own)]
    assert runs[0] == runs[1]


BEFORE, AFTER = [[0.05, 0.9, 0.9], [0.9, 0.05, 0.9]], [[0.9, 0.9, 0.05], [0.05, 0.9, 0.9]]


@pytest.mark.parametrize("batch_rows", [700, 5_000, 20_000])
def test_a_truth_that_drifts_is_known_to_the_row(batch_rows: int) -> None:
    """Also in the middle of a micro-batch: 10,000 is a multiple of none of these."""
    drift = {"kind": "sudden", "at": 10_000, "selectivities": AFTER}
    workload = stream_star(3, BEFORE, rows=20_000, drift=drift)
    assert workload.truth is not None
    assert [phase["from"] for phase in workload.truth["phases"]] == [0, 10_000]
    run = calls(workload.query, workload.data, workload.truth, batch_rows=batch_rows)
    assert per_row(run) == pytest.approx(best(np.array([*BEFORE, *AFTER])), rel=0.02)


def test_a_gradual_change_is_told_in_pieces() -> None:
    drift = {"kind": "gradual", "start": 2_000, "end": 18_000, "selectivities": AFTER}
    workload = stream_star(3, BEFORE, rows=20_000, drift=drift)
    assert workload.truth is not None
    told = [phase["selectivities"]["op3"][0] for phase in workload.truth["phases"]]
    assert told == sorted(told, reverse=True)
    assert (told[0], told[-1]) == (0.9, pytest.approx(0.05, abs=0.02))
    assert per_row(calls(workload.query, workload.data, workload.truth)) < 1.9


def test_the_phase_survives_a_restart() -> None:
    drift = {"kind": "sudden", "at": 2_500, "selectivities": AFTER}
    workload = stream_star(3, BEFORE, rows=6_000, drift=drift)
    table = workload.data["s"]

    def make() -> Any:
        policy = {"name": "knows", "truth": workload.truth, "costs": "unit"}
        return wiring.engine(workload.query, {"s": table.schema}, policy, tables={}, clock=float, seed=0)

    steady, stopped = make(), make()
    for part in table.combine_chunks().to_batches(max_chunksize=1_000):
        saved, stopped = stopped.snapshot(), make()
        stopped.restore(saved)
        for running in (steady, stopped):
            list(running.run({"s": part}))
        assert steady.read_counters().operators == stopped.read_counters().operators


def test_whole_routes_are_planned_where_operators_wait_for_others() -> None:
    query, data, truth, rates = own_attributes()
    first, *others = query.filters
    waiting = eddy.Query(
        streams=query.streams,
        filters=[first, *(f.pin(["op0"]) for f in others)],
        select=["s.ts"],
    )
    run = calls(waiting, data, truth)
    assert run.report.batches()["decisions"].tolist() == [1] * (ROWS // 1_000)
    # The first operator sees all; those that pass go on in their best order.
    passed = data["s"]["p0"].to_numpy()
    seen = 1 + passed.mean() * best(rates[passed][:, 1:])
    assert per_row(run) == pytest.approx(seen, rel=0.02)


def test_joins_in_a_row_are_planned_at_once() -> None:
    rng = np.random.default_rng(0)
    data = {s: pa.table({"ts": np.arange(600), "k": rng.integers(0, 40, 600)}) for s in "abc"}
    query = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(50), delay=0) for s in data],
        joins=["a.k = b.k", "b.k = c.k"],
    )
    told = {f"probe_{s}": [0.5, 1.5] for s in "abc"}
    truth = {"attribute": "a.k", "values": [0, 1], "selectivities": told}
    run = calls(query, data, truth, batch_rows=600)
    assert run.report.batches()["decisions"].tolist() == [3]


def test_the_first_row_of_a_phase_is_in_it() -> None:
    """Every row is its own phase of two that take turns, and its rates are all or nothing."""
    told = {"attribute": "s.k0", "values": list(range(VALUES))}
    phases = [
        {"from": row, **told, "selectivities": {"op0": [1.0 - row % 2] * VALUES, "op1": [0.0 + row % 2] * VALUES}}
        for row in range(20)
    ]
    odd = np.arange(20) % 2 == 1
    data = pa.table({"ts": np.arange(20), "k0": np.zeros(20, np.int64), "p0": ~odd, "p1": odd})
    filters = [eddy.Filter(f"op{i}", on="s", function=mirror, columns=[f"p{i}"]) for i in range(2)]
    query = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    assert per_row(calls(query, {"s": data}, {"phases": phases}, batch_rows=7)) == 1.0


SHARED = {"attribute": "s.k0", "values": [0, 1], "selectivities": {"op0": [0.1, 0.9]}}


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([], "expected attribute, values and selectivities"),
        ({**SHARED, "phases": []}, "expected attribute, values and selectivities"),
        ({"phases": []}, "phases: expected a list of 1 to 250 phases"),
        ({"phases": [SHARED]}, 'phases: expected "from", the number of a row'),
        ({"phases": [{"from": 5, **SHARED}]}, 'expected "from" to begin with 0 and to rise'),
        ({"phases": [{"from": 0, **SHARED}, {"from": 0, **SHARED}]}, 'expected "from" to begin with 0 and to rise'),
        ({"phases": [{"from": 0, "phases": []}]}, "expected attribute, values and selectivities"),
        ({"operators": []}, "expected attribute, values and selectivities"),
        (
            {"operators": {"op0": SHARED["selectivities"]}},
            'operators: expected attribute, values and selectivities of "op0"',
        ),
        ({"operators": {"op9": {**SHARED, "selectivities": [0.1, 0.9]}}}, 'unknown operator "op9"'),
        (
            {"phases": [{"from": 0, **SHARED}, {"from": 9, **SHARED, "values": [0, 2]}]},
            "expected the same values of an attribute everywhere",
        ),
    ],
)
def test_a_truth_that_makes_no_sense_is_refused(truth: Any, message: str) -> None:
    query, data, _, _ = own_attributes()
    with pytest.raises(eddy.QueryError, match=f'policy "knows": truth: .*{message}'):
        calls(query, data, truth)


def test_a_class_that_comes_late_takes_its_own_order_at_once() -> None:
    """While there was but one class nobody had to be told apart; that says nothing of those to come."""
    kind = np.repeat([0, 1], ROWS // 2)
    passed = np.stack([kind == 1, kind == 0], axis=1)
    columns = {f"p{i}": passed[:, i] for i in range(2)}
    filters = [eddy.Filter(f"op{i}", on="s", function=mirror, columns=[f"p{i}"]) for i in range(2)]
    query = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    truth = {"attribute": "s.kind", "values": [0, 1], "selectivities": {"op0": [0.0, 1.0], "op1": [1.0, 0.0]}}
    data = {"s": pa.table({"ts": np.arange(ROWS), "kind": kind, **columns})}
    assert per_row(calls(query, data, truth)) == 1
