"""The ways on from all sets are the best of all legal routes, each tried by itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from eddy.policies.query_mesh.search.ways_on import WaysOn
from eddy.policies.shared.legality import Legality
from eddy.tuples import Hop

NAMES = tuple("abcdef")


def after(route: Sequence[Hop]) -> tuple[Hop, ...]:
    """Let `c` wait for `a`, and `e` for `b` and `c`; `d` searches by other keys once `b` is done."""
    done = {hop.operator for hop in route}
    needs = {"c": {"a"}, "e": {"b", "c"}}
    ready = [name for name in NAMES if name not in done and needs.get(name, set()) <= done]
    return tuple(Hop(name, "by b" if name == "d" and "b" in done else "") for name in ready)


@pytest.mark.parametrize("seed", range(8))
def test_a_route_goes_on_as_the_cheapest_of_all_does(seed: int) -> None:
    chance = np.random.default_rng(seed)
    legality = Legality(NAMES, after)
    ways = WaysOn(legality)
    rates = dict(zip(ways.hops, (chance.random(len(ways.hops)) * 2).tolist(), strict=True))
    prices = dict(zip(ways.hops, chance.random(len(ways.hops)).tolist(), strict=True))

    def cost(route: tuple[int, ...]) -> float:
        spent, left = 0.0, 1.0
        for hop in legality.hops(route):
            spent, left = spent + left * prices[hop], left * rates[hop]
        return spent

    legal = [
        r
        for r in itertools.permutations(range(6))
        if r.index(0) < r.index(2) and max(r.index(1), r.index(2)) < r.index(4)
    ]
    onward = ways.price([*rates.values()], [*prices.values()])
    for begun in ((), (0,), (1, 3), (0, 2, 1)):
        best = min((r for r in legal if r[: len(begun)] == begun), key=cost)
        assert cost(onward.route(begun)) == pytest.approx(cost(best))
    firsts = [min(cost(r) for r in legal if r[0] == first) for first in (0, 1, 3, 5)]
    assert onward.firsts.tolist() == pytest.approx(firsts)
