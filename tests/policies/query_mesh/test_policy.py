"""Query Mesh as a policy: what it gains, notices, survives and refuses."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Policy, Setting, State
from eddy.engine import Engine
from eddy.policies.query_mesh.policy import FOREIGN
from eddy.sql import Column
from tests.policies.checks import steady_clock
from tests.policies.query_mesh.streams import (
    SKEWED,
    Rates,
    answer,
    attribute,
    calls,
    mesh,
    outcomes,
    query,
    run,
    stream,
)

ROWS, BATCH = 40_000, 1_000
KIND, NOISE = attribute(ROWS, 3, 0), attribute(ROWS, 9, 1)


def skewed(rows: int = ROWS, rates: Rates = SKEWED) -> pa.Table:
    return stream({"kind": KIND[:rows], "noise": NOISE[:rows]}, outcomes(KIND[:rows], rates, 0))


TRUTH = {
    "attribute": "s.kind",
    "values": [0, 1, 2],
    "selectivities": {f"op{i}": [row[i] for row in SKEWED] for i in range(3)},
}
KNOWS = {"name": "knows", "truth": TRUTH, "costs": "unit"}
MESH = mesh("kind", "noise")


# --- what it gains


def test_partitions_with_different_best_orders_are_found_and_gain_what_can_be_gained() -> None:
    data = skewed()
    found, fixed, knows = run(MESH, data), run("fixed", data), run(KNOWS, data)
    assert answer(found) == answer(fixed)
    assert calls(fixed) - calls(found) > 0.9 * (calls(fixed) - calls(knows))
    assert calls(fixed, 5) - calls(found, 5) > 0.93 * (calls(fixed, 5) - calls(knows, 5))
    last = found.report.decisions().iloc[-1]
    assert last["ways"] == 3
    assert sorted(line for line in last["tree"].splitlines() if "->" not in line) == [f"kind={k}" for k in range(3)]


def test_two_hundred_values_tell_classes_apart_though_a_sample_has_few_rows_of_each() -> None:
    rows = 60_000
    kind = attribute(rows, 200, 2)
    texts = pa.array([f"kind {k}" for k in range(200)]).take(pa.array(kind))
    data = stream({"kind": texts, "noise": attribute(rows, 9, 3)}, outcomes(kind % 3, SKEWED, 4))
    found, fixed = run(MESH, data), run("fixed", data)
    assert answer(found) == answer(fixed)
    # Whoever is told each row's class saves 43 %.
    assert calls(found, 30) < 0.65 * calls(fixed, 30)


def test_operators_with_an_attribute_of_their_own_are_told_apart_by_all_of_them() -> None:
    rows, operators = 20_000, 4
    rng = np.random.default_rng(8)
    chances = rng.random((operators, 24))
    codes = {f"a{i}": attribute(rows, 24, 20 + i) for i in range(operators)}
    rates = np.stack([chances[i][codes[f"a{i}"]] for i in range(operators)], axis=1)
    data = stream(codes, {f"p{i}": rng.random(rows) < rates[:, i] for i in range(operators)})
    found = run(mesh(*codes), data)
    best = np.sort(rates, axis=1).cumprod(axis=1)[:, :-1].sum(axis=1).mean() + 1
    one = np.cumprod(np.sort(rates.mean(axis=0)))[:-1].sum() + 1
    assert answer(found) == answer(run("fixed", data))
    assert calls(found, 10) < one - 0.7 * (one - best)


def test_filters_that_agree_otherwise_in_each_class_come_near_the_exact_order_of_each() -> None:
    """In each class other two of four filters answer alike for four rows in five."""
    rows, operators = 60_000, 4
    rng = np.random.default_rng(12)
    kind = attribute(rows, 2, 13)
    pairs = np.array([[0, 0, 1, 1], [0, 1, 1, 0]])[kind]
    together = rng.random((rows, operators)) < 0.8
    drawn = np.where(together, np.take_along_axis(rng.random((rows, 2)), pairs, 1), rng.random((rows, operators)))
    passed = drawn < np.array([[0.3, 0.35, 0.6, 0.65], [0.65, 0.6, 0.35, 0.3]])[kind]
    best = sum(min(cost_of(passed[kind == one], order) for order in permutations(range(operators))) for one in range(2))
    found = run(mesh("kind"), stream({"kind": kind}, {f"p{i}": passed[:, i] for i in range(operators)}))
    assert calls(found, 30) < 1.03 * best / rows


def cost_of(passed: np.ndarray, order: tuple[int, ...]) -> int:
    """Calls of filters in an order."""
    left = np.cumprod(passed[:, list(order)], axis=1)
    return len(passed) + int(left[:, :-1].sum())


def test_a_class_that_needs_two_attributes_is_seen() -> None:
    one, other = attribute(ROWS, 4, 2), attribute(ROWS, 4, 3)
    rates = [[0.05, 0.9, 0.9], [0.9, 0.9, 0.05]]
    data = stream({"x": one, "y": other}, outcomes((one // 2) ^ (other // 2), rates, 4))
    single, content = (
        run({"name": "fixed", "order": ["op0", "op2"]}, data),
        run({**mesh("x", "y"), "name": "content"}, data),
    )
    found = run(mesh("x", "y"), data)
    assert answer(found) == answer(single)
    assert calls(content, 5) > 0.98 * calls(single, 5)
    assert calls(found, 5) < 0.77 * calls(single, 5)


@pytest.mark.parametrize("rates", [[0.5, 0.5, 0.5], [0.2, 0.5, 0.8]], ids=str)
def test_uniform_rows_take_one_way_and_cost_no_more_than_the_best_order(rates: list[float]) -> None:
    rows = 100_000
    kind, noise = attribute(rows, 4, 5), attribute(rows, 9, 6)
    data = stream({"kind": kind, "noise": noise}, outcomes(kind, [rates] * 4, 7))
    found = run(mesh("kind", "noise"), data)
    assert set(found.report.decisions()["ways"]) == {1}
    assert calls(found) < 1.02 * calls(run("fixed", data))


# --- what it notices


def drifting(weights: np.ndarray[Any, np.dtype[np.float64]]) -> pa.Table:
    """The best orders move on by one, for a share of the rows that changes."""
    rows = len(weights)
    kind, noise = attribute(rows, 3, 8), attribute(rows, 9, 9)
    moved = (attribute(rows, 1 << 20, 10) < weights * (1 << 20)).astype(int)
    return stream({"kind": kind, "noise": noise}, outcomes((kind + moved) % 3, SKEWED, 11))


def test_a_sudden_change_is_noticed_and_followed() -> None:
    found = run(MESH, drifting((np.arange(80_000) >= 40_000).astype(np.float64)))
    decisions = found.report.decisions()
    after = decisions[decisions["batch"] >= 40]
    assert "was promised" in after.iloc[0]["reason"]
    assert after.iloc[0]["batch"] <= 43
    assert calls(found, 45) < 1.05 * calls(found, 5, 40)


def test_a_slow_change_is_noticed_by_what_was_promised_and_not_by_the_last_micro_batch() -> None:
    weights = np.clip((np.arange(100_000) - 20_000) / 60_000, 0, 1)
    found = run(MESH, drifting(weights))
    reasons = found.report.decisions()
    assert reasons["reason"].str.contains("was promised").any()
    assert calls(found, 90) < 1.08 * calls(found, 5, 20)
    assert calls(found, 20, 80) < 0.85 * calls(run("fixed", drifting(weights)), 20, 80)


def test_selectivities_that_change_alike_for_all_do_not_make_it_restless() -> None:
    """Each new sample finds the same mesh; the dearer the more often nothing came of it."""
    rows = 60_000
    kind, late = attribute(rows, 3, 12), np.arange(rows) // 2_000 % 2
    table = [*SKEWED, *[[rate / 2 for rate in row] for row in SKEWED]]
    data = stream({"kind": kind}, outcomes(kind + 3 * late, table, 13))
    decisions = run(mesh("kind"), data).report.decisions()
    assert decisions["reason"].str.contains("was promised").sum() <= 3


# --- or-sets


def test_the_lottery_of_an_or_set_leans_to_the_better_operator() -> None:
    kind = attribute(ROWS, 2, 14)
    data = stream({"kind": kind}, outcomes(kind, [[0.5, 0.45, 0.9], [0.5, 0.45, 0.9]], 15))
    found = run(mesh("kind", tolerance=0.2), data)
    # Both are in one set; which of them a few hundred rows take for the better one is chance.
    tree = found.report.decisions().iloc[-1]["tree"]
    assert "op1 | op0" in tree or "op0 | op1" in tree
    assert answer(found) == answer(run("fixed", data))
    routes = found.report.routes().groupby("route")["tuples"].sum()
    first = {name: routes[routes.index.str.startswith(name)].sum() for name in ("op0", "op1")}
    assert first["op1"] > first["op0"] > 0.1 * first["op1"]


# --- joins


STREAMS = "abcd"
STAR = ["a.x = b.x", "a.y = c.y", "a.z = d.z"]
CHAIN = ["a.x = b.x", "b.y = c.y", "c.z = d.z"]


@pytest.mark.parametrize("joins", [STAR, CHAIN], ids=["star", "chain"])
def test_routes_over_probes_are_legal_and_answer_the_same(joins: list[str]) -> None:
    chance = np.random.default_rng(16)
    data = {s: pa.table({"ts": np.arange(2_000), **{c: chance.integers(0, 60, 2_000) for c in "xyz"}}) for s in STREAMS}
    asked = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(60), delay=0) for s in STREAMS],
        joins=joins,
        filters=[eddy.Filter("odd", on="b", where="z % 2 = 1")],
        select=[f"{s}.ts as {s}" for s in STREAMS],
    )
    policies: list[Any] = ["fixed", {"name": "query_mesh", "costs": "unit", "S": 200}]
    fixed, found = [eddy.run_local(asked, data, policy=policy, batch_rows=100) for policy in policies]
    order = [(name, "ascending") for name in STREAMS]
    assert found.results.sort_by(order).equals(fixed.results.sort_by(order))
    assert found.results.num_rows > 0
    decisions = found.report.decisions()
    assert set(decisions["stream"]) == set(STREAMS)
    assert all("probe_" in tree for tree in decisions["tree"])


# --- a restart


def engine(policy: dict[str, Any], data: pa.Table) -> Engine:
    return wiring.engine(query(3), {"s": data.schema}, policy, tables={}, clock=steady_clock(), seed=0)


def batches(data: pa.Table, first: int, last: int) -> list[dict[str, pa.RecordBatch]]:
    part = data.slice(first * BATCH, (last - first) * BATCH)
    return [{"s": batch} for batch in part.combine_chunks().to_batches(max_chunksize=BATCH)]


def done(one: Engine, batch: dict[str, pa.RecordBatch]) -> Any:
    """What came out of a micro-batch, and how."""
    rows = [part.to_pydict() for part in one.run(batch)]
    counted = one.read_counters()
    return rows, {hop: s.rows_in for hop, s in counted.operators.items()}, counted.routes, counted.insight


def test_what_is_restored_goes_on_exactly_also_while_it_is_renewed() -> None:
    """A change after six micro-batches, and a restart after each: before, while and after the mesh is made anew."""
    policy = mesh("kind", "noise", S=400, tolerance=0.1)
    data = drifting((np.arange(30 * BATCH) >= 6 * BATCH).astype(np.float64))
    first, states = engine(policy, data), []
    for batch in batches(data, 0, 24):
        done(first, batch)
        states.append(first.snapshot())
    reasons: set[str] = set()
    for number in range(0, 24, 2):
        one, other = engine(policy, data), engine(policy, data)
        one.restore(states[number])
        other.restore(one.snapshot())
        for batch in batches(data, number + 1, number + 6):
            found = done(one, batch)
            assert found == done(other, batch)
            reasons |= {decision.reason for decision in found[3].decisions}
        assert one.snapshot() == other.snapshot()
    assert any("was promised" in reason for reason in reasons)


OTHER_SETTINGS: dict[str, dict[str, Any]] = {
    "other attributes": {"attributes": ["s.noise", "s.kind"]},
    "other d": {"d": 7},
    "another S": {"S": 300},
}


@pytest.mark.parametrize("change", OTHER_SETTINGS)
def test_a_mesh_that_does_not_fit_is_dropped_with_a_note_and_learned_anew(change: str) -> None:
    data = skewed(20_000)
    state = learned(MESH, data)
    policy = {**MESH, **OTHER_SETTINGS[change]}
    found = run(restoring(policy, state), data)
    assert found.report.decisions().iloc[0]["reason"] == FOREIGN
    assert answer(found) == answer(run("fixed", data))
    assert calls(found, 10) == pytest.approx(calls(run(policy, data), 10), rel=0.02)


def test_a_mesh_for_other_operators_is_dropped() -> None:
    data = skewed(20_000)
    state = learned(MESH, data)
    four = stream({"kind": KIND[:20_000], "noise": NOISE[:20_000]}, outcomes(KIND[:20_000], [[0.5] * 4] * 3, 17))
    found = run(restoring(MESH, state), four)
    assert found.report.decisions().iloc[0]["reason"] == FOREIGN
    assert answer(found) == answer(run("fixed", four))


def test_a_mesh_that_fits_is_taken_up() -> None:
    data = skewed(20_000)
    found = run(restoring(MESH, learned(MESH, data)), data)
    assert FOREIGN not in set(found.report.decisions()["reason"])
    assert calls(found, 0, 1) < 1.3


def test_what_was_dropped_is_kept_until_rows_come() -> None:
    """A snapshot of a policy that has seen no rows since its restart is still of the old mesh."""
    state = learned(MESH, skewed(20_000))
    setting = Setting(operators=("op0", "op1", "op2"), columns=(Column("s", "kind"), Column("s", "noise")))
    again = wiring.make_policy(MESH, setting)
    again.restore(state)
    assert again.snapshot()["streams"] == state["streams"]


def learned(policy: dict[str, Any], data: pa.Table) -> State:
    """What a policy knows after some rows."""
    made: list[Policy] = []

    def build(setting: Setting) -> Policy:
        made.append(wiring.make_policy(policy, setting))
        return made[0]

    run(build, data)
    return made[0].snapshot()


def restoring(policy: dict[str, Any], state: State) -> Any:
    """The policy, from what another one knew."""

    def build(setting: Setting) -> Policy:
        made = wiring.make_policy(policy, setting)
        made.restore(state)
        return made

    return build


# --- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"S": 0}, "S: expected a whole number of 1 or more, got 0"),
        ({"T": 0}, "T: expected a whole number of 1 or more, got 0"),
        ({"T": 2.5}, "T: expected a whole number of 1 or more, got 2.5"),
        ({"window": 0}, "window: expected a whole number of 1 or more, got 0"),
        ({"d": 1}, "d: expected a number of buckets from 2 to 250, got 1"),
        ({"budget_ms": 0}, "budget_ms: expected a number of milliseconds above 0, got 0"),
        ({"budget_ms": True}, "budget_ms: expected a number of milliseconds above 0, got True"),
        ({"tolerance": 0}, "tolerance: expected a share above 0 and up to 1, got 0"),
        ({"costs": "money"}, 'costs: expected "time" or "unit"'),
        ({"attributes": ["s.kin"]}, 'unknown classifier attribute "s.kin"; did you mean "s.kind"'),
        ({"attributes": "s.kind"}, 'attributes: expected a list of "stream.column"'),
        ({"attributes": ["s.list"]}, r'attribute "s\.list".*nested columns cannot classify'),
    ],
)
def test_wrong_parameters_are_explained(parameters: dict[str, Any], message: str) -> None:
    data = skewed(100).append_column("list", pa.array([[1]] * 100))
    with pytest.raises(eddy.QueryError, match=f'policy "query_mesh".*{message}'):
        run({"name": "query_mesh", **parameters}, data)


@pytest.mark.parametrize(
    "values",
    [pa.nulls(ROWS, pa.int64()), pa.array([7] * ROWS), pa.array(np.arange(ROWS)), pa.array([None, "x"] * (ROWS // 2))],
    ids=["all null", "one value", "rising", "half null"],
)
def test_attributes_that_tell_nothing_are_not_asked(values: pa.Array) -> None:
    data = skewed().append_column("odd", values)
    found = run(mesh("odd", "kind"), data)
    assert "odd" not in found.report.decisions().iloc[-1]["tree"]
    assert calls(found, 5) < 0.65 * calls(run("fixed", data), 5)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_operators_that_always_or_never_pass_are_no_trouble(value: float) -> None:
    data = stream({"kind": KIND}, outcomes(KIND, [[0.5, value, 0.5]] * 3, 18))
    found = run(mesh("kind"), data)
    assert answer(found) == answer(run("fixed", data))
    assert calls(found, 5) < 1.05 * (1.0 if value == 0 else 1.75)


@pytest.mark.parametrize("parameters", [{"S": 1}, {"T": 1}, {"S": 2, "T": 1_000}, {"budget_ms": 1e-6}], ids=str)
def test_little_to_go_by_is_no_trouble(parameters: dict[str, Any]) -> None:
    data = skewed(5_000)
    assert answer(run(mesh("kind", **parameters), data)) == answer(run("fixed", data))


def test_no_attributes_leave_one_way() -> None:
    found = run(mesh(), skewed(10_000))
    assert set(found.report.decisions()["ways"]) == {1}


# --- what it tells


def test_a_run_is_explained_by_its_tree_its_ways_and_its_decisions() -> None:
    found = run(MESH, drifting((np.arange(40_000) >= 20_000).astype(np.float64)))
    lines = eddy.explain(found).splitlines()
    assert max(map(len, lines)) <= 120
    start = lines.index('who takes which way of "s", as decided last')
    assert {line.strip() for line in lines[start + 1 : start + 7 : 2]} == {f"kind={k}" for k in range(3)}
    assert all(line.startswith("    -> op") for line in lines[start + 2 : start + 8 : 2])
    assert 'decisions about "s", and what a row costs' in lines
    assert any("was promised" in line for line in lines)
