"""Rates by bucket: each operator goes by the attribute that tells most of it, and every step is evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eddy.classes.single_values import MOST_NUMBERS
from eddy.policies.query_mesh.grid_mesh import make_grid
from eddy.policies.query_mesh.learn.class_rates import NO_ATTRIBUTE, ClassRates, find_tellers
from eddy.policies.query_mesh.learn.grid import Grid, count_groups, group_buckets
from eddy.policies.query_mesh.learn.steps import Work, finish
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.sample import Sample
from tests.policies.query_mesh.worlds import Floats, legality

VALUES = 24


def find(rates: ClassRates, buckets: Any, told: Any, passed: Any, *, anew: bool) -> None:
    """Let operators go by the attributes that tell most of them."""
    tellers = finish(find_tellers(buckets, passed, () if anew else rates.attributes, Work()))
    rates.take_up(tellers, told, passed, anew=anew)


def own(rows: int, operators: int, seed: int) -> tuple[np.ndarray, Floats, Floats]:
    """Operators with an attribute each: buckets, chances by bucket, and outcomes; the last attribute tells nothing."""
    chance = np.random.default_rng(seed)
    buckets = chance.integers(0, VALUES, (rows, operators + 1)).astype(np.uint8)
    table = np.random.default_rng(0).random((operators, VALUES))
    passed = chance.random((rows, operators)) < np.stack([table[i][buckets[:, i]] for i in range(operators)], axis=1)
    return buckets, table, passed.astype(np.float64)


def learned(rows: int, operators: int = 3) -> tuple[ClassRates, Floats]:
    rates = ClassRates(operators, VALUES + 1)
    buckets, table, passed = own(400, operators, 1)
    find(rates, buckets, buckets, passed, anew=True)
    more, _, outcomes = own(rows, operators, 2)
    rates.keep(more, outcomes)
    return rates, table


def test_each_operator_goes_by_its_own_attribute() -> None:
    assert learned(0)[0].tellers.tolist() == [0, 1, 2]
    buckets, _, passed = own(400, 3, 1)
    rates = ClassRates(3, VALUES + 1)
    find(rates, buckets[:, 3:], buckets[:, 3:], passed, anew=True)
    assert rates.tellers.tolist() == [NO_ATTRIBUTE] * 3
    assert rates.attributes == ()


def test_what_is_counted_comes_near_the_truth_and_few_rows_lean_on_the_rest() -> None:
    off = [np.abs(rates.rates(np.full(3, 0.5))[:, :VALUES] - table).mean() for rates, table in map(learned, (0, 4_000))]
    assert off[0] < 0.12
    assert off[1] < 0.04
    # A bucket that nobody has seen is like all rows.
    rates, table = learned(4_000)
    assert rates.rates(np.full(3, 0.5))[:, VALUES] == pytest.approx(table.mean(axis=1), abs=0.03)


def test_rows_that_test_are_left_out() -> None:
    rates, _ = learned(0)
    buckets, _, passed = own(400, 3, 1)
    assert rates.without(buckets, passed).rows == 0
    assert rates.rows == 1_200


def test_a_table_goes_on_from_its_snapshot_and_another_sample_begins_it_anew() -> None:
    rates, _ = learned(500)
    again = ClassRates(3, VALUES + 1)
    again.restore({name: array.copy() for name, array in rates.snapshot().items()})
    for one in (rates, again):
        one.keep(*own(300, 3, 5)[::2])
    assert (rates.snapshot()["rates"] == again.snapshot()["rates"]).all()
    buckets, _, passed = own(400, 3, 1)
    find(rates, buckets, buckets, passed, anew=False)
    assert rates.rows == again.rows
    find(rates, buckets, buckets, passed, anew=True)
    assert rates.rows == 1_200


def test_steps_are_counted_while_buckets_have_few_rows() -> None:
    assert learned(0)[0].is_thin
    assert not learned(20_000)[0].is_thin
    assert not ClassRates(3, VALUES + 1).is_thin


def made(rates: ClassRates, leg: float = 2.0) -> Mesh | None:
    buckets, _, passed = own(400, 3, 1)
    overheads = Overheads(level=0.0, bucket=0.0, leg=leg, rows=1_000)
    rows = Sample(buckets=buckets, outcomes=passed)
    return finish(make_grid(rows, rates, np.ones(3), legality(3), overheads, {}, Work()))


def test_a_grid_gains_nearly_what_the_true_rates_would() -> None:
    rates, table = learned(6_000)
    mesh = made(rates)
    assert mesh is not None
    assert mesh.is_grid
    buckets, _, _ = own(5_000, 3, 9)
    chances = np.stack([table[i][buckets[:, i]] for i in range(3)], axis=1)
    truth = Sample(buckets=buckets, outcomes=chances)
    best = np.sort(chances, axis=1)
    ideal = float((1 + best[:, 0] + best[:, 0] * best[:, 1]).mean())
    order = np.argsort(chances.mean(axis=0))
    single = float((1 + chances[:, order[0]] + chances[:, order[:2]].prod(axis=1)).mean())
    spent = float(mesh.price_rows(truth, np.ones(3)).mean())
    assert spent < single - 0.9 * (single - ideal)
    assert made(rates, leg=1e6) is None
    assert made(ClassRates(3, VALUES + 1)) is None


def test_a_grid_is_what_its_snapshot_says() -> None:
    mesh = made(learned(2_000)[0])
    assert mesh is not None
    again = Mesh.restore(mesh.snapshot())
    assert again.snapshot() == mesh.snapshot()
    buckets = own(500, 3, 4)[0][:, list(mesh.tree.used)]
    assert (again.tree.routes(buckets) == mesh.tree.routes(buckets)).all()
    assert isinstance(again.tree, Grid)
    told = {way for line in again.tree.branches() if (way := line.way) is not None}
    assert told == set(mesh.tree.routes(buckets).tolist())


@pytest.mark.parametrize(("other", "is_all"), [(0.0, True), (0.8, False)])
def test_nothing_is_searched_for_where_one_attribute_tells_all(other: float, is_all: bool) -> None:
    """The second attribute tells nothing, or which rows of a class the first operator drops besides."""
    chance = np.random.default_rng(6)
    buckets = chance.integers(0, 8, (300, 2)).astype(np.uint8)
    rates = np.where(buckets[:, :1] % 3 == np.arange(3), 0.1, 0.9)
    rates[:, 0] *= 1 - other * (buckets[:, 1] >= 4)
    rows = Sample(buckets=buckets, outcomes=(chance.random((300, 3)) < rates).astype(np.float64))
    known = ClassRates(3, 9)
    find(known, rows.buckets, rows.buckets, rows.outcomes, anew=True)
    assert finish(known.tells_all(rows, Work())) == is_all


def test_like_buckets_are_grouped() -> None:
    values = np.array([[0.1], [0.9], [0.11], [0.88], [0.5]])
    group, middles = group_buckets(values, np.array([5.0, 9.0, 5.0, 1.0, 0.0]), 2)
    assert group[0] == group[2] != group[1] == group[3]
    assert sorted(middles.ravel().round(3).tolist()) == [0.105, 0.898]
    assert count_groups(1) >= MOST_NUMBERS
    assert all(count_groups(n) >= 2 for n in range(1, 40))
