"""The partitions of training tuples, and what each costs.

A partition is a tuple of sets of training tuples, and a set is the bits of an integer: `0b011, 0b100` is "12/3" of the
Query Mesh paper (section 4.3). The price of a set is remembered, since a move changes two or three sets and leaves the
others as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.best_route import Pricer
from eddy.policies.shared.legality import HopNumbers
from eddy.tuples.arrays import Floats, Integers

Partition = tuple[int, ...]


class Lattice:
    """Prices partitions by equation (2).

    The tree counts as it will have to be at least.
    """

    def __init__(self, pricer: Pricer, density: Floats, overheads: Overheads) -> None:
        self.density = density
        self._pricer = pricer
        self._rows = float(density.sum())
        self._extra = [overheads.estimate(routes) for routes in range(len(density) + 1)]
        self._prices: dict[int, float] = {}
        self._routes: dict[int, HopNumbers] = {}
        self._under: dict[HopNumbers, Floats] = {}

    def __len__(self) -> int:
        return len(self.density)

    def cost(self, partition: Partition) -> float:
        """Seconds per row."""
        return self.costs([partition])[0]

    def costs(self, partitions: Sequence[Partition]) -> list[float]:
        """Price several partitions, in seconds per row.

        Sets without a price get theirs all at once.
        """
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
        """The seconds of all rows of a set under its best route."""
        self.price({part} - self._prices.keys())
        return self._prices[part]

    def extra(self, routes: int) -> float:
        """The overhead of so many routes."""
        return self._extra[routes]

    def route(self, part: int) -> HopNumbers:
        """The best route of a set."""
        self.find_routes((part,))
        return self._routes[part]

    def find_routes(self, parts: Sequence[int]) -> None:
        """Find the best routes of some sets: for many it takes hardly longer than for one."""
        fresh = [part for part in parts if part not in self._routes]
        if fresh:
            found = self._pricer.routes(np.stack([self.members(part) for part in fresh]).astype(np.float64))
            self._routes.update(zip(fresh, found, strict=True))

    def price_rows(self, part: int) -> Floats:
        """Price each training tuple on a set's best route.

        The seconds are those of its rows.
        """
        route = self.route(part)
        found = self._under.get(route)
        if found is None:
            found = self._under[route] = self._pricer.price_rows(route)
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
    """Partition training tuples by equal labels.

    >>> partition_of(np.array([7, 2, 7]))
    (2, 5)
    """
    return tuple(sorted(as_set(labels == label) for label in np.unique(labels)))


def neighbour(lattice: Lattice, partition: Partition, chance: np.random.Generator) -> Partition:
    """A random neighbour; the partition itself where it has none."""
    draws = chance.random(4)
    sets = len(partition)
    splits = [part for part in partition if part & (part - 1)]
    moves = [_merge] * (sets > 1) + [_split, _divide] * bool(splits) + [_transfer] * (sets > 1)
    if not moves:
        return partition
    return moves[int(draws[0] * len(moves))](lattice, partition, draws[1:].tolist(), chance)


def improve_locally(lattice: Lattice, partition: Partition, work: Work) -> Steps[Partition]:
    """Move each training tuple to its best route, repeatedly.

    It goes on while that pays. Each round is a chain of splits and merges, and none makes the partition worse: routes
    go that cost more than they save, tuples go where they cost less, and then each set gets the best route for what it
    has become.
    """
    cost = lattice.cost(partition)
    while len(partition) > 1:
        places = _thin(lattice, np.stack([lattice.price_rows(part) for part in partition])).argmin(axis=0)
        moved = tuple(sorted({as_set(places == place) for place in np.unique(places).tolist()}))
        found = lattice.cost(moved)
        if found >= cost:
            break
        partition, cost = moved, found
        yield work.step()
    return partition


def _thin(lattice: Lattice, under: Floats) -> Floats:
    """Drop routes whose tuples may as well go elsewhere.

    The least missed goes first; there is a row for each route.
    """
    while len(under) > 1:
        best, second = np.partition(under, 1, axis=0)[:2]
        missed = np.bincount(under.argmin(axis=0), second - best, len(under)) / lattice.density.sum()
        least = int(missed.argmin())
        if missed[least] >= lattice.extra(len(under)) - lattice.extra(len(under) - 1):
            break
        under = np.delete(under, least, axis=0)
    return under


def _merge(_lattice: Lattice, partition: Partition, draws: list[float], _chance: np.random.Generator) -> Partition:
    first, second = _draw_two(partition, draws)
    return _replace(partition, (first, second), (first | second,))


def _split(lattice: Lattice, partition: Partition, draws: list[float], chance: np.random.Generator) -> Partition:
    """Any two sides; how many go to one of them is random too."""
    part = _draw_large(partition, draws[0])
    members = lattice.members(part).astype(bool)
    aside = members & (chance.random(len(members)) < draws[1])
    return _split_off(partition, part, as_set(aside), draws[2], lattice)


def _divide(lattice: Lattice, partition: Partition, draws: list[float], _chance: np.random.Generator) -> Partition:
    """Split off all that would rather take a member's route.

    The others stay on the common one.
    """
    part = _draw_large(partition, draws[0])
    seed = _draw_member(lattice, part, draws[1])
    rather = lattice.price_rows(seed) < lattice.price_rows(part)
    return _split_off(partition, part, part & as_set(rather), draws[2], lattice)


def _transfer(lattice: Lattice, partition: Partition, draws: list[float], _chance: np.random.Generator) -> Partition:
    source, target = _draw_two(partition, draws)
    moved = _draw_member(lattice, source, draws[2])
    return _replace(partition, (source, target), (source & ~moved, target | moved))


def _split_off(partition: Partition, part: int, aside: int, draw: float, lattice: Lattice) -> Partition:
    """Split some members off a set.

    Where the sides would be all and none, one member goes alone.
    """
    if aside in (0, part):
        aside = _draw_member(lattice, part, draw)
    return _replace(partition, (part,), (aside, part & ~aside))


def _replace(partition: Partition, old: tuple[int, ...], new: tuple[int, ...]) -> Partition:
    return tuple(sorted([part for part in partition if part not in old] + [part for part in new if part]))


def _draw_two(partition: Partition, draws: list[float]) -> tuple[int, int]:
    first = int(draws[0] * len(partition))
    second = int(draws[1] * (len(partition) - 1))
    return partition[first], partition[second + (second >= first)]


def _draw_large(partition: Partition, draw: float) -> int:
    """A random set of two or more."""
    large = [part for part in partition if part & (part - 1)]
    return large[int(draw * len(large))]


def _draw_member(lattice: Lattice, part: int, draw: float) -> int:
    """A random member, as a set of its own."""
    numbers = np.flatnonzero(lattice.members(part))
    return 1 << int(numbers[int(draw * len(numbers))])
