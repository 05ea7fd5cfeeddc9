"""Samples of rows with known classes, and what is legal among their operators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from eddy.policies.shared.legality import Legality
from eddy.policies.shared.sample import Sample
from eddy.tuples import Hop

Floats = np.ndarray[Any, np.dtype[np.float64]]
Needs = dict[int, list[set[int]]]
"""For an operator the sets of which one must be done before it."""


def legality(operators: int, needs: Needs | None = None) -> Legality:
    """Operators "0", "1", ...; without needs, in any order."""
    wanted = needs or {}

    def after(route: Sequence[Hop]) -> tuple[Hop, ...]:
        done = {int(hop.operator) for hop in route}
        free = [n for n in range(operators) if n not in done and may(n, done, wanted)]
        return tuple(Hop(str(n)) for n in free)

    return Legality([str(n) for n in range(operators)], after)


def may(operator: int, done: set[int], needs: Needs) -> bool:
    return operator not in needs or any(need <= done for need in needs[operator])


def legal_routes(operators: int, needs: Needs) -> Iterable[tuple[int, ...]]:
    for order in permutations(range(operators)):
        if all(may(n, set(order[:place]), needs) for place, n in enumerate(order)):
            yield order


def walk(outcomes: Floats, costs: Sequence[float], route: Sequence[int]) -> float:
    """What rows cost on a route, row by row and step by step: the naive answer."""
    total = 0.0
    for row in outcomes.tolist():
        left = 1.0
        for operator in route:
            total += left * costs[operator]
            left *= row[operator]
    return total


def cheapest(outcomes: Floats, costs: Sequence[float], needs: Needs) -> float:
    found = [walk(outcomes, costs, route) for route in legal_routes(outcomes.shape[1], needs)]
    return min(found, default=math.inf)


def sample(rates: Floats, attributes: np.ndarray[Any, np.dtype[Any]], seed: int) -> Sample:
    """Filters that pass each row with its own probability."""
    chance = np.random.default_rng(seed)
    passed = chance.random(rates.shape) < rates
    return Sample(buckets=attributes.astype(np.uint8), outcomes=passed.astype(np.float64))


def noise(rows: int, attributes: int, seed: int, buckets: int = 24) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, buckets, (rows, attributes)).astype(np.uint8)


def skewed(kind: np.ndarray[Any, np.dtype[Any]], operators: int, low: float = 0.1, high: float = 0.9) -> Floats:
    """Each kind of row has one operator that drops most of it."""
    return np.where(kind[:, None] % operators == np.arange(operators), low, high)
