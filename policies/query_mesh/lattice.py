"""The partitions of training tuples, and what each costs.

A partition is a tuple of sets of training tuples, and a set is the bits of an integer: `0b011, 0b100` is "12/3" of the
Query Mesh paper (section 4.3). The price of a set is remembered, since a move changes two or three sets and leaves the
others as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.orders import Floats, Integers
from policies.query_mesh.cost import Overheads
from policies.query_mesh.legality import Route
from policies.query_mesh.route import Pricer

Partition = tuple[int, ...]


class Lattice:
    """Prices partitions: equation (2), with the tree as it will have to be at least."""

    def __init__(self, pricer: Pricer, density: Floats, overheads: Overheads) -> None:
        self.density = density
        self._pricer = pricer
        self._rows = float(density.sum())
        self._extra = [overheads.expected(routes) for routes in range(len(density) + 1)]
        self._prices: dict[int, float] = {}
        self._routes: dict[int, Route] = {}
        self._under: dict[Route, Floats] = {}

    def __len__(self) -> int:
        return len(self.density)

    def cost(self, partition: Partition) -> float:
        """Seconds per row."""
        return self.costs([partition])[0]

    def costs(self, partitions: Sequence[Partition]) -> list[float]:
        """Seconds per row of several partitions; sets without a price get theirs all at once."""
        self.price({part for partition in partitions for part in partition if part not in self._prices})
        prices = self._prices
        return [
            sum([prices[part] for part in partition]) / self._rows + self._extra[len(partition)]
            for partition in partitions
        ]

    def price(self, parts: set[int]) -> None:
        """Find the best routes of some sets."""
        fresh = sorted(parts)
        if fresh:
            found = self._pricer.price(np.stack([self.members(part) for part in fresh]).astype(np.float64))
            self._prices.update(zip(fresh, found.tolist(), strict=True))

    def seconds(self, part: int) -> float:
        """What the rows of a set take, all together, under its best route."""
        self.price({part} - self._prices.keys())
        return self._prices[part]

    def extra(self, routes: int) -> float:
        """What so many routes cost besides."""
        return self._extra[routes]

    def route(self, part: int) -> Route:
        """The best route of a set."""
        found = self._routes.get(part)
        if found is None:
            found = self._routes[part] = self._pricer.route(self.members(part).astype(np.float64))
        return found

    def under(self, part: int) -> Floats:
        """What the rows of every training tuple would take on the best route of a set."""
        route = self.route(part)
        found = self._under.get(route)
        if found is None:
            found = self._under[route] = self._pricer.under(route)
        return found

    def members(self, part: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """1 for the training tuples of a set, 0 for others."""
        packed = np.frombuffer(part.to_bytes((len(self) + 7) // 8, "little"), np.uint8)
        return np.unpackbits(packed, count=len(self), bitorder="little")


def as_set(members: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    """The set of some training tuples.

    >>> as_set(np.array([True, False, True]))
    5
    """
    return int.from_bytes(np.packbits(members, bitorder="little").tobytes(), "little")


def partition_of(labels: Integers) -> Partition:
    """The partition that puts training tuples with equal labels together.

    >>> partition_of(np.array([7, 2, 7]))
    (2, 5)
    """
    return tuple(sorted(as_set(labels == label) for label in np.unique(labels)))
