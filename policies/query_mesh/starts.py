"""Where the search begins (section 4.7 of the Query Mesh paper)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from policies.orders import classes
from policies.query_mesh.lattice import Lattice, Partition, partition_of
from policies.query_mesh.training import Training

Start = Literal["content", "route", "random", "one", "each"]

WIDE = 3
"""Parts of an attribute's range that count as alike in content: two attributes make nine sets, about as many as a mesh
has routes at most."""

PICKED = 10
"""Random partitions of which the cheapest is picked."""


def content_driven(training: Training, _lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """Training tuples with similar buckets together (CDA)."""
    used = training.buckets[:, list(training.informative)].astype(np.int64)
    low = used.min(axis=0, initial=255)
    width = np.maximum(used.max(axis=0, initial=0) - low + 1, 1)
    return partition_of(classes(((used - low) * WIDE // width).astype(np.uint8))[1])


def route_driven(_training: Training, lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """Training tuples with the same best route together (RDA)."""
    routes = [lattice.route(1 << number) for number in range(len(lattice))]
    numbers = {route: number for number, route in enumerate(dict.fromkeys(routes))}
    return partition_of(np.array([numbers[route] for route in routes]))


def random_pick(_training: Training, lattice: Lattice, chance: np.random.Generator) -> Partition:
    """The cheapest of some random partitions (RP)."""
    most = chance.integers(1, len(lattice) + 1, PICKED)
    partitions = [partition_of(chance.integers(0, sets, len(lattice))) for sets in most.tolist()]
    costs = lattice.costs(partitions)
    return partitions[costs.index(min(costs))]


def extreme_one(_training: Training, lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """One route for all (E1R)."""
    return ((1 << len(lattice)) - 1,)


def extreme_each(_training: Training, lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """A route for each training tuple (Extreme-N)."""
    return tuple(1 << number for number in range(len(lattice)))


STARTS: dict[Start, Callable[[Training, Lattice, np.random.Generator], Partition]] = {
    "content": content_driven,
    "route": route_driven,
    "random": random_pick,
    "one": extreme_one,
    "each": extreme_each,
}
