"""Steps from a partition to its neighbours.

Follows sections 4.3 and 4.7 of the Query Mesh paper: an edge of the lattice splits a set in two or merges two sets.
Where it does better: half of all splits ask the routes where to divide, since a large set has so many splits that a
random one hardly ever pays; and one training tuple may change sets, a split and a merge in one step, since the
partition between the two is often worse than both.
"""

from __future__ import annotations

import numpy as np

from policies.orders import Floats
from policies.query_mesh.lattice import Lattice, Partition, as_set


def neighbour(lattice: Lattice, partition: Partition, chance: np.random.Generator) -> Partition:
    """A random neighbour; the partition itself where it has none."""
    draws = chance.random(4)
    sets = len(partition)
    splits = [part for part in partition if part & (part - 1)]
    moves = [_merge] * (sets > 1) + [_split, _divide] * bool(splits) + [_transfer] * (sets > 1)
    if not moves:
        return partition
    return moves[int(draws[0] * len(moves))](lattice, partition, draws[1:].tolist(), chance)


def settle(lattice: Lattice, partition: Partition) -> Partition:
    """Every training tuple to the route that is best for it, again and again, while that pays.

    Each round is a chain of splits and merges, and none makes the partition worse: routes go that cost more than they
    save, tuples go where they cost less, and then each set gets the best route for what it has become.
    """
    cost = lattice.cost(partition)
    while len(partition) > 1:
        places = _thinned(lattice, np.stack([lattice.under(part) for part in partition])).argmin(axis=0)
        moved = tuple(sorted({as_set(places == place) for place in np.unique(places).tolist()}))
        found = lattice.cost(moved)
        if found >= cost:
            break
        partition, cost = moved, found
    return partition


def _thinned(lattice: Lattice, under: Floats) -> Floats:
    """Without the routes whose tuples may as well go elsewhere, the least missed first; a row for each route."""
    while len(under) > 1:
        best, second = np.partition(under, 1, axis=0)[:2]
        missed = np.bincount(under.argmin(axis=0), second - best, len(under)) / lattice.density.sum()
        least = int(missed.argmin())
        if missed[least] >= lattice.extra(len(under)) - lattice.extra(len(under) - 1):
            break
        under = np.delete(under, least, axis=0)
    return under


def _merge(_lattice: Lattice, partition: Partition, draws: list[float], _chance: np.random.Generator) -> Partition:
    first, second = _two(partition, draws)
    return _replaced(partition, (first, second), (first | second,))


def _split(lattice: Lattice, partition: Partition, draws: list[float], chance: np.random.Generator) -> Partition:
    """Any two sides; how many go to one of them is random too."""
    part = _large(partition, draws[0])
    members = lattice.members(part).astype(bool)
    aside = members & (chance.random(len(members)) < draws[1])
    return _divided(partition, part, as_set(aside), draws[2], lattice)


def _divide(lattice: Lattice, partition: Partition, draws: list[float], _chance: np.random.Generator) -> Partition:
    """All that would rather take the route of one of them than the common one."""
    part = _large(partition, draws[0])
    seed = _member(lattice, part, draws[1])
    rather = lattice.under(seed) < lattice.under(part)
    return _divided(partition, part, part & as_set(rather), draws[2], lattice)


def _transfer(lattice: Lattice, partition: Partition, draws: list[float], _chance: np.random.Generator) -> Partition:
    source, target = _two(partition, draws)
    moved = _member(lattice, source, draws[2])
    return _replaced(partition, (source, target), (source & ~moved, target | moved))


def _divided(partition: Partition, part: int, aside: int, draw: float, lattice: Lattice) -> Partition:
    """A set without some of its members, which make a set; one member alone where those are none, or all."""
    if aside in (0, part):
        aside = _member(lattice, part, draw)
    return _replaced(partition, (part,), (aside, part & ~aside))


def _replaced(partition: Partition, old: tuple[int, ...], new: tuple[int, ...]) -> Partition:
    return tuple(sorted([part for part in partition if part not in old] + [part for part in new if part]))


def _two(partition: Partition, draws: list[float]) -> tuple[int, int]:
    first = int(draws[0] * len(partition))
    second = int(draws[1] * (len(partition) - 1))
    return partition[first], partition[second + (second >= first)]


def _large(partition: Partition, draw: float) -> int:
    """A random set of two or more."""
    large = [part for part in partition if part & (part - 1)]
    return large[int(draw * len(large))]


def _member(lattice: Lattice, part: int, draw: float) -> int:
    """A random member, as a set of its own."""
    numbers = np.flatnonzero(lattice.members(part))
    return 1 << int(numbers[int(draw * len(numbers))])
