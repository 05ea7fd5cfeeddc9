"""The best route is the best of all legal orders, and prices are what rows really cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.errors import EngineError
from eddy.policies.shared.best_route import Exact, Greedy, Pricer, reach
from eddy.policies.shared.legality import Legality, bits
from eddy.policies.shared.orders import price_orders, price_own
from eddy.tuples import Hop
from tests.policies.query_mesh.worlds import Floats, Needs, cheapest, legality, walk

COSTS = st.integers(1, 40).map(lambda n: n / 8)


@st.composite
def problems(draw: st.DrawFn, operators: int = 5) -> tuple[Floats, list[float], Needs]:
    count = draw(st.integers(1, operators))
    rows = draw(st.lists(st.lists(st.sampled_from([0, 0, 1, 1, 3]), min_size=count, max_size=count), max_size=12))
    costs = draw(st.lists(COSTS, min_size=count, max_size=count))
    needs: Needs = {}
    for operator in range(1, count):
        before = st.sets(st.integers(0, operator - 1), min_size=1, max_size=2)
        if draw(st.booleans()):
            needs[operator] = draw(st.lists(before, min_size=1, max_size=2))
    return np.array(rows, np.float64).reshape(len(rows), count), costs, needs


@given(problems())
def test_the_best_route_is_the_best_of_all_legal_orders(problem: tuple[Floats, list[float], Needs]) -> None:
    outcomes, costs, needs = problem
    legal = legality(outcomes.shape[1], needs)
    exact = Exact(reach(outcomes).sum(axis=0)[None], np.array(costs), legal)
    best = cheapest(outcomes, costs, needs)
    route = exact.routes(np.ones((1, 1)))[0]
    assert len(legal.hops(route)) == outcomes.shape[1]
    assert walk(outcomes, costs, route) == pytest.approx(best)


@given(problems(4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_a_set_costs_what_its_rows_cost(
    problem: tuple[Floats, list[float], Needs], sets: int, chance: np.random.Generator
) -> None:
    outcomes, costs, needs = problem
    cell = np.array([chance.random() * sets for _ in outcomes], np.int64)
    each = np.stack([reach(outcomes[cell == n]).sum(axis=0) for n in range(sets)])
    exact = Exact(each, np.array(costs), legality(outcomes.shape[1], needs))
    members = ((np.arange(1, 1 << sets)[:, None] >> np.arange(sets)) & 1).astype(np.float64)
    for chosen, route in zip(members, exact.routes(members), strict=True):
        assert exact.price_rows(route) @ chosen == pytest.approx(cheapest(outcomes[chosen[cell] > 0], costs, needs))
    route = exact.routes(np.ones((1, sets)))[0]
    assert exact.price_rows(route).tolist() == pytest.approx(
        [walk(outcomes[cell == n], costs, route) for n in range(sets)]
    )


@given(problems(6))
def test_ranks_give_a_legal_route_and_its_price(problem: tuple[Floats, list[float], Needs]) -> None:
    outcomes, costs, needs = problem
    legal = legality(outcomes.shape[1], needs)
    greedy = Greedy(outcomes, np.zeros(len(outcomes), np.int64), np.array(costs), legal)
    if not len(outcomes):
        return
    route = greedy.routes(np.ones((1, 1)))[0]
    assert len(legal.hops(route)) == outcomes.shape[1]
    spent = walk(outcomes, costs, route)
    assert greedy.price_rows(route)[0] == pytest.approx(spent)
    assert spent >= cheapest(outcomes, costs, needs) - 1e-9


def test_ranks_find_the_best_order_of_filters_that_do_not_depend_on_each_other() -> None:
    rates = [0.9, 0.5, 0.2]
    grid = np.stack(np.meshgrid(*[np.arange(10)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    outcomes = (grid < 10 * np.array(rates)).astype(np.float64)
    greedy = Greedy(outcomes, np.zeros(len(outcomes), np.int64), np.ones(3), legality(3))
    assert greedy.routes(np.ones((1, 1)))[0] == (2, 1, 0)


def priced(outcomes: Floats, *, exact: bool) -> Pricer:
    if exact:
        return Exact(reach(outcomes).sum(axis=0)[None], np.ones(outcomes.shape[1]), legality(outcomes.shape[1]))
    return Greedy(outcomes, np.zeros(len(outcomes), np.int64), np.ones(outcomes.shape[1]), legality(3))


@pytest.mark.parametrize("exact", [True, False])
def test_filters_that_agree_do_not_follow_each_other(exact: bool) -> None:
    """0 and 1 pass the same 30 rows of 100, 2 passes half of all: after 0, 1 drops nothing any more."""
    rows = np.arange(100)
    outcomes = np.stack((rows < 30, rows < 30, rows % 2 == 0), axis=1).astype(np.float64)
    route = priced(outcomes, exact=exact).routes(np.ones((1, 1)))[0]
    assert route[1] == 2


def test_what_a_row_costs_is_what_a_walk_costs() -> None:
    outcomes = np.array([[1.0, 0.0, 2.0], [3.0, 1.0, 0.0]])
    costs = np.array([1.0, 2.0, 4.0])
    routes = np.array([(0, 1, 2), (2, 0, 1)])
    expected = [[walk(row[None], costs.tolist(), route) for row in outcomes] for route in routes.tolist()]
    assert price_orders(outcomes, costs, routes).tolist() == expected
    assert price_own(outcomes, costs, routes).tolist() == np.diag(expected).tolist()
    assert price_own(outcomes, costs, routes[1]).tolist() == expected[1]


def test_legal_sets_are_those_that_legal_routes_come_to() -> None:
    legal = legality(3, {1: [{0}], 2: [{0, 1}]})
    done, ready = legal.tables()
    assert dict(zip(done.tolist(), ready.tolist(), strict=True)) == {
        0: [1, 0, 0],
        1: [0, 1, 0],
        bits([0, 1]): [0, 0, 1],
        bits([0, 1, 2]): [0, 0, 0],
    }


def test_an_illegal_route_is_refused() -> None:
    with pytest.raises(EngineError, match='operator "1" may not act'):
        legality(2, {1: [{0}]}).hops((1, 0))


def test_operators_in_any_order_need_not_be_asked_for() -> None:
    asked = legality(4)
    free = Legality(asked.operators, lambda route: (), free=[Hop(name) for name in asked.operators])
    for one, other in zip(asked.tables(), free.tables(), strict=True):
        assert sorted(map(tuple, one.reshape(16, -1))) == sorted(map(tuple, other.reshape(16, -1)))
    assert free.hops((2, 0, 3, 1)) == asked.hops((2, 0, 3, 1))
    assert free.find_ready((2, 0)) == (1, 3)
