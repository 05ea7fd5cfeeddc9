"""What the learning policies learn, and what they refuse to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.classes.single_values import FIRST_VALUE, MOST_NUMBERS
from eddy.policies.content.profile import Profile, gain_ratios, skews
from eddy.policies.content.selectivities import RunningSelectivities
from eddy.policies.shared.orders import MOST_ORDERS, best_orders, mask_settled

OPERATORS = 4
UNIT = {"costs": "unit"}


def star(
    selectivities: list[list[float]], rows: int = 20_000, *, seed: int = 0, extra: dict[str, Any] | None = None
) -> dict[str, pa.Table]:
    """Rows of as many classes as there are lists, and a column for the outcome of each operator."""
    rng = np.random.default_rng(seed)
    table = np.array(selectivities)
    kind = rng.integers(0, len(table), rows)
    columns: dict[str, Any] = {"ts": np.arange(rows), "kind": kind, "noise": rng.integers(0, 6, rows), **(extra or {})}
    for i in range(table.shape[1]):
        columns[f"p{i}"] = rng.random(rows) < table[kind, i]
    return {"s": pa.table(columns)}


def query(operators: int) -> eddy.Query:
    filters = [eddy.Filter(f"op{i}", on="s", where=f"p{i}") for i in range(operators)]
    return eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])


def calls(policy: dict[str, Any], data: dict[str, pa.Table], operators: int = OPERATORS) -> eddy.Run:
    return eddy.run_local(query(operators), data, policy={**UNIT, **policy}, batch_rows=1_000)


def per_row(run: eddy.Run, since: int = 0) -> float:
    batches = run.report.batches()[since:]
    return float(batches["routing_calls"].sum() / batches["rows"].sum())


SKEWED = [[0.05 if i == k else 0.9 for i in range(OPERATORS)] for k in range(OPERATORS)]
CONTENT = {"name": "content", "attributes": ["s.kind", "s.noise"]}
TRUTH = {
    "attribute": "s.kind",
    "values": list(range(OPERATORS)),
    "selectivities": {f"op{i}": [SKEWED[k][i] for k in range(OPERATORS)] for i in range(OPERATORS)},
}


def test_content_finds_the_attribute_and_nearly_all_that_can_be_gained() -> None:
    data = star(SKEWED)
    content = calls(CONTENT, data)
    learned = content.report.learning()
    assert set(learned.loc[learned["kind"] == "classified", "attribute"]) == {"s.kind"}
    source, knows = calls({"name": "source"}, data), calls({"name": "knows", "truth": TRUTH}, data)
    gained = (per_row(source, 5) - per_row(content, 5)) / (per_row(source, 5) - per_row(knows, 5))
    assert gained > 0.9


def test_content_routes_probes_as_it_routes_filters() -> None:
    rng = np.random.default_rng(1)
    data = star(SKEWED)
    keys = pa.table({"id": np.arange(500)})
    stream = data["s"]
    for i in range(OPERATORS):
        hit = stream[f"p{i}"].to_numpy()
        stream = stream.append_column(f"k{i}", pa.array(np.where(hit, rng.integers(0, 500, len(hit)), 999)))
    asked = eddy.Query(
        streams=[eddy.Stream("s", time="ts")],
        tables=[eddy.Table(f"d{i}") for i in range(OPERATORS)],
        joins=[f"s.k{i} = d{i}.id" for i in range(OPERATORS)],
        select=["s.ts"],
    )
    tables = {"s": stream, **{f"d{i}": keys for i in range(OPERATORS)}}
    runs = {
        name: eddy.run_local(asked, tables, policy={**UNIT, **choice}, batch_rows=1_000)
        for name, choice in (("source", {"name": "source"}), ("content", CONTENT))
    }
    assert sorted(runs["source"].results["ts"].to_pylist()) == sorted(runs["content"].results["ts"].to_pylist())
    assert per_row(runs["content"], 5) < 0.8 * per_row(runs["source"], 5)


def test_a_sudden_change_is_followed() -> None:
    before, after = star(SKEWED, 20_000), star([SKEWED[(k + 1) % OPERATORS] for k in range(OPERATORS)], 20_000, seed=1)
    both = pa.concat_tables([before["s"], after["s"]]).set_column(0, "ts", pa.array(np.arange(40_000)))
    content = calls(CONTENT, {"s": both})
    steady = per_row(content, 35)
    settled = content.report.batches()["routing_calls"][32:35].sum() / 3_000
    assert settled <= 1.1 * steady


def test_a_weak_classifier_is_found_when_all_is_calm() -> None:
    """Figure 3 of the paper with A = 0.5: the classes explain a fortieth of what an operator does."""
    content = calls(CONTENT, star([[0.5 if i == k else 0.72 for i in range(8)] for k in range(8)], 40_000), 8)
    learned = content.report.learning()
    classified = learned[learned["kind"] == "classified"]
    assert set(classified["attribute"]) == {"s.kind"}
    assert classified["calls"].sum() > 0.5 * learned["calls"].sum()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_operators_that_always_or_never_pass_are_no_trouble(value: float) -> None:
    data = star([[value, 0.5, 0.5, 0.5]] * 2)
    content, fixed = calls(CONTENT, data), eddy.run_local(query(OPERATORS), data)
    assert sorted(content.results["ts"].to_pylist()) == sorted(fixed.results["ts"].to_pylist())
    if value == 0.0:
        assert per_row(content, 5) < 1.1


@pytest.mark.parametrize(
    "values",
    [pa.nulls(20_000, pa.int64()), pa.array([7] * 20_000), pa.array(np.arange(20_000)), pa.array([None, "x"] * 10_000)],
    ids=["all null", "one value", "rising", "half null"],
)
def test_attributes_that_tell_nothing_are_not_chosen(values: pa.Array) -> None:
    data = star(SKEWED, extra={"odd": values})
    content = calls({"name": "content", "attributes": ["s.odd", "s.kind"]}, data)
    learned = content.report.learning()
    assert set(learned.loc[learned["kind"] == "classified", "attribute"]) == {"s.kind"}


def test_the_routes_of_classes_are_reported() -> None:
    run = calls(CONTENT, star(SKEWED))
    routes = run.report.routes()
    assert routes["tuples"].sum() == 20_000
    assert set(routes["class"]) >= {f"kind={value}" for value in range(OPERATORS)}
    assert "s.kind" in eddy.explain(run)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"name": "content", "attributes": ["s.kin"]}, 'unknown classifier attribute "s.kin"; did you mean "s.kind"'),
        ({"name": "content", "attributes": "s.kind"}, 'attributes: expected a list of "stream.column"'),
        ({"name": "content", "d": 1}, "d: expected a number of buckets from 2 to 250, got 1"),
        ({"name": "content", "P": 0}, "P: expected a share above 0 and up to 1, got 0"),
        ({"name": "content", "P": 1.5}, "P: expected a share above 0 and up to 1, got 1.5"),
        ({"name": "content", "R": 0}, "R: expected a whole number of 1 or more, got 0"),
        ({"name": "content", "alpha": "x"}, "alpha: expected a share"),
        ({"name": "content", "costs": "money"}, 'costs: expected "time" or "unit"'),
        ({"name": "content", "profile": 1}, "profile: expected true or false, got 1"),
        ({"name": "content", "threshold": 1}, "threshold: expected a gain ratio from 0 to below 1"),
        ({"name": "source", "choice": "best"}, 'choice: expected "greedy" or "proportional"'),
        ({"name": "source", "explore": 2}, "explore: expected a share from 0 to 1"),
        ({"name": "knows", "truth": {}}, "truth: expected attribute, values and selectivities"),
        ({"name": "knows", "truth": {**TRUTH, "attribute": "s.kin"}}, 'unknown classifier attribute "s.kin"'),
        ({"name": "knows", "truth": {**TRUTH, "values": [1]}}, "expected one for each of 1 values, got 4"),
        ({"name": "knows", "truth": {**TRUTH, "selectivities": {"op9": [1]}}}, 'unknown operator "op9"'),
    ],
)
def test_wrong_parameters_are_explained(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(eddy.QueryError, match=f'policy "{policy["name"]}".*{message}'):
        calls(policy, star(SKEWED, 100))


def test_a_nested_column_cannot_classify() -> None:
    data = star(SKEWED, 2, extra={"list": [[1], [2]]})
    with pytest.raises(eddy.QueryError, match=r'attribute "s\.list".*nested columns cannot classify'):
        calls({"name": "content", "attributes": ["s.list"]}, data)


def test_half_lives_of_tickets_are_checked() -> None:
    with pytest.raises(eddy.QueryError, match="half_life: expected a whole number of 1 or more, got 0"):
        eddy.run_local(query(1), star([[0.5]], 10), policy={"name": "lottery", "half_life": 0})


def test_the_gain_ratio_is_that_of_the_paper() -> None:
    """Section 3: table 1, three classes of equal size; the ratio of O2 is its largest. Ours is the textbook's value."""
    seen = np.full((1, 3), 1e6)
    ratios = [float(gain_ratios(seen, 1e6 * np.array([s]))[0]) for s in ([0.32, 0.31, 0.27], [0.1, 0.2, 0.9])]
    assert ratios[0] < 0.01
    assert ratios[1] > 0.2


def test_chance_is_no_gain() -> None:
    rng = np.random.default_rng(0)
    seen = rng.multinomial(150, [1 / 24] * 24, size=10_000).astype(float)
    passed = rng.binomial(seen.astype(int), 0.5).astype(float)
    assert (gain_ratios(seen, passed) > 0).mean() < 0.002
    assert (skews(seen, passed, passed) > 0).mean() < 0.002


def test_fan_outs_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3, 600)
    fan = rng.poisson(np.array([0.5, 2.0, 8.0])[cells])
    powers = [fan.astype(np.float64) ** power for power in (0, 1, 2)]
    seen, out, squares = (np.bincount(cells, one, 3).astype(np.float64)[None, :] for one in powers)
    assert skews(seen, out, squares)[0] > 0.4


def one_operator(alpha: float) -> RunningSelectivities:
    running = RunningSelectivities(1, alpha)
    running.grow()
    return running


def test_running_selectivities_are_steady_and_quick() -> None:
    rng = np.random.default_rng(0)
    running = one_operator(0.95)
    for _ in range(40):
        running.add(np.zeros(100, int), rng.random(100) < 0.3)
    assert running.rates()[0, 0] == pytest.approx(0.3, abs=0.04)
    running.add(np.zeros(60, int), rng.random(60) < 0.9)
    assert running.rates()[0, 0] > 0.7


def test_a_batch_moves_the_quick_estimate_as_its_tuples_would_on_average() -> None:
    whole, single = one_operator(0.95), one_operator(0.95)
    for running in (whole, single):
        running.start(0, np.array([10.0]), np.array([5.0]))
    whole.add(np.zeros(50, int), np.ones(50))
    for _ in range(50):
        single.add(np.zeros(1, int), np.ones(1))
    assert whole.snapshot()[0] == pytest.approx(single.snapshot()[0])


def test_a_value_leans_on_the_bucket_that_it_was_in() -> None:
    """What the bucket has seen stays with it, and counts until the value has been seen itself."""
    running = RunningSelectivities(FIRST_VALUE, 0.95)
    running.grow()
    running.add(running.places(np.zeros(400, int), np.arange(400) % 2), np.arange(400) % 2)
    before = running.rates()
    running.widen(MOST_NUMBERS)
    assert running.rates()[:, :FIRST_VALUE] == pytest.approx(before)
    assert running.estimate_whole() == pytest.approx(0.5, abs=0.01)
    buckets = np.append(np.arange(FIRST_VALUE), np.arange(MOST_NUMBERS - FIRST_VALUE) % 2).astype(np.uint8)
    none, every = running.rates({0: buckets})[0, FIRST_VALUE : FIRST_VALUE + 2]
    assert none < 0.05
    assert every > 0.95
    running.add(running.places(np.zeros(60, int), np.full(60, FIRST_VALUE)), np.ones(60))
    assert running.rates({0: buckets})[0, FIRST_VALUE] > 0.9
    other = RunningSelectivities(FIRST_VALUE, 0.95)
    other.restore(running.snapshot())
    other.add(other.places(np.zeros(1, int), np.array([FIRST_VALUE + 1])), np.ones(1))
    assert other.rates({0: buckets})[0, FIRST_VALUE + 2] < 0.05


def test_outcomes_of_several_operators_are_kept_apart() -> None:
    running = one_operator(0.95)
    running.grow()
    places = running.places(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]))
    for _ in range(100):
        running.add(places, np.array([1, 0, 1, 1]))
    assert running.rates()[:, 0] == pytest.approx([0.5, 1.0], abs=0.05)
    assert running.estimate_whole() == pytest.approx([0.5, 1.0], abs=0.05)


@pytest.mark.parametrize(
    ("rates", "costs", "expected"),
    [
        ([0.5, 0.5], [1, 1], [False, False]),
        ([0.01, 0.5], [1, 1], [True, False]),
        ([0.99, 0.5], [1, 1], [True, False]),
        ([0.5, 0.5], [1e-9, 1], [True, True]),
        ([0.5, 0.5, 0.5], [1e-9, 1, 1], [True, False, False]),
        ([0.5, 0.5, 0.5], [9, 1, 1], [True, False, False]),
        ([0.5, 2.0], [1e-9, 1], [False, False]),
        ([0.5], [1], [False]),
    ],
)
def test_operators_whose_place_is_settled_are_not_profiled(
    rates: list[float], costs: list[float], expected: list[bool]
) -> None:
    assert mask_settled(np.array(rates), np.array(costs, float)).tolist() == expected


def test_no_more_orders_than_pay_are_taken() -> None:
    rng = np.random.default_rng(2)
    rates, costs, rows = rng.random((200, 6)), np.ones(6), np.full(200, 5)
    common = np.argsort(rates.mean(axis=0))
    orders = best_orders(rates, costs, common, rows)
    distinct = set(map(tuple, orders.tolist()))
    assert 2 < len(distinct) <= MOST_ORDERS + 1
    assert _spent(rates, orders) < _spent(rates, np.broadcast_to(common, orders.shape))
    assert (best_orders(rates, costs, common, rows, price=1_000.0) == common).all()


def _spent(rates: np.ndarray[Any, Any], orders: np.ndarray[Any, Any]) -> float:
    """Calls a tuple, summed up the slow way."""
    total = 0.0
    for one, order in zip(rates, orders, strict=True):
        reach = 1.0
        for operator in order:
            total += reach
            reach *= one[operator]
    return total


def own_attributes(rows: int, shares: Sequence[float]) -> dict[str, pa.Table]:
    """Rows with an attribute of 24 values for each operator."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"ts": np.arange(rows)}
    for i, share in enumerate(shares):
        columns[f"k{i}"] = rng.integers(0, 24, rows)
        columns[f"p{i}"] = rng.random(rows) < np.where(columns[f"k{i}"] % 2, share, 1 - share)
    return {"s": pa.table(columns)}


@pytest.mark.parametrize("batch", [1_000, 10_000])
def test_where_every_operator_goes_by_an_attribute_of_its_own_each_row_goes_its_best_way(batch: int) -> None:
    """Four attributes of 24 values are more classes than rows."""
    shares = (0.95, 0.9, 0.85, 0.8)
    data = own_attributes(60_000, shares)
    policy = {**UNIT, "name": "content", "attributes": [f"s.k{i}" for i in range(4)]}
    run = eddy.run_local(query(4), data, policy=policy, batch_rows=batch)
    rates = np.column_stack(
        [np.where(data["s"][f"k{i}"].to_numpy() % 2, share, 1 - share) for i, share in enumerate(shares)]
    )
    best = _spent(rates, np.argsort(rates, axis=1)) / len(rates)
    usual = _spent(rates, np.broadcast_to(np.arange(4), rates.shape)) / len(rates)
    since = 30_000 // batch
    assert usual - per_row(run, since) > 0.95 * (usual - best)
    routes = run.report.routes(by_batch=True)
    assert any("k" in name for name in routes["class"])
    assert routes[routes["batch"] >= since].groupby("batch")["route"].nunique().max() <= MOST_ORDERS + 1 + 4


def test_classes_that_appear_while_all_rates_stay_are_found_soon() -> None:
    """First each operator drops half of everything; then half of all, and nearly all of one class."""
    even, share = [[0.5] * OPERATORS] * OPERATORS, (0.5 * OPERATORS - 0.05) / (OPERATORS - 1)
    apart = [[0.05 if i == k else share for i in range(OPERATORS)] for k in range(OPERATORS)]
    before, after = star(even, 40_000, seed=11), star(apart, 20_000, seed=1)
    both = pa.concat_tables([before["s"], after["s"]]).set_column(0, "ts", pa.array(np.arange(60_000)))
    content = calls(CONTENT, {"s": both})
    source = per_row(calls({"name": "source"}, after), 5)
    best = 1 + 0.05 * sum(share**i for i in range(OPERATORS - 1))
    assert source - float(content.report.batches()["routing_calls"][46:51].mean()) / 1_000 > 0.9 * (source - best)


def test_a_tie_goes_to_an_attribute_in_use() -> None:
    """Two attributes say the same; the second operator's sample tells a little more by the other one."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, (500, 1))
    buckets = np.hstack((kind, np.where(rng.random((500, 1)) < 0.02, 3, kind))).astype(np.uint8)
    passed = kind[:, 0] == 0
    for used, expected in (((), 0), ((1,), 1)):
        profile = Profile(2, 5)
        profile.learn((0, 1), buckets, passed)
        assert profile.judge(0.001, used)
        assert profile.attribute == expected


def test_a_single_operator_is_profiled_on_request() -> None:
    data = star([[0.1], [0.9]])
    choice = {"name": "content", "attributes": ["s.kind", "s.noise"]}
    for profile, kinds in ((False, set()), (True, {"profiling", "classified"})):
        run = eddy.run_local(query(1), data, policy={**choice, "profile": profile}, batch_rows=1_000)
        learned = run.report.learning()
        assert set(learned["kind"]) >= kinds if profile else learned.empty
        assert set(learned.loc[learned["kind"] == "classified", "attribute"]) <= {"s.kind"}
        assert run.results.num_rows == sum(data["s"]["p0"].to_pylist())
