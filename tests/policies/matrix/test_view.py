"""The matrix view: figures 4.3 to 4.5 and 4.8."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.policies.matrix.view import fill, matrix_view
from eddy.policies.shared.orders import price_own
from tests.policies.matrix.thesis import ARRIVE, pass_rows, update_view


@pytest.mark.parametrize(("order", "probes"), [((0, 1, 2, 3), 20), ((2, 1, 3, 0), 18), ((2, 0, 1, 3), 16)])
def test_example_4_2_1_counts_probes(order: tuple[int, ...], probes: int) -> None:
    assert price_own(pass_rows(ARRIVE), np.ones(4), np.array(order)).sum() == probes


def test_figure_4_3_is_what_each_filter_drops() -> None:
    dropped = 1 - pass_rows([2, 4, 7, 2, 5, 4])
    rows = [[0, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1]]
    assert dropped.tolist() == rows


def test_figure_4_4_is_the_view_for_the_order_3_1_2_4() -> None:
    found = matrix_view(pass_rows([2, 4, 7, 2, 5, 4]), (2, 0, 1, 3))
    assert found.tolist() == [[4, 2, 3, 3], [0, 2, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_figure_4_8_is_the_view_after_3_and_6() -> None:
    outcomes = pass_rows([7, 2, 5, 4, 3, 6])
    assert matrix_view(outcomes, (2, 0, 1, 3))[0].tolist() == [3, 3, 3, 4]
    assert np.diag(matrix_view(outcomes, (3, 2, 0, 1))).tolist() == [4, 1, 1, 0]


@given(
    st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), max_size=30),
    st.permutations(range(5)),
    st.integers(1, 10),
)
def test_the_product_is_what_is_kept_up_row_by_row(rows: list[list[int]], order: list[int], room: int) -> None:
    view = np.zeros((5, 5))
    for place, row in enumerate(rows):
        update_view(view, [1 - passed for passed in row], order)
        if place >= room:
            update_view(view, [1 - passed for passed in rows[place - room]], order, sign=-1)
    newest = np.array(rows[-room:], np.float64).reshape(-1, 5)
    assert matrix_view(newest, order).tolist() == view.tolist()


def test_what_a_probe_finds_counts_for_what_comes_after_it() -> None:
    outcomes = np.array([[3.0, 0.0], [0.0, 1.0]])
    assert matrix_view(outcomes, (0, 1)).tolist() == [[-1, 1], [0, 3]]


def test_what_is_unseen_after_a_drop_changes_nothing() -> None:
    outcomes = pass_rows([2, 4, 7, 2, 5, 4])
    unseen = outcomes.copy()
    order = (2, 0, 1, 3)
    for row in unseen:
        passed = [bool(row[operator]) for operator in order]
        row[list(order[passed.index(False) + 1 :])] = np.nan
    full, partial = matrix_view(outcomes, order), matrix_view(fill(unseen), order)
    assert np.diag(partial).tolist() == np.diag(full).tolist()
