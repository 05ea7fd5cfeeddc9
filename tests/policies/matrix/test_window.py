"""The window has the newest rows, tells what was not seen, and is small in a snapshot."""

from __future__ import annotations

import numpy as np
import pytest

from eddy.contracts import UNSEEN
from eddy.policies.matrix.window import MOST_FINDS, Window


def fill(rows: int, operators: int, room: int, most: int, seed: int = 0) -> Window:
    window = Window(operators, room)
    for part in np.array_split(np.random.default_rng(seed).integers(-1, most + 1, (rows, operators)), 7):
        window.add(part)
    return window


def test_only_the_newest_rows_are_kept() -> None:
    window = Window(operators=1, room=3)
    window.add(np.arange(5)[:, None])
    window.add(np.array([[UNSEEN]]))
    assert window.outcomes()[:, 0].tolist()[:2] == [3.0, 4.0]
    assert np.isnan(window.outcomes()[2, 0])
    window.cut(1)
    assert (len(window), window.total) == (1, 6)


def test_a_probe_that_finds_very_much_is_cut_short() -> None:
    window = Window(operators=1, room=3)
    window.add(np.array([[10**9]]))
    assert window.outcomes().tolist() == [[MOST_FINDS]]


@pytest.mark.parametrize("most", [0, 1, 3])
@pytest.mark.parametrize("rows", [0, 5, 300])
@pytest.mark.parametrize("operators", [1, 7, 70])
def test_a_snapshot_gives_the_same_rows(rows: int, operators: int, most: int) -> None:
    window, other = fill(rows, operators, 100, most), Window(operators, 100)
    other.restore(window.snapshot())
    np.testing.assert_array_equal(other.outcomes(), window.outcomes())
    for one in (window, other):
        one.add(np.ones((3, operators), np.int64))
    np.testing.assert_array_equal(other.outcomes(), window.outcomes())
    assert other.total == window.total


def test_a_thousand_rows_of_filters_take_two_bits_each() -> None:
    window = fill(2_000, 8, 1_000, most=1)
    assert sum(array.nbytes for array in window.snapshot().values()) < 1_000 * 8 * 2 / 8 + 100


@pytest.mark.parametrize("rows", [40, 64, 200])
def test_newest_rows_that_are_unlike_the_others_are_found(rows: int) -> None:
    chance = np.random.default_rng(0)
    window = Window(operators=3, room=1_000)
    window.add((chance.random((400, 3)) < [0.9, 0.5, 0.5]).astype(np.int64))
    assert window.find_break() == 0
    window.add((chance.random((rows, 3)) < [0.2, 0.5, 0.5]).astype(np.int64))
    assert 32 <= window.find_break() <= rows


def test_an_operator_that_some_rows_were_not_shown_tells_no_break() -> None:
    window = Window(operators=2, room=1_000)
    window.add(np.tile([1, 1], (200, 1)))
    window.add(np.tile([1, UNSEEN], (10, 1)))
    window.add(np.tile([1, 0], (90, 1)))
    assert window.find_break() == 0
