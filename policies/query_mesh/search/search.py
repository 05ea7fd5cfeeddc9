"""Searches partitions of training tuples for the cheapest.

Follows sections 4.6 and 4.7 of the Query Mesh paper: iterative improvement (figure 6) and simulated annealing
(figure 7), stopped by iterations, by a plateau, or when the decision has had its steps.

Where it does better: a look at neighbours prices several at once, which takes hardly longer than one; every descent
begins and ends with `settle`, which does at once what would take many random moves; and annealing cools from what moves
cost here, so that its temperature needs no tuning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.search.lattice import Lattice, Partition, improve_locally, neighbour

Strategy = Literal["improvement", "annealing", "optimal"]
Next = Callable[[], Steps[Partition]]
NEIGHBOURS_PER_LOOK = 16
"""Neighbours that are priced at once."""

FEWEST_LOOKS = 3
"""Looks without a gain at least."""

FIRST_TEMPERATURE = 1.0
"""The first temperature, in mean differences between a partition and its neighbours: one move in three that is worse by
so much is taken."""

COOLING = 0.95
"""The share of the temperature that each look leaves (rho of the paper); after 90 looks it is a hundredth."""

FROZEN = 0.01
"""The share of the first temperature below which a plateau counts: a hot walk is not meant to improve."""

MOST_AT_ONCE = 5
"""Training tuples up to which all partitions are priced at once, whatever the strategy: 52 of 31 sets, which takes less
than three looks at neighbours."""

MOST_FOR_OPTIMUM = 10
"""Training tuples up to which this is done: 59,000 looks at a set for each number of parts."""

SETS_AT_ONCE = 16
"""Sets whose ways are looked at in one step of it: some hundred looks for most of them."""

SEARCHING_SHARE = 0.8
"""The share of a decision's steps after which the search ends: the tree needs the others."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Limits of a search: looks, and looks without a gain; and the seconds of the whole decision.

    `descents` is how many starts iterative improvement makes (k of the paper's table 1).
    """

    looks: int = 300
    plateau: int = 12
    descents: int = 3
    seconds: float = 0.2


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The outcome of a search.

    A partition with its cost, the cost of the start, the number of looks, and the strategy.
    """

    partition: Partition
    cost: float
    start_cost: float
    looks: int
    strategy: Strategy


def search(
    lattice: Lattice, strategy: Strategy, effort: Effort, begin: Next, chance: np.random.Generator, work: Work
) -> Steps[SearchResult]:
    """Find the cheapest partition by a strategy.

    `begin` gives start solutions, the best first. The optimum is for few training tuples; with more, iterative
    improvement takes its place.
    """
    start = yield from begin()
    cost = lattice.cost(start)
    budget = _Budget(effort, work)
    yield work.step()
    if strategy == "optimal" and len(lattice) > MOST_FOR_OPTIMUM:
        strategy = "improvement"
    if len(lattice) <= MOST_AT_ONCE:
        budget.looks += 1
        every = list_partitions(len(lattice))
        costs = lattice.costs(every)
        best = every[costs.index(min(costs))]
    elif strategy == "optimal":
        best = yield from optimal(lattice, work)
    elif strategy == "annealing":
        best = yield from _anneal(lattice, start, budget, chance)
    else:
        best = yield from _improve(lattice, start, begin, budget, chance)
    return SearchResult(partition=best, cost=lattice.cost(best), start_cost=cost, looks=budget.looks, strategy=strategy)


@cache
def list_partitions(count: int) -> tuple[Partition, ...]:
    """List all partitions of so many training tuples.

    >>> list_partitions(2)
    ((1, 2), (3,))
    """
    found: list[Partition] = [()]
    for number in range(count):
        one = 1 << number
        found = [
            parts
            for known in found
            for parts in ((*known, one), *(_add(known, place, one) for place in range(len(known))))
        ]
    return tuple(tuple(sorted(parts)) for parts in found)


def _add(partition: Partition, place: int, member: int) -> Partition:
    return (*partition[:place], partition[place] | member, *partition[place + 1 :])


class _Budget:
    """Counts looks, and says when to stop."""

    def __init__(self, effort: Effort, work: Work) -> None:
        self.effort, self.work = effort, work
        self.looks = 0

    @property
    def is_left(self) -> bool:
        return self.looks < self.effort.looks and self.work.has_left(SEARCHING_SHARE)

    def look(self) -> int:
        """Count a look, which is a step."""
        self.looks += 1
        return self.work.step()

    def plateau(self, lattice: Lattice) -> int:
        """Looks without a gain: few training tuples have few neighbours."""
        return min(self.effort.plateau, max(len(lattice) // 2, FEWEST_LOOKS))


def _improve(
    lattice: Lattice, start: Partition, begin: Next, budget: _Budget, chance: np.random.Generator
) -> Steps[Partition]:
    """Descend from several starts, and keep the lowest end."""
    best = yield from _descend(lattice, start, budget, chance)
    for _ in range(1, budget.effort.descents):
        if not budget.is_left:
            break
        start = yield from begin()
        found = yield from _descend(lattice, start, budget, chance)
        best = min(found, best, key=lattice.cost)
    return best


def _descend(lattice: Lattice, partition: Partition, budget: _Budget, chance: np.random.Generator) -> Steps[Partition]:
    """Take the best of some random neighbours while it is better.

    Many looks without a better one make a local minimum.
    """
    partition = yield from improve_locally(lattice, partition, budget.work)
    cost = lattice.cost(partition)
    idle, plateau = 0, budget.plateau(lattice)
    while idle < plateau and budget.is_left:
        yield budget.look()
        looked = [neighbour(lattice, partition, chance) for _ in range(NEIGHBOURS_PER_LOOK)]
        costs = lattice.costs(looked)
        idle += 1
        if min(costs) < cost:
            partition = yield from improve_locally(lattice, looked[costs.index(min(costs))], budget.work)
            cost, idle = lattice.cost(partition), 0
    return partition


def _anneal(lattice: Lattice, start: Partition, budget: _Budget, chance: np.random.Generator) -> Steps[Partition]:
    """Take worse neighbours too, the less the longer it lasts.

    Neighbours are drawn several at a time and judged one after the other up to the first that is taken: the same walk
    as if they were drawn one by one, since nothing moves before.
    """
    best = now = yield from improve_locally(lattice, start, budget.work)
    unit, heat, idle, plateau = 0.0, FIRST_TEMPERATURE, 0, budget.plateau(lattice)
    while idle < plateau and budget.is_left:
        yield budget.look()
        looked = [neighbour(lattice, now, chance) for _ in range(NEIGHBOURS_PER_LOOK)]
        worse = np.array(lattice.costs(looked)) - lattice.cost(now)
        unit = unit or float(np.abs(worse).mean())
        odds = np.exp(-np.maximum(worse, 0) / max(unit * heat, np.finfo(np.float64).tiny))
        taken = np.flatnonzero(chance.random(NEIGHBOURS_PER_LOOK) < odds)
        now = looked[int(taken[0])] if len(taken) else now
        idle += heat < FIRST_TEMPERATURE * FROZEN
        if lattice.cost(now) < lattice.cost(best):
            best, idle = now, 0
        heat *= COOLING
    return (yield from improve_locally(lattice, best, budget.work))


def optimal(lattice: Lattice, work: Work) -> Steps[Partition]:
    """A partition that none is cheaper than."""
    count = len(lattice)
    everything = (1 << count) - 1
    seconds = [0.0] + [lattice.seconds(part) for part in _price_all(lattice, everything)]
    cheapest: list[dict[int, tuple[float, Partition]]] = [{0: (0.0, ())}]
    for _ in range(count):
        before, now = cheapest[-1], {}
        for whole in range(1, everything + 1):
            if whole % SETS_AT_ONCE == 0:
                yield work.step()
            ways = [
                (before[whole ^ part][0] + seconds[part], (part, *before[whole ^ part][1]))
                for part in _list_with_lowest(whole)
                if whole ^ part in before
            ]
            if ways:
                now[whole] = min(ways)
        cheapest.append(now)
    found = [parts[everything][1] for parts in cheapest if everything in parts]
    best: Partition = min(found, key=lattice.cost)
    return tuple(sorted(best))


def _price_all(lattice: Lattice, everything: int) -> range:
    """All sets, once their prices are known."""
    sets = range(1, everything + 1)
    lattice.price(set(sets))
    return sets


def _list_with_lowest(whole: int) -> list[int]:
    """List the subsets that hold the lowest member.

    So no partition is met twice.
    """
    lowest = whole & -whole
    rest = whole ^ lowest
    found, part = [whole], rest
    while part:
        part = (part - 1) & rest
        found.append(part | lowest)
    return found
