"""Filters in groups: each passes its share, those of a group agree, others are independent."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from eddy.jobs.experiments.workloads.ordering.groups import draw_groups
from eddy.tuples.arrays import Mask

ROWS = 40_000
SIGMAS = 5
"""Of the standard error of a share of so many rows: none of the hundreds that are looked at is as far off by chance."""


def draw(shares: list[float], size: int, same: float = 0.8, seed: int = 0) -> Mask:
    return draw_groups(np.random.default_rng(seed), np.tile(shares, (ROWS, 1)), size, same)


def near(found: float, promised: float) -> bool:
    return bool(abs(found - promised) <= SIGMAS * np.sqrt(max(promised * (1 - promised), 1e-6) / ROWS))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize(("filters", "size"), [(2, 2), (4, 2), (8, 8), (7, 3)])
def test_filters_of_a_group_agree_and_others_are_independent(share: float, filters: int, size: int) -> None:
    passed = draw([share] * filters, size)
    assert all(near(own, share) for own in passed.mean(axis=0))
    for one, other in combinations(range(filters), 2):
        agreed = float((passed[:, one] == passed[:, other]).mean())
        alone = share**2 + (1 - share) ** 2
        assert near(agreed, 0.8 if one // size == other // size else alone), (one, other)


@pytest.mark.parametrize("same", [0.5, 0.8, 0.95, 1.0])
def test_the_share_on_which_they_agree_may_be_chosen(same: float) -> None:
    passed = draw([0.5, 0.5], 2, same)
    assert near(float((passed[:, 0] == passed[:, 1]).mean()), same)


def test_unlike_filters_agree_on_average_and_keep_their_shares() -> None:
    shares = [0.4, 0.5, 0.6]
    passed = draw(shares, 3)
    agreed = [float((passed[:, a] == passed[:, b]).mean()) for a, b in combinations(range(3), 2)]
    assert near(float(np.mean(agreed)), 0.8)
    assert all(near(found, share) for found, share in zip(passed.mean(axis=0), shares, strict=True))


@pytest.mark.parametrize(("shares", "agreed"), [([0.1, 0.9], 0.2), ([0.05, 0.05], 0.9)])
def test_filters_that_cannot_agree_as_often_come_as_near_as_they_can(shares: list[float], agreed: float) -> None:
    passed = draw(shares, 2)
    assert near(float((passed[:, 0] == passed[:, 1]).mean()), agreed)
    assert all(near(found, share) for found, share in zip(passed.mean(axis=0), shares, strict=True))


def test_filters_that_pass_nothing_or_everything_stay_so() -> None:
    passed = draw([0.0, 1.0, 0.0, 0.0, 1.0, 1.0], 2)
    assert passed.mean(axis=0).tolist() == [0, 1, 0, 0, 1, 1]
