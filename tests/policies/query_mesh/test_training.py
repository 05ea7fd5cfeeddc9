"""Training tuples: regions that differ, and nothing that chance made up."""

from __future__ import annotations

import numpy as np
import pytest

from eddy.errors import EngineError
from eddy.policies.query_mesh.learn.best_attributes import (
    best_pair,
    best_single,
    count_events,
    deviations,
    limit,
    signals,
)
from eddy.policies.query_mesh.learn.steps import Work, finish
from eddy.policies.query_mesh.search.training import SMALLEST_TUPLE, condense
from eddy.policies.shared.sample import Sample
from tests.policies.query_mesh.worlds import Floats, noise, sample, skewed

ROWS = 1_000


def both(buckets: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """A class that no single attribute tells anything about."""
    return ((buckets[:, 0] >= 12) ^ (buckets[:, 1] >= 12)).astype(np.int64)


@pytest.mark.parametrize("attribute", [0, 7])
def test_only_the_attribute_that_tells_something_is_kept(attribute: int) -> None:
    buckets = noise(ROWS, 10, seed=1)
    found = finish(condense(sample(skewed(buckets[:, attribute] // 8, 4), buckets, 2), 100, Work()))
    assert found.informative == (attribute,)
    assert 3 <= len(found) <= 6


def test_densities_count_the_rows_and_every_training_tuple_has_enough() -> None:
    buckets = noise(ROWS, 3, seed=2)
    found = finish(condense(sample(skewed(buckets[:, 0] % 3, 4), buckets, 3), 100, Work()))
    assert found.density.sum() == ROWS
    assert found.density.min() >= SMALLEST_TUPLE
    assert found.density.tolist() == np.bincount(found.cell).tolist()


def test_rows_with_equal_informative_buckets_share_a_training_tuple() -> None:
    buckets = noise(ROWS, 4, seed=3)
    found = finish(condense(sample(skewed(both(buckets), 4), buckets, 4), 100, Work()))
    keys = [tuple(row) for row in buckets[:, list(found.informative)].tolist()]
    places: dict[tuple[int, ...], set[int]] = {}
    for key, cell in zip(keys, found.cell.tolist(), strict=True):
        places.setdefault(key, set()).add(cell)
    assert all(len(cells) == 1 for cells in places.values())


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_there_are_no_more_training_tuples_than_asked_for(most: int) -> None:
    buckets = noise(ROWS, 3, seed=4)
    assert len(finish(condense(sample(skewed(buckets[:, 0] % 6, 6), buckets, 5), most, Work()))) == most


def test_an_attribute_with_five_rows_of_each_value_is_kept() -> None:
    values = np.arange(ROWS) % (ROWS // 5)
    buckets = np.column_stack((noise(ROWS, 4, seed=12), values)).astype(np.uint8)
    rows = sample(skewed(values % 3, 4), buckets, 13)
    assert finish(best_single(buckets, signals(rows.outcomes, 10), Work())) == 4


@pytest.mark.parametrize("attributes", [2, 20])
def test_two_attributes_that_tell_something_only_together_are_found(attributes: int) -> None:
    buckets = noise(ROWS, attributes, seed=5)
    rows = sample(skewed(both(buckets), 4), buckets, 6)
    assert finish(best_single(buckets, signals(rows.outcomes, 10), Work())) is None
    assert {0, 1} <= set(finish(condense(rows, 100, Work())).informative)


def test_single_values_may_each_mean_something_else() -> None:
    buckets = noise(ROWS, 10, seed=6)
    rows = sample(skewed((buckets[:, 3] % 2) ^ (buckets[:, 8] % 2), 4), buckets, 7)
    pair = finish(best_pair(buckets, signals(rows.outcomes, 0), Work()))
    assert pair is not None
    assert {pair.one, pair.other} == {3, 8}


def test_classes_that_differ_only_in_what_filters_do_together_are_found() -> None:
    """In one class two filters agree, in the other they exclude each other; each passes half of either."""
    chance = np.random.default_rng(7)
    kind = chance.integers(0, 2, ROWS)
    first, third = chance.random((2, ROWS)) < 0.5
    outcomes = np.stack((first, first ^ (kind == 1), third), axis=1).astype(np.float64)
    buckets = np.column_stack((noise(ROWS, 5, seed=8), kind)).astype(np.uint8)
    assert finish(condense(Sample(buckets=buckets, outcomes=outcomes), 100, Work())).informative == (5,)


def test_probes_that_return_more_in_one_class_are_told_apart() -> None:
    chance = np.random.default_rng(9)
    buckets = noise(ROWS, 6, seed=10)
    outcomes = chance.poisson(np.where(buckets[:, [2]] < 6, [[4.0, 0.5]], [[0.5, 4.0]])).astype(np.float64)
    assert finish(condense(Sample(buckets=buckets, outcomes=outcomes), 100, Work())).informative == (2,)


RATES = [[0.5] * 4, [0.2, 0.5, 0.7, 0.9], [0.01, 0.02, 0.5, 0.99], [0.0, 1.0, 0.5]]


@pytest.mark.parametrize("rates", RATES, ids=str)
def test_uniform_rows_are_one_training_tuple(rates: list[float]) -> None:
    more = 0
    for seed in range(40):
        rows = sample(np.tile(rates, (ROWS, 1)), noise(ROWS, 10, seed=100 + seed), seed)
        more += len(finish(condense(rows, 100, Work()))) > 1
    assert more <= 4


def test_evidence_is_as_rare_as_it_says() -> None:
    """Of 4,000 variance ratios by chance, about one in a thousand is beyond the limit for one look."""
    chance = np.random.default_rng(11)
    groups, each, tries = 8, 25, 4_000
    values = chance.normal(size=(tries, groups, each))
    between = (each * (values.mean(axis=2) - values.mean(axis=(1, 2))[:, None]) ** 2).sum(axis=1)
    within = ((values - values.mean(axis=2, keepdims=True)) ** 2).sum(axis=(1, 2))

    def full(number: float) -> Floats:
        return np.full(tries, number)

    found = deviations(between, within, full(groups - 1), full(groups * (each - 1)), full(200.0))
    assert abs(found.mean()) < 0.1
    assert found.std() == pytest.approx(1, abs=0.1)
    assert (found > limit(1)).sum() <= 12


def test_hardly_anything_that_happens_is_no_evidence() -> None:
    rare = np.zeros((ROWS, 1))
    rare[:3] = 1
    assert count_events(rare - rare.mean())[0] < 4
    assert signals(rare, 1).shape == (ROWS, 0)


@pytest.mark.parametrize(
    ("buckets", "outcomes", "told"),
    [
        (np.zeros((2, 1)), np.ones((3, 1)), "of the same rows"),
        (np.zeros((0, 1)), np.ones((0, 1)), "one row at least"),
        (np.zeros((1, 1)), np.full((1, 1), -1.0), "finite numbers of 0 or more"),
        (np.zeros((1, 1)), np.full((1, 1), np.nan), "finite numbers of 0 or more"),
    ],
)
def test_a_sample_that_is_none_is_refused(buckets: Floats, outcomes: Floats, told: str) -> None:
    with pytest.raises(EngineError, match=told):
        Sample(buckets=buckets.astype(np.uint8), outcomes=outcomes)
