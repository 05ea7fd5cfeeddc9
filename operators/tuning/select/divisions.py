"""How the bits of one index are divided among the keys (section 6 of the AMRI paper).

All divisions are priced, or where there are too many, those that differ from the best one by few bits. Before that
EPrune takes away the keys that cost more than they can save.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eddy.operators.tuning.contracts import REST
from eddy.operators.tuning.cost import MapPrices
from eddy.operators.tuning.workload import Workload
from eddy.tuples.arrays import Floats, Integers

MOST_DIVISIONS = 2_048
"""Divisions that are all priced: 12 bits among four keys, in some milliseconds."""


def divide(workload: Workload, bits: int, prices: MapPrices, *, exact: bool = True) -> Mapping[int, int]:
    """Give the bits of each key, for the least cost; fewer than `bits` in all, where more cost more.

    >>> from eddy.operators.tuning.cost import COSTS
    >>> from eddy.operators.tuning.workload import Spread
    >>> asked = Workload(arrived=1, searches={0b01: 10, 0b10: 50, 0b11: 90}, stored=4_096, keys=Spread(chances={}))
    >>> divide(asked, 4, COSTS["paper"])
    {1: 3, 0: 1}
    """
    keys = prune(workload, bits, prices)
    if not keys:
        return {}
    board = _Board(workload, keys, prices)
    few = exact and math.comb(bits + len(keys), bits) <= MOST_DIVISIONS
    best = board.exhaust(bits) if few else board.climb(bits)
    # Keys that are asked for most stand first, so that wildcards come last, where they are one range.
    order = sorted(range(len(keys)), key=lambda at: (-board.asked[at], keys[at]))
    return {keys[at]: int(best[at]) for at in order}


def prune(workload: Workload, bits: int, prices: MapPrices) -> list[int]:
    """Keep the keys that can save what their hashes cost: EPrune, by the patterns that have the key.

    Equation 2 as it is printed adds up over all patterns, and counts the hashes of rows once for each of them: it takes
    away keys that the best index has. The text before it is right, and this is what it says.
    """
    asked: dict[int, float] = {}
    for pattern, times in workload.searches.items():
        for key in range(pattern.bit_length()):
            if pattern >> key & 1:
                asked[key] = asked.get(key, 0.0) + times
    scanned = workload.stored * (1 - 2.0**-bits) * prices.candidate
    return sorted(k for k, times in asked.items() if times * scanned >= (times + workload.arrived) * prices.hash)


class _Board:
    """Prices many divisions at once."""

    def __init__(self, workload: Workload, keys: Sequence[int], prices: MapPrices) -> None:
        patterns = np.array([pattern for pattern in workload.searches if pattern != REST], np.int64)
        self._times = np.array([times for p, times in workload.searches.items() if p != REST], np.float64)
        self._workload = workload
        self._prices = prices
        # has[p, k]: the pattern has the key
        self._has = (patterns[:, None] >> np.array(keys) & 1).astype(np.float64)
        self._alike = np.array([workload.keys.alike(1 << key) if prices.by_values else 0.0 for key in keys])
        self._distinct = np.log2([max(workload.keys.distinct(1 << key), 1.0) for key in keys])
        self.asked: Floats = self._times @ self._has

    def price(self, divisions: Integers) -> Floats:
        """Price some divisions, one a row."""
        # Shares and runs are products over the keys that a pattern has, or lacks: sums of logarithms, as one product of
        # matrices for all patterns and divisions.
        used = divisions > 0
        halves = np.log2(self._alike + (1 - self._alike) * 2.0**-divisions)
        share = 2.0 ** (halves @ self._has.T)
        ranges = 2.0 ** (np.minimum(divisions, self._distinct) @ (1 - self._has).T)
        each = share * self._workload.stored * self._prices.candidate
        each += self._workload.parts * (self._prices.lookup + (ranges - 1) * self._prices.range)
        each += used.astype(np.float64) @ self._has.T * self._prices.hash
        # A search that has none of the keys looks through all rows, and into no runs.
        served = (used @ self._has.T) > 0
        each = np.where(served, each, self._workload.stored * self._prices.candidate)
        upkeep: Floats = used.sum(axis=1) * self._workload.arrived * self._prices.hash
        return each @ self._times + upkeep

    def exhaust(self, bits: int) -> Integers:
        """Price all divisions of up to so many bits."""
        divisions = np.array(list(_list_divisions(len(self._alike), bits)), np.int64)
        best: Integers = divisions[int(self.price(divisions).argmin())]
        return best

    def climb(self, bits: int) -> Integers:
        """Give a bit to a key, take one away, or move one, as long as that is cheaper."""
        keys = len(self._alike)
        best, least = np.zeros(keys, np.int64), math.inf
        ones = np.eye(keys, dtype=np.int64)
        moves = np.concatenate([ones, -ones, (ones[:, None] - ones[None, :]).reshape(-1, keys)])
        moves = np.concatenate([moves, ones * 2, ones * 4])
        while True:
            tried = best + moves
            tried = tried[(tried >= 0).all(axis=1) & (tried.sum(axis=1) <= bits)]
            prices = self.price(tried)
            at = int(prices.argmin())
            if prices[at] >= least:
                return best
            best, least = tried[at], float(prices[at])


def _list_divisions(keys: int, bits: int) -> Iterator[tuple[int, ...]]:
    if not keys:
        yield ()
        return
    for own in range(bits + 1):
        yield from ((own, *others) for others in _list_divisions(keys - 1, bits - own))
