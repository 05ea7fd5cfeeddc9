"""The shares of the dimensions are the best there are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.spark.layout.planning import best_shares

STREAMS = "abcd"
DIMENSIONS = st.lists(st.sets(st.sampled_from(STREAMS), min_size=1), max_size=4)
WEIGHTS = st.fixed_dictionaries(dict.fromkeys(STREAMS, st.sampled_from([0.0, 1.0, 3.0, 10.0, 999.5])))


def rows_of_a_cell(dimensions: Sequence[Set[str]], weights: Mapping[str, float], shares: Sequence[int]) -> float:
    parts = {name: math.prod(s for d, s in zip(dimensions, shares, strict=True) if name in d) for name in weights}
    return sum(weight / parts[name] for name, weight in weights.items())


@given(dimensions=DIMENSIONS, weights=WEIGHTS, cells=st.integers(1, 12))
def test_no_other_shares_send_fewer_rows_to_a_cell(
    dimensions: list[set[str]], weights: dict[str, float], cells: int
) -> None:
    vectors = product(range(1, cells + 1), repeat=len(dimensions))
    costs = [
        (rows_of_a_cell(dimensions, weights, shares), math.prod(shares))
        for shares in vectors
        if math.prod(shares) <= cells
    ]
    found = best_shares(dimensions, weights, cells)
    best = min(rows for rows, _ in costs)
    assert math.prod(found) <= cells
    assert rows_of_a_cell(dimensions, weights, found) == pytest.approx(best)
    if best:
        fewest = min(number for rows, number in costs if rows == pytest.approx(best, rel=1e-12))
        assert math.prod(found) == fewest


def test_many_attributes_are_no_obstacle() -> None:
    pairs = [{one, other} for one in "abcdef" for other in "abcdef" if one < other]
    found = best_shares(pairs, dict.fromkeys("abcdef", 1.0), 64)
    assert math.prod(found) == 64
    assert rows_of_a_cell(pairs, dict.fromkeys("abcdef", 1.0), found) == pytest.approx(6 / 4)
