"""Statistics add up, fade, and survive a restart."""

from __future__ import annotations

import json

import pytest

from eddy.observe.statistics import HALF_LIFE, NOTHING, Statistic, Statistics
from eddy.tuples import Hop

HOP = Hop("f")


def test_two_halves_are_the_whole() -> None:
    first, second = Statistic(10, 8, 4, 1.0), Statistic(30, 30, 6, 2.0)
    assert first + second == second + first == Statistic(40, 38, 10, 3.0)
    assert (first + second).rate == 0.25
    assert first + NOTHING == first


def test_nothing_is_neither_good_nor_bad() -> None:
    assert (NOTHING.rate, NOTHING.cost) == (1.0, 0.0)


def test_old_rows_fade_with_new_ones() -> None:
    statistics = Statistics()
    statistics.add(HOP, Statistic(1000, 1000, 1000, 0.0))
    statistics.add(HOP, Statistic(HALF_LIFE, HALF_LIFE, 0, 0.0))
    assert statistics[HOP] == Statistic(500 + HALF_LIFE, 500 + HALF_LIFE, 500, 0.0)


def test_fading_does_not_depend_on_how_rows_are_batched() -> None:
    whole, parts = Statistics(), Statistics()
    for statistics, size in ((whole, 100), (parts, 1)):
        statistics.add(HOP, Statistic(1000, 1000, 1000, 0.0))
        for _ in range(0, 100, size):
            statistics.add(HOP, Statistic(size, size, 0, 0.0))
    assert parts[HOP].rows_out == pytest.approx(whole[HOP].rows_out)


def test_a_snapshot_is_plain_and_can_be_restored() -> None:
    first, second = Statistics(), Statistics()
    first.add(Hop("probe_b", "k"), Statistic(10, 10, 25, 0.1))
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert second[Hop("probe_b", "k")] == Statistic(10, 10, 25, 0.1)
    assert second[Hop("probe_b", "k,x")] == NOTHING
