"""A decision tree over classifier buckets whose leaves are routes.

Every node is a table from the bucket of one attribute to the next node, so that a batch of rows is classified level by
level, each level by one look-up for all rows; a split into many costs as much as a split in two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eddy.divider import Buckets
from policies.orders import Integers
from policies.query_mesh.cut import ALL

LEAF = -1
"""The attribute of a node that asks for none."""

Describe = Callable[[int, Sequence[int]], str]
"""From an attribute and some of its buckets to words, such as `city in (3, 5)`."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Nodes by number, the root first.

    `attribute` is what a node looks at, `child` a row for each node and a column for each bucket, `route` the number of
    the route that a leaf gives, `seen` whether a bucket was seen while learning: others go where most rows do. Leaves
    are their own children, so rows that arrive early wait there.

    >>> leaf(3).routes(np.zeros((2, 0), np.uint8))
    array([3, 3])
    """

    attribute: Integers
    child: Integers
    route: Integers
    seen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The attributes that it looks at, in ascending order: the columns that `routes` expects."""
        return tuple(sorted(set(self.attribute.tolist()) - {LEAF}))

    @cached_property
    def depth(self) -> int:
        """Levels of the longest path."""
        return max(self._depths().values())

    def routes(self, buckets: Buckets) -> Integers:
        """The route of each row, from the buckets of the used attributes."""
        node = self._leaves(buckets)
        return self.route[node]

    def levels(self, buckets: Buckets) -> Integers:
        """How many nodes each row passes before it comes to its leaf."""
        depths = self._depths()
        return np.array([depths[node] for node in range(len(self.route))])[self._leaves(buckets)]

    def renumbered(self, numbers: Sequence[int]) -> Tree:
        """The same tree with other numbers for its routes."""
        return Tree(attribute=self.attribute, child=self.child, route=np.array(numbers)[self.route], seen=self.seen)

    def text(self, describe: Describe, name: Callable[[int], str] = "route {}".format) -> str:
        """One line for each branch and leaf, indented by level."""
        return "\n".join(self._lines(0, 0, describe, name))

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        names = ("attribute", "child", "route", "seen")
        return {name: getattr(self, name).tolist() for name in names}

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Tree:
        """The tree that a snapshot was taken of."""
        numbers = {name: np.array(state[name], np.int64) for name in ("attribute", "child", "route")}
        return Tree(**numbers, seen=np.array(state["seen"], bool))

    def _leaves(self, buckets: Buckets) -> Integers:
        column = np.searchsorted(self.used, self.attribute)
        node = np.zeros(len(buckets), np.int64)
        if not self.used:
            return node
        column[self.attribute == LEAF] = 0
        flat, table, width = buckets.ravel(), self.child.ravel(), buckets.shape[1]
        base = np.arange(len(buckets)) * width
        for _ in range(self.depth):
            node = table.take(node * ALL + flat.take(base + column.take(node)))
        return node

    def _depths(self) -> dict[int, int]:
        """The level of each node."""
        depths, waiting = {0: 0}, [0]
        while waiting:
            node = waiting.pop()
            fresh = set(self.child[node].tolist()) - {node}
            depths |= dict.fromkeys(fresh, depths[node] + 1)
            waiting += fresh
        return depths

    def _lines(self, node: int, level: int, describe: Describe, name: Callable[[int], str]) -> Iterator[str]:
        if self.attribute[node] == LEAF:
            yield "  " * level + name(int(self.route[node]))
            return
        for child in dict.fromkeys(self.child[node][self.seen[node]].tolist()):
            buckets = np.flatnonzero(self.seen[node] & (self.child[node] == child)).tolist()
            yield "  " * level + describe(int(self.attribute[node]), buckets)
            yield from self._lines(child, level + 1, describe, name)


def leaf(route: int) -> Tree:
    """The tree that gives every row the same route."""
    return Tree(
        attribute=np.array([LEAF]),
        child=np.zeros((1, ALL), np.int64),
        route=np.array([route]),
        seen=np.zeros((1, ALL), bool),
    )
