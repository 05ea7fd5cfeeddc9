"""The classifier where many values, or many attributes, tell what operators let through.

Section 4.4 of the Query Mesh paper leaves open which classifier a mesh has. A tree needs rows for each of its leaves:
where each operator goes by an attribute of its own, its leaves would be the product of them all. A grid puts the
buckets of each attribute into a few groups, by what operators make of them, and says the route of every combination of
groups: from one rate for each operator and group all combinations follow. It is as quick as a tree of as many levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.observe.insight import Branch
from eddy.policies.query_mesh.learn.cut import BUCKETS
from eddy.tuples.arrays import Floats, Integers, Mask

MOST_CELLS = 10_000
"""Combinations of groups: a hundred groups of two attributes, ten of four. Each is priced for each route."""

ROUNDING = 1e-9
"""What roots of whole numbers may be off by."""

ROUNDS_OF_GROUPING = 8
"""Times that groups are moved to the middle of their buckets: they hardly move after a few."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The group of each bucket of each attribute, and the route of each combination.

    Where values are told apart one by one, they are buckets here. `group` has an array for each attribute, `route` a
    number for each combination: that of the first attribute counts most. Reports call a bucket of the first attribute
    by the one in `named`.
    """

    used: tuple[int, ...]
    group: tuple[Integers, ...]
    sizes: tuple[int, ...]
    route: Integers
    seen: tuple[Mask, ...]
    named: Buckets

    @property
    def singly(self) -> tuple[int, ...]:
        """The attributes whose values are told apart one by one."""
        return tuple(a for a, group in zip(self.used, self.group, strict=True) if len(group) > BUCKETS)

    @property
    def depth(self) -> int:
        """Attributes that each row is looked at by."""
        return len(self.used)

    def routes(self, buckets: Buckets, numbers: ValueNumbers | None = None) -> Integers:
        """Give each row's route, by buckets of the used attributes, and by the numbers of values that go singly.

        A value that was not seen when the grid was made goes by its bucket.
        """
        code = np.zeros(len(buckets), np.int64)
        for place, (group, size, seen) in enumerate(zip(self.group, self.sizes, self.seen, strict=True)):
            column = buckets[:, place]
            if numbers is not None and len(group) > BUCKETS:
                own = numbers[:, place]
                column = np.where(seen.take(own), own, column)
            code = code * size + group.take(column)
        return self.route.take(code)

    def levels(self, buckets: Buckets) -> Integers:
        """Count the looks that each row takes."""
        return np.full(len(buckets), self.depth)

    def renumber(self, numbers: Sequence[int]) -> Grid:
        """The same grid with other numbers for its routes."""
        route = np.array(numbers)[self.route]
        return replace(self, route=route)

    def branches(self) -> tuple[Branch, ...]:
        """The lines of reports: values of the first attribute, and the ways that their rows take."""
        lines = []
        ways = self.route.reshape(self.sizes[0], -1)
        alike: dict[tuple[int, ...], list[int]] = {}
        for number, row in enumerate(ways):
            alike.setdefault(tuple(np.unique(row).tolist()), []).append(number)
        for taken, groups in alike.items():
            buckets = np.unique(self.named[np.isin(self.group[0], groups) & self.seen[0]])
            if len(buckets):
                lines.append(Branch(level=0, attribute=self.used[0], buckets=tuple(buckets.tolist())))
                lines += [Branch(level=1, way=way) for way in taken]
        return tuple(lines)

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        lists = {name: [array.tolist() for array in getattr(self, name)] for name in ("group", "seen")}
        lists |= {"route": self.route.tolist(), "named": self.named.tolist()}
        return {"used": list(self.used), "sizes": list(self.sizes), **lists}

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Grid:
        """The grid that a snapshot was taken of."""
        return Grid(
            used=tuple(state["used"]),
            sizes=tuple(state["sizes"]),
            route=np.array(state["route"], np.int64),
            group=tuple(np.array(group, np.int64) for group in state["group"]),
            seen=tuple(np.array(seen, np.bool_) for seen in state["seen"]),
            named=np.array(state["named"], np.uint8),
        )


def count_groups(attributes: int) -> int:
    """Count the groups that each of some attributes may have.

    >>> [count_groups(attributes) for attributes in (1, 2, 4, 12)]
    [10000, 100, 10, 2]
    """
    # A root that is a whole number may come out as a little less.
    return max(int(MOST_CELLS ** (1 / attributes) + ROUNDING), 2)


def group_buckets(values: Floats, rows: Floats, most: int) -> tuple[Integers, Floats]:
    """Put buckets with like values into at most so many groups.

    `values` have a row for each bucket, which has so many `rows`. Gives the group of each bucket, and the values of
    each group. Buckets that nobody has seen are in the group that is nearest to theirs.
    """
    if most >= len(values):
        return np.arange(len(values)), values
    met = np.flatnonzero(rows > 0)
    if not len(met):
        return np.zeros(len(values), np.int64), values.mean(axis=0, keepdims=True)
    known, weight = values[met], rows[met]
    middles = np.unique(known, axis=0)
    if len(middles) > most:
        middles = _spread(known, weight, most)
        for _ in range(ROUNDS_OF_GROUPING):
            near = _find_nearest(known, middles)
            total = np.bincount(near, weight, len(middles))
            sums = np.stack([np.bincount(near, weight * column, len(middles)) for column in known.T], axis=1)
            middles = np.divide(sums, total[:, None], out=middles.copy(), where=total[:, None] > 0)
    return _find_nearest(values, middles), middles


def _spread(known: Floats, weight: Floats, most: int) -> Floats:
    """Begin with the heaviest, and go on with what is farthest from all that were taken."""
    taken = [int(weight.argmax())]
    far = ((known - known[taken[0]]) ** 2).sum(axis=1)
    while len(taken) < most:
        taken.append(int((far * weight).argmax()))
        far = np.minimum(far, ((known - known[taken[-1]]) ** 2).sum(axis=1))
    return known[taken]


def _find_nearest(values: Floats, middles: Floats) -> Integers:
    # Squares of differences, but for that of the value, which is the same for all: one product of matrices.
    nearest: Integers = ((middles**2).sum(axis=1) - 2 * values @ middles.T).argmin(axis=1)
    return nearest
