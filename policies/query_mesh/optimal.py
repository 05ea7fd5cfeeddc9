"""The cheapest of all partitions, for few training tuples: the yardstick.

Opt-QM of the Query Mesh paper (section 4.6) goes through all partitions, 4,140 of 8 training tuples. What routes cost
besides depends on how many there are and on nothing else, so here the cheapest partition of each set into each number
of parts is put together from those of its subsets: the same optimum, for 3^n steps instead of the Bell number.
"""

from __future__ import annotations

from policies.query_mesh.lattice import Lattice, Partition

SMALL = 10
"""Training tuples up to which this is done: 59,000 steps for each number of parts."""


def optimal(lattice: Lattice) -> Partition:
    """A partition that none is cheaper than."""
    count = len(lattice)
    everything = (1 << count) - 1
    seconds = [0.0] + [lattice.seconds(part) for part in _priced(lattice, everything)]
    cheapest: list[dict[int, tuple[float, Partition]]] = [{0: (0.0, ())}]
    for _ in range(count):
        before, now = cheapest[-1], {}
        for whole in range(1, everything + 1):
            ways = [
                (before[whole ^ part][0] + seconds[part], (part, *before[whole ^ part][1]))
                for part in _with_the_lowest(whole)
                if whole ^ part in before
            ]
            if ways:
                now[whole] = min(ways)
        cheapest.append(now)
    found = [parts[everything][1] for parts in cheapest if everything in parts]
    best: Partition = min(found, key=lattice.cost)
    return tuple(sorted(best))


def _priced(lattice: Lattice, everything: int) -> range:
    """All sets, once their prices are known."""
    sets = range(1, everything + 1)
    lattice.price(set(sets))
    return sets


def _with_the_lowest(whole: int) -> list[int]:
    """The subsets that hold the lowest member, so that no partition is met twice."""
    lowest = whole & -whole
    rest = whole ^ lowest
    found, part = [whole], rest
    while part:
        part = (part - 1) & rest
        found.append(part | lowest)
    return found
