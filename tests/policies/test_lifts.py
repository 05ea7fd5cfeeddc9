"""Operators that depend on each other are ordered by what each passes of the rows that others have left."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.policies.content.lifts import LEAST_ROWS, MOST_SETS, Lifts
from eddy.policies.shared.orders import order_by_merit, price_orders
from eddy.tuples.arrays import Mask

CELLS = 3
CLASSES = [[0.3, 0.35, 0.4, 0.5, 0.6, 0.7], [0.7, 0.6, 0.5, 0.4, 0.35, 0.3], [0.5, 0.3, 0.4, 0.6, 0.8, 0.45]]
ROWS = 40_000


def draw(rows: int, seed: int = 0, alike: float = 0.9) -> tuple[np.ndarray, Mask]:
    """Rows of three classes; of six filters the first three mostly go by one draw, and the others by another."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, len(CLASSES), rows)
    shared = rng.random((rows, 2)).repeat(3, axis=1)
    draws = np.where(rng.random((rows, 6)) < alike, shared, rng.random((rows, 6)))
    return kind, draws < np.array(CLASSES)[kind]


def price(passed: Mask, order: Sequence[int]) -> float:
    left, calls = np.ones(len(passed), np.bool_), 0
    for operator in order:
        calls += left.sum()
        left = left & passed[:, operator]
    return calls / len(passed)


def find_exact(passed: Mask) -> float:
    """The least calls of a row over all orders, worked out from the last operator to the first."""
    sets = range(1 << passed.shape[1])
    members = [[operator for operator in range(passed.shape[1]) if one >> operator & 1] for one in sets]
    rest = np.zeros(len(sets))
    for one in reversed(sets[:-1]):
        left = passed[:, members[one]].all(axis=1).mean()
        rest[one] = left + min(rest[one | 1 << other] for other in range(passed.shape[1]) if not one >> other & 1)
    return float(rest[0])


def learn(kind: np.ndarray, passed: Mask, orders: Sequence[Sequence[int]], share: float = 0.05) -> Lifts:
    """Lifts of rows of which each class goes an order; samples of each operator go to it first."""
    lifts, rng = Lifts(CELLS), np.random.default_rng(1)
    for own, order in enumerate(orders):
        rows = np.flatnonzero(kind == own)
        for first in range(passed.shape[1]):
            chosen = rows if first == order[0] else rows[rng.random(len(rows)) < share]
            walked: list[int] = []
            for operator in [first, *(other for other in order if other != first)]:
                lifts.add(operator, walked, kind[chosen].astype(np.uint8), passed[chosen, operator])
                walked.append(operator)
                chosen = chosen[passed[chosen, operator]]
    return lifts


def test_each_class_gets_nearly_its_exact_order() -> None:
    kind, passed = draw(ROWS)
    by_rate = np.argsort(CLASSES, axis=1).tolist()
    fitted = learn(kind, passed, by_rate).fit(range(6))
    assert fitted is not None
    rates, rows = fitted.rates.T, np.bincount(kind).astype(float)
    orders = order_by_merit(rates, np.ones(6), np.arange(6), rows, 0.0, fitted.lifts)
    priced = price_orders(rates, np.ones(6), orders, fitted.lifts)
    for own in range(CELLS):
        among = passed[kind == own]
        assert price(among, orders[own]) <= 1.03 * find_exact(among)
        assert priced[own, own] == pytest.approx(price(among, orders[own]), rel=0.1)
        assert price(among, by_rate[own]) > 1.04 * find_exact(among)


def test_independent_operators_have_no_lifts() -> None:
    kind, passed = draw(ROWS, alike=0.0)
    lifts = learn(kind, passed, np.argsort(CLASSES, axis=1).tolist())
    assert lifts.fit(range(6)) is None
    assert not lifts.is_sure


def test_a_change_is_seen_in_any_rows_and_everything_is_learned_anew() -> None:
    """Samples of other operators come seldom: until they do, what was known of these would be believed."""
    kind, passed = draw(ROWS)
    by_rate = np.argsort(CLASSES, axis=1).tolist()
    lifts = learn(kind, passed, by_rate)
    lifts.add(0, [], kind[:1_000].astype(np.uint8), passed[:1_000, 0])
    assert lifts.fit(range(6)) is not None
    lifts.add(0, [], kind[:1_000].astype(np.uint8), ~passed[:1_000, 0])
    assert lifts.fit(range(6)) is None


def test_few_rows_say_nothing() -> None:
    kind, passed = draw(LEAST_ROWS)
    assert learn(kind, passed, np.argsort(CLASSES, axis=1).tolist()).fit(range(6)) is None
    assert Lifts(CELLS).fit(range(6)) is None
    assert Lifts(CELLS).fit(range(20)) is None


def test_an_operator_that_has_not_seen_some_class_first_has_no_share() -> None:
    """What it passes of the classes that are sent to it says nothing of the others."""
    kind, passed = draw(ROWS)
    by_rate = np.argsort(CLASSES, axis=1).tolist()
    assert learn(kind, passed, by_rate, share=0.0).fit(range(6)) is None
    fitted, usual = learn(kind, passed, by_rate), np.zeros(6)
    assert fitted.fit(range(6)) is not None
    assert fitted.estimate(range(6), usual) == pytest.approx(passed.mean(axis=0), abs=0.03)


@pytest.mark.parametrize("attributes", [[], ["s.noise"]])
def test_dependent_operators_are_ordered_where_no_attribute_tells_rows_apart(attributes: list[str]) -> None:
    _, passed = draw(ROWS // 2)
    noise = np.random.default_rng(4).integers(0, 3, len(passed))
    table = pa.table({"ts": np.arange(len(passed)), "noise": noise, **{f"p{i}": passed[:, i] for i in range(6)}})
    filters = [eddy.Filter(f"op{i}", on="s", where=f"p{i}") for i in range(6)]
    query = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    policy = {"name": "content", "attributes": attributes, "costs": "unit"}
    found = eddy.run_local(query, {"s": table}, policy=policy, batch_rows=1_000)
    batches = found.report.batches()[len(passed) // 2_000 :]
    assert found.results.num_rows == passed.all(axis=1).sum()
    assert batches["routing_calls"].sum() / batches["rows"].sum() < 1.05 * find_exact(passed)


def test_lifts_go_on_after_a_restart_and_forget_no_rows_as_they_arrive() -> None:
    kind, passed = draw(ROWS)
    lifts, other = learn(kind, passed, np.argsort(CLASSES, axis=1).tolist()), Lifts(CELLS)
    for number in range(3 * MOST_SETS):
        lifts.add(0, [1 + number], None, passed[:10, 0])
    names, counts = lifts.snapshot()
    assert sum(operator == 0 for operator, _ in names[1:]) == MOST_SETS
    assert [0, []] in names
    other.restore(json.loads(json.dumps(names)), counts)
    first, second = lifts.fit(range(6)), other.fit(range(6))
    assert first is not None
    assert second is not None
    assert np.array_equal(first.lifts, second.lifts)


def test_content_is_hardly_dearer_than_the_exact_order_of_each_class() -> None:
    kind, passed = draw(ROWS)
    table = pa.table({"ts": np.arange(ROWS), "kind": kind, **{f"p{i}": passed[:, i] for i in range(6)}})
    filters = [eddy.Filter(f"op{i}", on="s", where=f"p{i}") for i in range(6)]
    query = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    policy = {"name": "content", "attributes": ["s.kind"], "costs": "unit"}
    batches = eddy.run_local(query, {"s": table}, policy=policy, batch_rows=1_000).report.batches()[ROWS // 2_000 :]
    least = sum(find_exact(passed[kind == own]) * (kind == own).mean() for own in range(CELLS))
    assert batches["routing_calls"].sum() / batches["rows"].sum() < 1.03 * least
