"""A set of maps of any kind, for the least cost that fits: the default way to tune.

The candidates are the index of each frequent pattern, that of what two of them have in common, one index for patterns
that are each in the next, and the best bit-address index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice

import numpy as np

from eddy.operators.index.structures.key_map import KeyMap, hash_map
from eddy.operators.tuning.cost import COSTS, MapTable, Priced, price, tabulate, total
from eddy.operators.tuning.select.divisions import divide
from eddy.operators.tuning.select.maps import bit_address_map, chain_map, fit, full_bits, rank_patterns
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.workload import Workload
from eddy.tuples.arrays import Floats, Integers

MOST_EXACT = 10
"""Candidates of which every set is priced: 1,024 sets."""

MOST_PATTERNS = 512
"""Patterns that are priced, the most frequent ones."""

MOST_SHARED = 10
"""Patterns of which each two are held against each other, for what they have in common and for chains."""

MOST_NARROW = 32
"""Keys and pairs of keys that get a map, those of the most searches: of many wide patterns each has one that few rows
agree in, and one map serves them all."""

MOST_CHAINS = 48
"""Chains that are priced, those of the most frequent patterns."""

MOST_CANDIDATES = 64
"""Maps of which sets are made: the best for each pattern, and then those that would save most alone."""

MOST_COMPARED = 2 * MOST_CANDIDATES
"""Maps that are held against each other before that."""

MOST_STEPS = 64
"""Steps from one set to the next; each must be cheaper, so this many are never needed."""


class Chosen:
    """The cheapest set of maps, of all sets where few candidates are left, and else by steps."""

    def __init__(self, settings: IndexSettings) -> None:
        self._prices = COSTS[settings.cost or settings.does.cost]
        # What candidates there are depends on which patterns are frequent, and changes seldom.
        self._listed: tuple[object, list[KeyMap], MapTable] | None = None

    def select(self, workload: Workload) -> Sequence[KeyMap]:
        """Give the set, the map that would save most alone first."""
        asked = sorted(rank_patterns(workload.searches)[:MOST_PATTERNS])
        few = replace(workload, searches={pattern: workload.searches[pattern] for pattern in asked})
        candidates, table = self._list_candidates(asked, few)
        priced = price(table, few, self._prices)
        alone = add_fallback(priced, len(asked))
        kept = drop_dear(alone, workload.room)
        rows = [0, *kept]
        chosen = [kept[at - 1] for at in choose(Priced(*(column[rows] for column in alone)), workload.room)]
        # What is best served by an index of its own has one, though no set was the better for it.
        own = alone.searches[[0, *chosen]].argmin(axis=0) == 0
        chosen += [at + 1 for at in np.flatnonzero(own & (alone.searches[0] < priced.searches[0])).tolist()]
        return fit([candidates[at - 1] for at in dict.fromkeys(chosen)], workload)

    def _list_candidates(self, asked: Sequence[int], workload: Workload) -> tuple[list[KeyMap], MapTable]:
        bits, shared = full_bits(workload), sorted(rank_patterns(workload.searches)[:MOST_SHARED])
        division = divide(workload, bits, self._prices, exact=False)
        widths = [int(workload.keys.distinct(pattern)).bit_length() for pattern in shared]
        narrow = list_narrow(workload.searches)
        kind = (asked, narrow, bits, shared, list(division.items()), widths)
        if self._listed is None or self._listed[0] != kind:
            # The index of each pattern comes first, in the order in which they are asked for.
            patterns = dict.fromkeys([*asked, *narrow, *(a & b for a in shared for b in shared if a & b)])
            maps = [hash_map(pattern, bits) for pattern in patterns]
            maps += [chain_map(chain, bits, workload) for chain in islice(list_chains(shared), MOST_CHAINS)]
            made = bit_address_map(division)
            maps = list(dict.fromkeys([*maps, made] if made else maps))
            self._listed = (kind, maps, tabulate(maps))
        return self._listed[1], self._listed[2]


def list_narrow(searches: Mapping[int, float]) -> list[int]:
    """List the patterns of one or two keys that are in most searches.

    >>> [f"{pattern:03b}" for pattern in list_narrow({0b011: 9, 0b111: 1})]
    ['001', '010', '011', '100', '101', '110']
    """
    patterns = np.array(list(searches), np.int64)
    keys = [1 << key for key in range(int(np.bitwise_or.reduce(patterns, initial=0)).bit_length())]
    masks = np.array([*keys, *(a | b for a, b in combinations(keys, 2))], np.int64)
    served = ((patterns & masks[:, None]) == masks[:, None]) @ np.array(list(searches.values()), np.float64)
    order = np.lexsort((masks, -served))[:MOST_NARROW]
    return sorted(masks[order[served[order] > 0]].tolist())


def list_chains(patterns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """List patterns that are each in the next, in twos and threes.

    >>> sorted(list_chains([0b001, 0b011, 0b111]))
    [(1, 3), (1, 3, 7), (1, 7), (3, 7)]
    """
    above = {p: [q for q in patterns if q != p and q & p == p] for p in patterns}
    for first in patterns:
        for second in above[first]:
            yield (first, second)
            yield from ((first, second, third) for third in above[second])


def add_fallback(priced: Priced, patterns: int) -> Priced:
    """Let each search be served without any of the maps, by the index of its pattern: the first maps are those.

    Where nothing in force serves it as well, the catalog builds that index by itself, as under `patterns`.
    """
    at = np.arange(patterns)
    alone = priced.searches[at + 1, at] + priced.upkeep[at + 1]
    searches = priced.searches.copy()
    searches[0] = np.minimum(searches[0], alone)
    return priced._replace(searches=searches)


def choose(priced: Priced, room: float) -> list[int]:
    """Choose rows of a table of prices, for the least sum that fits."""
    if len(priced.upkeep) - 1 <= MOST_EXACT:
        return choose_exactly(priced, room)
    return choose_by_steps(priced, room)


def choose_exactly(priced: Priced, room: float) -> list[int]:
    """Price every set."""
    # The sets are built up by one candidate after the other, each joined to all sets of those before it:
    #
    #     {}  ->  {} a  ->  {} a b ab  ->  {} a b ab c ac bc abc         number of a set: its candidates as bits
    best, upkeep, nbytes = priced.searches[:1], np.zeros(1), np.zeros(1)
    for at in range(1, len(priced.upkeep)):
        best = np.concatenate([best, np.minimum(best, priced.searches[at])])
        upkeep = np.concatenate([upkeep, upkeep + priced.upkeep[at]])
        nbytes = np.concatenate([nbytes, nbytes + priced.nbytes[at]])
    sums = best.sum(axis=1) + upkeep
    number = int(np.where(nbytes <= room, sums, np.inf).argmin())
    return [at + 1 for at in range(number.bit_length()) if number >> at & 1]


def choose_by_steps(priced: Priced, room: float) -> list[int]:
    """Add a map, take one away, or put one in the place of another, as long as that is cheaper."""
    # First the next best one again and again, which takes one look; then whether anything else is better still.
    chosen: list[int] = []
    least, more = total(priced, chosen), _best_addition(priced, chosen, room)
    while more[0] < least:
        least, chosen = more
        more = _best_addition(priced, chosen, room)
    for _ in range(MOST_STEPS):
        fewer = [[other for other in chosen if other != one] for one in chosen]
        found = [_best_addition(priced, kept, room) for kept in fewer]
        found += [(total(priced, kept), kept) for kept in fewer]
        cost, better = min([more, *found], key=lambda one: one[0])
        if cost >= least:
            break
        least, chosen = cost, better
        more = _best_addition(priced, chosen, room)
    return sorted(chosen)


def _best_addition(priced: Priced, kept: list[int], room: float) -> tuple[float, list[int]]:
    """Give the best set of one map more, and what it costs."""
    best = priced.searches[[0, *kept]].min(axis=0)
    sums = np.minimum(priced.searches, best).sum(axis=1) + priced.upkeep + priced.upkeep[kept].sum()
    fits = priced.nbytes + priced.nbytes[kept].sum() <= room
    fits[[0, *kept]] = False
    at = int(np.where(fits, sums, np.inf).argmin())
    return (float(sums[at]), [*kept, at]) if fits[at] else (np.inf, kept)


def drop_dear(priced: Priced, room: float) -> list[int]:
    """Keep the maps that may be in the best set, those that would save most alone first."""
    scan, upkeep = priced.searches[0], priced.upkeep
    saved: Floats = (scan - np.minimum(priced.searches, scan)).sum(axis=1) - upkeep
    fits = np.flatnonzero((saved > 0) & (priced.nbytes <= room))
    order: Integers = fits[np.argsort(-saved[fits], kind="stable")]
    order = order[_find_first(priced.searches[order], MOST_COMPARED)]
    searches, bounds = priced.searches[order], np.stack([upkeep[order], priced.nbytes[order]], axis=1)
    # beats[a, b]: a serves every search as well as b for no more upkeep and room. Of two alike the first stays.
    beats = (searches[:, None] <= searches[None]).all(axis=2) & (bounds[:, None] <= bounds[None]).all(axis=2)
    alike = beats & beats.T
    beaten = (beats & ~alike).any(axis=0) | np.triu(alike, 1).any(axis=0)
    order = order[~beaten]
    return [int(at) for at in order[_find_first(priced.searches[order], MOST_CANDIDATES)]]


def _find_first(searches: Floats, most: int) -> Integers:
    """Find the maps to keep, of those in the order of what they save alone: the first, and the best for a pattern."""
    best = searches.argmin(axis=0).tolist() if len(searches) else []
    numbers = dict.fromkeys([*range(min(most * 3 // 4, len(searches))), *best, *range(len(searches))])
    return np.array(sorted(list(numbers)[:most]), np.int64)
