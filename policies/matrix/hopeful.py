"""Orders that are worth a try: greedy, and hopeful where little is known.

Profile rows are dear, and few of them say no more than that two operators are about alike. Rows that take an order say
for nothing what each operator does at its place. So where an operator may be better than the one at a place, though
nobody is sure, it is put there, and soon it is known: it stays, or the former comes back. Whoever is known well has no
more to hope for.

This goes beyond the thesis, whose A-Greedy knows operators by profile rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from eddy.contracts import Hop
from eddy.policies.matrix.order import Problem
from eddy.policies.matrix.watch import Place
from eddy.policies.shared.legality import HopNumbers, bits
from eddy.tuples.arrays import Floats, Mask

HOPE = 1.5
"""Standard errors by which an operator may be better than what is known of it."""

LEAST_HOPE = 0.003
"""What a try must promise, as a share of a row's cost: orders that are about alike are left as they are."""

Recall = Callable[[Place], Sequence[float]]
"""Gives rows, tuples out and squares of an operator behind a set of others, as rows of the stream have shown."""


class Along(NamedTuple):
    """For each operator those that it waits for, and the hops that profile rows tell of."""

    needed: Sequence[HopNumbers]
    profiled: Collection[Hop]


def find_hopeful(
    problem: Problem, order: HopNumbers, recall: Recall, row: float, along: Along | None = None
) -> HopNumbers:
    """Give the order to take next, where a row costs so much in the present one; perhaps the same.

    With `along` some operators wait for others, and are ranked with them.
    """
    found: HopNumbers = ()
    left = np.ones(len(problem.outcomes))
    while ready := problem.legality.find_ready(found):
        place, before = len(found), bits(found)
        ways = list_ways(ready, found, along.needed if along else ())
        ranks, hopes, costs = _rank_ways(problem, ways, left, found, recall, along)
        chosen = ways[int(ranks.argmax())]
        if before == bits(order[:place]):
            taken = [number for number, way in enumerate(ways) if order[place : place + len(way)] == way]
            present = max(taken, key=ranks.__getitem__)
            # Two that change places save as much of each row that is left, or more where others are between them.
            saved = left.mean() * costs * costs[present] * (hopes - ranks[present])
            saved[present] = 0.0
            best = int(hopes.argmax())
            chosen = ways[best] if saved[best] > LEAST_HOPE * row else ways[present]
        found = (*found, *chosen)
        left = left * problem.outcomes[:, list(chosen)].prod(axis=1)
    return found


def list_ways(ready: HopNumbers, done: HopNumbers, needed: Sequence[HopNumbers] = ()) -> list[HopNumbers]:
    """List the operators that are ready, and those that are not with all that they wait for.

    >>> list_ways((0, 2), (), [(), (0,), (), (0, 1)])
    [(0,), (2,), (0, 1), (0, 1, 3)]
    """
    ways: list[HopNumbers] = [(number,) for number in ready]
    for number, path in enumerate(needed):
        waited = tuple(before for before in path if before not in done)
        if waited and number not in done and number not in ready:
            ways.append((*waited, number))
    return ways


def _rank_ways(
    problem: Problem,
    ways: Sequence[HopNumbers],
    left: Floats,
    found: HopNumbers,
    recall: Recall,
    along: Along | None,
) -> tuple[Floats, Floats, Floats]:
    """Rank operators, or several as one, as far as is known and at best; gives what a row costs there, too."""
    numbers = [way[0] for way in ways if len(way) == 1]
    before = bits(found)
    told = np.array([_is_told(problem, (*found, number), along) for number in numbers])
    mean, best = _know(problem, numbers, left, [recall((before, number)) for number in numbers], told)
    costs = problem.costs[numbers]
    ranks, hopes = (1 - mean) / costs, (1 - best) / costs
    for way in ways[len(numbers) :]:
        rows, done, kept, hoped, spent, least = left, found, 1.0, 1.0, 0.0, 0.0
        for number in way:
            is_told = _is_told(problem, (*done, number), along)
            mean, best = _know(problem, [number], rows, [recall((bits(done), number))], is_told)
            spent, least = spent + kept * float(problem.costs[number]), least + hoped * float(problem.costs[number])
            kept, hoped = kept * float(mean[0]), hoped * float(best[0])
            rows, done = rows * problem.outcomes[:, number], (*done, number)
        ranks, hopes = np.append(ranks, (1 - kept) / spent), np.append(hopes, (1 - hoped) / least)
        costs = np.append(costs, spent)
    return ranks, hopes, costs


def _is_told(problem: Problem, route: HopNumbers, along: Along | None) -> bool:
    """Tell whether profile rows say what the last operator of a route does there.

    A probe that is come to by another way than its path searches by other keys: rows that take that way tell.
    """
    return along is None or problem.legality.hops(route)[-1] in along.profiled


def _know(
    problem: Problem, numbers: list[int], left: Floats, known: Sequence[Sequence[float]], told: Mask | bool
) -> tuple[Floats, Floats]:
    """Tell how many tuples come out of operators for one: as far as is known, and at best."""
    own = problem.outcomes[:, numbers]
    counts = np.stack((np.full(len(numbers), left.sum()), left @ own, left @ own**2))
    rows, out, squares = counts * told + np.array(known).T
    mean = (out + 0.5) / (rows + 1.0)
    spread = np.maximum(squares / np.maximum(rows, 1.0) - mean**2, 0.25 / (rows + 1.0))
    return mean, np.maximum(mean - HOPE * np.sqrt(spread / (rows + 1.0)), 0.0)
