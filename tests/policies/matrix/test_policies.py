"""What A-Greedy and its variants do in the engine: few calls, little profiling, and soon again after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Setting
from eddy.policies.matrix.order import compare_orders, find_exact
from eddy.tuples.arrays import Mask
from tests.policies.checks import Watched
from tests.policies.matrix.thesis import problem
from tests.policies.test_source import Wavering, column

UNIT = {"costs": "unit"}


def groups(rows: int, shares: Sequence[float], size: int, seed: int = 0, agree: float = 0.8) -> Mask:
    """Filters in groups, as in section 4.7.2 of the thesis: those of a group agree on 80 % of the rows."""
    chance = np.random.default_rng(seed)
    passed, lead = np.empty((rows, len(shares)), np.bool_), np.empty(rows)
    for number, share in enumerate(shares):
        if number % size == 0:
            lead = chance.random(rows)
        alike = 1 - 2 * share * (1 - share)
        follows = chance.random(rows) < max(agree - alike, 0.0) / max(1 - alike, 1e-9)
        passed[:, number] = np.where(follows & (size > 1), lead, chance.random(rows)) < share
    return passed


def run(passed: Mask, policy: Mapping[str, Any], costs: Sequence[float] | None = None, **more: Any) -> eddy.Run:
    """Filters on columns of outcomes; with costs, each takes so many microseconds a row."""
    clock = Wavering(noise=0.0)
    data = {f"v{n}": passed[:, n] for n in range(passed.shape[1])}
    filters = [
        eddy.Filter(f"f{n}", on="s", function=column(clock, costs[n] if costs else 1.0), columns=[name])
        for n, name in enumerate(data)
    ]
    asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    stream = {"s": pa.table({"ts": np.arange(len(passed)), **data})}
    return eddy.run_local(asked, stream, policy=policy, batch_rows=1_000, clock=clock, **more)


def per_row(found: eddy.Run, first: int = 0, last: int | None = None) -> float:
    """Calls a row, profiling included."""
    calls = found.report.operators(by_batch=True).groupby("batch")["rows_in"].sum()
    return float(calls.iloc[first:last].mean() / 1_000)


def best(passed: Mask, costs: Sequence[float] | None = None) -> float:
    """What a row costs in the best order of all."""
    found = problem(passed.astype(np.float64), costs)
    order = find_exact(found)
    return compare_orders(found, order, order).cost


def share_of_profiling(found: eddy.Run, costs: Sequence[float]) -> float:
    """The part of the operators' cost that went into profiling."""
    spent = found.report.operators().groupby("operator")["rows_in"].sum()
    uses = found.report.learning()
    profiled = uses[uses["kind"] == "profiling"].groupby("operator")["calls"].sum()
    prices = {f"f{number}": cost for number, cost in enumerate(costs)}
    aside = sum(profiled[name] * prices[name] for name in profiled.index)
    return float(aside / sum(spent[name] * prices[name] for name in spent.index))


def alike(operators: int = 8, rows: int = 40_000) -> Mask:
    """Example 4.5.1: all but one pass 49 values of 100, the same; the last one passes the others."""
    values = np.random.default_rng(1).integers(1, 101, rows)
    return np.stack([values < 50] * (operators - 1) + [values >= 50], axis=1)


def neighbours(operators: int = 8, rows: int = 80_000) -> Mask:
    """Example 4.6.1: each drops a range of its own; from a quarter on the last drops all but that of the one before."""
    bins = np.random.default_rng(1).integers(0, operators, rows)
    passed = np.stack([bins != number for number in range(operators)], axis=1)
    late = np.arange(rows) >= rows // 4
    passed[late, -1] = bins[late] == operators - 2
    return passed


def test_independent_takes_three_times_as_much_in_example_4_5_1() -> None:
    passed = alike()
    calls = {name: per_row(run(passed, {"name": name, **UNIT})) for name in ("independent", "a_greedy")}
    assert calls["independent"] >= 2.8 * calls["a_greedy"]


def test_local_swaps_takes_four_times_as_much_in_example_4_6_1() -> None:
    passed = neighbours()
    calls = {name: per_row(run(passed, {"name": name, **UNIT}), 50) for name in ("local_swaps", "a_greedy")}
    assert calls["local_swaps"] >= 3.7 * calls["a_greedy"]


@pytest.mark.parametrize(("operators", "size", "share"), [(3, 2, 0.5), (8, 2, 0.5)])
def test_a_greedy_takes_little_more_than_the_best_order(operators: int, size: int, share: float) -> None:
    passed = groups(30_000, [share] * operators, size)
    assert per_row(run(passed, {"name": "a_greedy", **UNIT}), 10) <= 1.03 * best(passed)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("operators", "size"), [(2, 1), (5, 4), (8, 2), (8, 8), (10, 1), (10, 4)])
def test_a_greedy_takes_little_more_than_the_best_order_for_long(operators: int, size: int, share: float) -> None:
    passed = groups(300_000, [share] * operators, size)
    assert per_row(run(passed, {"name": "a_greedy", **UNIT})) <= 1.015 * best(passed)


def test_explain_says_how_many_decisions_there_were_and_writes_nothing_for_what_nobody_knows() -> None:
    passed = groups(40_000, [0.9, 0.8, 0.6, 0.4, 0.2], 1)
    found = run(passed, {"name": "local_swaps", "p": 0.2, **UNIT})
    lines = eddy.explain(found).splitlines()
    decisions = found.report.decisions()
    assert len(decisions) > 8
    assert f'decisions about "s", and what a row costs, the last 8 of {len(decisions)}' in lines
    assert decisions["observed"].isna().any()
    assert "nan" not in " ".join(lines).split()


def test_an_order_that_nobody_chose_has_no_price_that_was_promised() -> None:
    decisions = run(groups(3_000, [0.5], 1), {"name": "a_greedy", **UNIT}).report.decisions()
    assert (decisions["reason"].tolist(), decisions["observed"].tolist()) == (["first rows"], [1.0])
    assert decisions["predicted"].isna().all()


@pytest.mark.parametrize("policy", ["a_greedy", "sweep", "independent", "local_swaps"])
def test_every_variant_finds_the_order_of_filters_that_are_independent(policy: str) -> None:
    shares = [0.9, 0.3, 0.6]
    passed = groups(60_000, shares, 1)
    found = run(passed, {"name": policy, **UNIT, "p": 0.02})
    assert per_row(found, 40) <= 1.06 * best(passed)


@pytest.mark.parametrize(
    ("p", "operators", "most"), [(0.01, 3, 0.009), (0.01, 8, 0.03), (0.05, 3, 0.042), (0.05, 8, 0.133)]
)
def test_profiling_with_a_probability_takes_its_share(p: float, operators: int, most: float) -> None:
    passed = groups(30_000, [0.5] * operators, 2)
    found = run(passed, {"name": "a_greedy", "p": p, **UNIT})
    assert 0.6 * most < share_of_profiling(found, [1.0] * operators) <= most


DEAR = pytest.mark.parametrize(
    "costs", [[1.0] * 8, [1.0, 100.0] * 4, [1.0] * 4 + [100.0] * 4], ids=["alike", "mixed", "last"]
)


def check_share(rows: int, costs: list[float], most: float) -> None:
    passed = groups(rows, [0.5] * 8, 2)
    found = run(passed, {"name": "a_greedy"}, costs)
    assert 0.001 < share_of_profiling(found, costs) <= most
    calls = found.report.operators(by_batch=True)
    later = calls[calls["batch"] >= 10].groupby("operator")["rows_in"].sum()
    spent = sum(later[f"f{number}"] * cost for number, cost in enumerate(costs)) / (rows - 10_000)
    assert spent <= 1.05 * best(passed, costs)


@DEAR
def test_profiling_takes_little_however_dear_some_filters_are(costs: list[float]) -> None:
    check_share(40_000, costs, 0.025)


@pytest.mark.long
@DEAR
def test_profiling_takes_its_share_however_dear_some_filters_are(costs: list[float]) -> None:
    check_share(300_000, costs, 0.007)


@pytest.mark.parametrize("seed", range(2))
def test_it_takes_few_rows_to_follow_a_change(seed: int) -> None:
    chance = np.random.default_rng(seed)
    shares = np.linspace(0.2, 0.9, 8)
    halves = [groups(20_000, chance.permutation(shares).tolist(), 2, seed=seed + part) for part in (10, 20)]
    found = run(np.concatenate(halves), {"name": "a_greedy", **UNIT}, seed=seed)
    assert per_row(found, 10, 20) <= 1.06 * best(halves[0])
    assert per_row(found, 25) <= 1.06 * best(halves[1])


def test_a_change_that_all_rows_show_is_told() -> None:
    halves = [groups(20_000, shares, 1) for shares in ([0.2, 0.5, 0.9], [0.9, 0.5, 0.2])]
    found = run(np.concatenate(halves), {"name": "a_greedy", **UNIT})
    reasons = found.report.decisions()["reason"].tolist()
    assert any('lets other rows pass than before; "f2" comes at place 1' in reason for reason in reasons)


def test_a_stream_that_stays_as_it_is_keeps_its_order() -> None:
    found = run(groups(60_000, [0.3, 0.5, 0.7, 0.9], 1), {"name": "a_greedy", **UNIT})
    decisions = found.report.decisions()
    assert (decisions["batch"] >= 30).sum() <= 2


@pytest.mark.parametrize("name", ["a_greedy", "sweep", "independent", "local_swaps"])
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"p": 0}, 'p: expected "auto" or a probability above 0 and up to 1, such as 0.01, got 0'),
        ({"p": 1.5}, "p: expected"),
        ({"p": "often"}, "p: expected"),
        ({"p": True}, "p: expected"),
        ({"window": 0}, "window: expected a whole number from 1 to 100,000, got 0"),
        ({"window": 10**9}, "window: expected a whole number from 1 to 100,000"),
        ({"alpha": 0}, "alpha: expected a share above 0 and up to 1, got 0"),
        ({"alpha": 1.1}, "alpha: expected a share above 0 and up to 1, got 1.1"),
        ({"price": 0}, "price: expected a share above 0 and below 1, such as 0.005, got 0"),
        ({"price": 1}, "price: expected a share above 0 and below 1, such as 0.005, got 1"),
        ({"price": "dear"}, "price: expected a share above 0 and below 1, such as 0.005, got 'dear'"),
        ({"costs": "calls"}, 'costs: expected "time" or "unit"'),
    ],
)
def test_a_slip_in_a_parameter_is_an_error(name: str, wrong: Mapping[str, Any], text: str) -> None:
    with pytest.raises(eddy.QueryError, match=f'policy "{name}": {text}'):
        wiring.make_policy({"name": name, **wrong}, Setting(operators=("f",)))


def test_a_search_that_there_is_not_is_an_error() -> None:
    with pytest.raises(eddy.QueryError, match='unknown search "best"'):
        wiring.make_policy({"name": "a_greedy", "search": "best"}, Setting(operators=("f",)))


@pytest.mark.parametrize(("p", "search"), [("auto", "greedy"), (0.02, "exact")])
def test_more_than_64_operators_are_ordered_as_well(search: str, p: float | str) -> None:
    shares = np.linspace(0.95, 0.3, 70)
    passed = groups(4_000, shares.tolist(), 1)
    found = run(passed, {"name": "a_greedy", "search": search, "p": p, **UNIT})
    results = int(passed.all(axis=1).sum())
    assert found.results.num_rows == results
    assert per_row(found, 2) < 0.5 * per_row(run(passed, {"name": "fixed"}))


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("name", ["a_greedy", "sweep", "independent", "local_swaps"])
def test_filters_that_drop_all_or_nothing_and_take_no_time(name: str, share: float) -> None:
    passed = groups(5_000, [share] * 3, 1)
    for costs in (None, [0.0] * 3):
        assert run(passed, {"name": name, "p": 0.1}, costs).results.num_rows == share * len(passed)


def engine(filters: int, policy: Callable[[Setting], Watched]) -> Any:
    """Filters on columns, for a policy."""
    asked = eddy.Query(
        streams=[eddy.Stream("s", time="ts")],
        filters=[eddy.Filter(f"f{n}", on="s", where=f"v{n}") for n in range(filters)],
        select=["s.ts"],
    )
    schema = table(groups(1, [0.5] * filters, 1)).schema
    return wiring.engine(asked, {"s": schema}, policy, tables={}, clock=float, seed=0)


def table(passed: Mask) -> pa.Table:
    return pa.table({"ts": np.arange(len(passed)), **{f"v{n}": passed[:, n] for n in range(passed.shape[1])}})


def test_a_snapshot_for_other_operators_is_dropped_with_a_note() -> None:
    policy = {"name": "a_greedy", **UNIT}
    watches: list[Watched] = []

    def build(filters: int) -> Callable[[Setting], Watched]:
        def make(setting: Setting) -> Watched:
            watches.append(Watched(wiring.make_policy(policy, setting)))
            return watches[-1]

        return make

    reasons = []
    for filters in (3, 4):
        running = engine(filters, build(filters))
        if filters == 4:
            watches[1].restore(watches[0].snapshot())
        # Of so few rows none is a reason for another order, which would have a note of its own.
        list(running.run({"s": table(groups(20, [0.5] * filters, 1)).combine_chunks().to_batches()[0]}))
        reasons += [decision.reason for decision in watches[-1].insight.decisions]
    assert reasons == ["first rows", "first rows; what was restored is for other operators"]
