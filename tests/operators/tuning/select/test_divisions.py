"""Bits divided among keys: the paper's example, EPrune, and what is not priced."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.operators.tuning.assess.registry import ASSESSMENTS
from eddy.operators.tuning.cost import COSTS, MapPrices
from eddy.operators.tuning.select import divisions
from eddy.operators.tuning.select.divisions import divide, prune
from eddy.operators.tuning.workload import Spread, Workload
from tests.tries import fewer

TABLE_2 = {0b001: 4, 0b010: 10, 0b100: 10, 0b011: 4, 0b101: 16, 0b110: 10, 0b111: 46}
"""Of the paper: searches of a hundred by keys A1, A2 and A3, the lowest bit being A1."""

CANDIDATES_ONLY = MapPrices(candidate=1.0)
"""The last term of equation 1, by which the paper's example goes."""


def asked(searches: Mapping[int, float]) -> Workload:
    return Workload(arrived=1.0, searches=searches, stored=1.0, keys=Spread(chances={}))


def share(division: Mapping[int, int], searches: Mapping[int, float]) -> float:
    """The rows that searches look at: of each row, in percent."""
    return sum(
        times / 2.0 ** sum(bits for key, bits in division.items() if pattern >> key & 1)
        for pattern, times in searches.items()
    )


@pytest.mark.parametrize(
    ("name", "seed", "bits", "cost"),
    [
        ("sria", 0, (1, 1, 2), 16.625),
        ("dia", 0, (1, 1, 2), 16.625),
        ("csria", 0, (0, 1, 3), 17.75),
        ("cdia_highest", 0, (0, 2, 2), 17.5),
        ("cdia_random", 0, (1, 1, 2), 16.625),  # (A1, A2) is counted to A1, as in figure 7
        ("cdia_random", 2, (0, 2, 2), 17.5),  # and here to A2
    ],
)
def test_table_2(name: str, seed: int, bits: tuple[int, ...], cost: float) -> None:
    """Four bits, theta 5 %, epsilon 0.1 %. The paper has CDIA find the best: by chance it does, and the parent of the
    highest count, which it finds best elsewhere, does not."""
    made = ASSESSMENTS[name](epsilon=0.001, theta=0.05, seed=seed)
    for pattern, times in TABLE_2.items():
        made.add(pattern, times * 1_000)
    found = divide(asked({pattern: float(count) for pattern, count in made.counts().items()}), 4, CANDIDATES_ONLY)
    assert tuple(found.get(key, 0) for key in range(3)) == bits
    assert share(found, TABLE_2) == pytest.approx(cost)


@st.composite
def mixes(draw: st.DrawFn) -> Workload:
    patterns = draw(st.lists(st.integers(1, 7), min_size=1, unique=True))
    return Workload(
        arrived=draw(st.floats(0, 1_000)),
        searches={pattern: draw(st.floats(0.1, 100)) for pattern in patterns},
        stored=draw(st.floats(0, 100)),
        keys=Spread(chances={key: draw(st.floats(0.01, 1)) for key in range(3)}),
    )


@fewer(2)
@given(mixes(), st.integers(1, 5), st.sampled_from(sorted(COSTS)))
def test_eprune_takes_away_nothing_that_the_best_index_has(mix: Workload, bits: int, cost: str) -> None:
    prices = COSTS[cost]
    board, pruned = divisions._Board(mix, [0, 1, 2], prices), divide(mix, bits, prices)
    best, found = board.price(np.array([board.exhaust(bits), [pruned.get(key, 0) for key in range(3)]]))
    assert found == pytest.approx(best, rel=1e-9)


def printed_benefit(mix: Workload, key: int, bits: int) -> float:
    """Equation 2 as the paper prints it: both sums over all patterns."""
    total = sum(mix.searches.values())
    saved = sum(mix.searches.values()) * mix.stored * (1 - 2.0**-bits)
    return saved - sum(times / total * total + mix.arrived for times in mix.searches.values())


def test_equation_2_as_it_is_printed_takes_away_what_is_best() -> None:
    """Seven patterns, forty rows for one search: it counts the hashes of the rows seven times."""
    mix = Workload(arrived=40.0, searches=dict.fromkeys(range(1, 8), 0.2), stored=100.0, keys=Spread(chances={}))
    assert [printed_benefit(mix, key, 4) < 0 for key in range(3)] == [True] * 3
    assert prune(mix, 4, MapPrices(hash=1.0)) == [0, 1, 2]
    best = divide(mix, 4, MapPrices(hash=1.0))
    assert any(best.values())
    assert (
        divisions._Board(mix, [0, 1, 2], MapPrices(hash=1.0))
        .price(np.array([[best.get(key, 0) for key in range(3)], [0, 0, 0]]))
        .argmin()
        == 0
    )


def test_steps_come_near_the_best_division() -> None:
    rng = np.random.default_rng(4)
    for _, (cost, keys) in itertools.product(range(15), itertools.product(sorted(COSTS), (3, 4))):
        mix = Workload(
            arrived=1_000.0,
            searches={int(p): float(rng.random() ** 3 * 1_000) for p in rng.integers(1, 1 << keys, 6)},
            stored=20_000.0,
            keys=Spread(chances={key: float(10 ** -rng.uniform(0, 5)) for key in range(keys)}),
        )
        board = divisions._Board(mix, list(range(keys)), COSTS[cost])
        best, found = board.price(np.array([board.exhaust(10), board.climb(10)]))
        assert found <= 1.05 * best
