"""Tables of selectivities: those of the paper, random ones, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eddy.errors import QueryError
from eddy.jobs.experiments.workloads.selectivities import best_calls, selectivities


@pytest.mark.parametrize("operators", [2, 6, 8])
@pytest.mark.parametrize("a", [0.05, 0.5, 0.95])
def test_skew_keeps_the_aggregate_selectivity(operators: int, a: float) -> None:
    table = selectivities({"table": "skew", "A": a}, operators, seed=0)
    assert np.allclose(table.values.prod(axis=1), 0.05)
    assert np.allclose(np.diag(table.values), a)
    assert len(np.unique(table.values.round(9))) <= 2
    assert table.facts["skew"] == pytest.approx(a - table.values[0, 1], abs=1e-4)


def test_the_largest_skew_of_eight_operators_can_be_won_by_nearly_all() -> None:
    table = selectivities({"table": "skew", "A": 0.05}, 8, seed=0)
    assert best_calls(table.values) == pytest.approx(1.35)


def test_random_selectivities_follow_the_seed_alone() -> None:
    one, same, other = (selectivities({"table": "random"}, 4, seed=seed).values for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).all()
    assert one.shape == (4, 4)


def test_random_selectivities_with_an_aggregate() -> None:
    table = selectivities({"table": "random", "aggregate": 0.2, "classes": 5}, 6, seed=3)
    assert table.values.shape == (5, 6)
    assert np.allclose(table.values.prod(axis=1), 0.2)


def test_classes_of_a_uniform_table_do_not_differ() -> None:
    table = selectivities({"table": "uniform", "selectivity": [0.1, 0.9], "classes": 3}, 2, seed=0)
    assert table.values.tolist() == [[0.1, 0.9]] * 3


def test_a_rotated_table_has_the_columns_of_the_first() -> None:
    first = selectivities({"table": "random"}, 4, seed=5).values
    moved = selectivities({"table": "random", "rotate": 1}, 4, seed=5).values
    assert (moved[:, 1:] == first[:, :-1]).all()


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"table": "skw"}, 'selectivities: unknown table "skw"; did you mean "skew"?'),
        ({"table": "skew"}, 'selectivities skew: expected the parameter "A", got none'),
        ({"table": "skew", "A": 0.1, "agregate": 0.1}, 'unknown parameter "agregate"; did you mean "aggregate"?'),
        ({"table": "skew", "A": 1.5}, "A: expected a share from 0 to 1, got 1.5"),
        ({"table": "skew", "A": 0.01}, "expected aggregate to be at most A, got 0.05 and 0.01"),
        ({"table": "random", "classes": 0}, "classes: expected a whole number of 1 or more, got 0"),
        ({"table": "uniform", "selectivity": [0.5]}, "expected one selectivity for each operator, got 1"),
        ([[0.1, 0.2, 0.3]], "a row for each class and 2 columns, one for each operator, got the shape (1, 3)"),
        ([[0.1, 1.2]], "expected shares from 0 to 1"),
        ([[0.1], [0.2, 0.3]], "expected a row of numbers for each class"),
        ("random", "expected a row of numbers for each class, got 'random'"),
    ],
)
def test_a_wrong_table_is_one_clear_error(choice: Any, says: str) -> None:
    with pytest.raises(QueryError) as raised:
        selectivities(choice, 2, seed=0)
    assert says in str(raised.value)
