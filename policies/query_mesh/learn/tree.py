"""The decision tree: from the buckets of a row to its route.

Every node is a table from the bucket of one attribute to the next node, so that a batch of rows is classified level by
level, each level by one look-up for all rows; a split into many costs as much as a split in two.

The tree grows by the split with the highest gain and is then pruned from the leaves up. A split must show a gain that
chance does not explain, and save more seconds than its level costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.observe.insight import Branch
from eddy.policies.query_mesh.learn.cut import BUCKETS, Bools, BucketSums, Cut, best_cut, bits_known, profile
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.tuples.arrays import Floats, Integers

LEAF = -1
"""The attribute of a node that asks for none."""

SMALLEST_SIDE = 8
"""Rows on each side of a split: what fewer rows say of a leaf is not worth its place."""

SIGNIFICANT = 5.0
"""Standard deviations of gain beyond chance, as in `gain`. Labels hang on buckets without noise, so a split that is not
significant alone is taken too where no pair is better."""

SURE_OF_SPLIT = 2.0
"""Standard errors that the saving of a split must exceed: a cut was chosen because it looked well on these rows."""

DEEPEST_TREE = 10
"""Levels of two sides each: a thousand leaves, more than a sample can fill."""


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
        """The attributes that it looks at, ascending.

        They are the columns that `routes` expects.
        """
        return tuple(sorted(set(self.attribute.tolist()) - {LEAF}))

    @cached_property
    def depth(self) -> int:
        """Levels of the longest path."""
        return max(self._depths().values())

    @property
    def singly(self) -> tuple[int, ...]:
        """The attributes whose values are told apart one by one: none."""
        return ()

    def routes(self, buckets: Buckets, _numbers: ValueNumbers | None = None) -> Integers:
        """Give each row's route, by buckets of the used attributes."""
        node = self._leaves(buckets)
        return self.route[node]

    def levels(self, buckets: Buckets) -> Integers:
        """Count the nodes that each row passes before its leaf."""
        depths = self._depths()
        return np.array([depths[node] for node in range(len(self.route))])[self._leaves(buckets)]

    def renumber(self, numbers: Sequence[int]) -> Tree:
        """The same tree with other numbers for its routes."""
        return Tree(attribute=self.attribute, child=self.child, route=np.array(numbers)[self.route], seen=self.seen)

    def branches(self) -> tuple[Branch, ...]:
        """The lines of reports: one for each branch and leaf."""
        return tuple(self._list_branches(0, 0))

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
            node = table.take(node * BUCKETS + flat.take(base + column.take(node)))
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

    def _list_branches(self, node: int, level: int) -> Iterator[Branch]:
        if self.attribute[node] == LEAF:
            yield Branch(level=level, way=int(self.route[node]))
            return
        for child in dict.fromkeys(self.child[node][self.seen[node]].tolist()):
            buckets = tuple(np.flatnonzero(self.seen[node] & (self.child[node] == child)).tolist())
            yield Branch(level=level, attribute=int(self.attribute[node]), buckets=buckets)
            yield from self._list_branches(child, level + 1)


def leaf(route: int) -> Tree:
    """The tree that gives every row the same route."""
    return Tree(
        attribute=np.array([LEAF]),
        child=np.zeros((1, BUCKETS), np.int64),
        route=np.array([route]),
        seen=np.zeros((1, BUCKETS), bool),
    )


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Rows with the route that is best for each, and all seconds.

    `seconds` are those of each row under every route.
    """

    buckets: Buckets
    label: Integers
    seconds: Floats


@dataclass(frozen=True, kw_only=True)
class _Node:
    rows: Integers
    route: int
    attribute: int = LEAF
    right: Bools | None = None
    sides: tuple[_Node, ...] = ()

    @property
    def leaves(self) -> list[_Node]:
        return [found for side in self.sides for found in side.leaves] or [self]


def induce(rows: Labelled, attributes: tuple[int, ...], level: float, work: Work) -> Steps[Tree]:
    """Learn the tree for some rows, by some of their attributes.

    A level of it costs each row `level` seconds. It grows no more when the work is over.
    """
    root = yield from _grow(rows, np.arange(len(rows.label)), attributes, 0, work)
    yield work.step()
    return _compile(_prune(root, rows, level), rows.buckets)


def _grow(rows: Labelled, some: Integers, attributes: tuple[int, ...], depth: int, work: Work) -> Steps[_Node]:
    route = int(rows.seconds[some].sum(axis=0).argmin())
    labels = rows.label[some]
    split = None
    is_large = depth < DEEPEST_TREE and len(some) >= 2 * SMALLEST_SIDE
    if is_large and (labels != labels[0]).any() and work.has_left():
        split = yield from _split(rows.buckets[some], labels, attributes, work)
    if split is None:
        return _Node(rows=some, route=route)
    attribute, cut = split
    right = cut.right[rows.buckets[some, attribute]]
    left = yield from _grow(rows, some[~right], attributes, depth + 1, work)
    other = yield from _grow(rows, some[right], attributes, depth + 1, work)
    return _Node(rows=some, route=route, attribute=attribute, right=cut.right, sides=(left, other))


def _split(
    buckets: Buckets, labels: Integers, attributes: tuple[int, ...], work: Work
) -> Steps[tuple[int, Cut] | None]:
    """Split by the attribute with the highest gain.

    The best pair splits where no single attribute has gain beyond chance.
    """
    targets = (labels[:, None] == np.unique(labels)).astype(np.float64)
    nothing = np.zeros(len(labels), np.int64)
    singles = []
    for attribute in attributes:
        singles.append(_cut(buckets, attribute, nothing, 1, targets))
        yield work.step()
    certain = [single for single, least in singles if single is not None and single[1].gain > least]
    if certain:
        return max(certain, key=lambda found: found[1].gain)
    pairs = []
    # Half of what two attributes tell is told by the first split; both its sides must be large enough for the second.
    for other in attributes if len(labels) >= 4 * SMALLEST_SIDE else ():
        values, group = np.unique(buckets[:, other], return_inverse=True)
        for attribute in attributes:
            if attribute != other:
                pairs.append(_cut(buckets, attribute, group, len(values), targets))
                yield work.step()
    certain = [pair for pair, least in pairs if pair is not None and pair[1].gain > least]
    found = certain or [single for single, _ in singles if single is not None]
    return max(found, key=lambda found: found[1].gain, default=None)


def _cut(
    buckets: Buckets, attribute: int, group: Integers, groups: int, targets: Floats
) -> tuple[tuple[int, Cut] | None, float]:
    """Find an attribute's best cut, and the gain of chance.

    The gain is in bits times rows, with the groups given.
    """
    told = profile(buckets[:, attribute], group, groups, targets)
    cut = best_cut(told, bits_known, SMALLEST_SIDE)
    freedom = _freedom(told) * (targets.shape[1] - 1)
    chance = (freedom + SIGNIFICANT * np.sqrt(2 * freedom)) / (2 * np.log(2))
    return (None if cut is None else (attribute, cut)), float(chance)


def _freedom(told: BucketSums) -> int:
    """Count the cells of groups, besides the first of each."""
    return int((told.rows > 0).sum() - (told.rows.sum(axis=0) > 0).sum())


def _prune(node: _Node, rows: Labelled, level: float) -> _Node:
    """Take away, from the leaves up, splits that do not pay."""
    if not node.sides:
        return node
    pruned = _Node(
        rows=node.rows,
        route=node.route,
        attribute=node.attribute,
        right=node.right,
        sides=tuple(_prune(side, rows, level) for side in node.sides),
    )
    saved = np.concatenate(
        [rows.seconds[leaf.rows, node.route] - rows.seconds[leaf.rows, leaf.route] for leaf in pruned.leaves]
    )
    sure = saved.sum() - SURE_OF_SPLIT * np.sqrt((saved**2).sum())
    pays = sure > level * len(saved)
    return pruned if pays else _Node(rows=node.rows, route=node.route)


def _compile(root: _Node, buckets: Buckets) -> Tree:
    """Number the nodes of a tree.

    Splits by the same attribute, one after the other, become one table.
    """
    nodes, attribute, route, child, seen = [root], [], [], [], []
    for number, node in enumerate(nodes):  # it grows while it is read
        ends, table = _table(node)
        numbers = [len(nodes) + place for place in range(len(ends))] if node.sides else [number]
        nodes += ends if node.sides else []
        attribute.append(node.attribute)
        route.append(node.route)
        child.append(np.array(numbers)[table])
        met = np.zeros(BUCKETS, bool)
        if node.sides:
            met[buckets[node.rows, node.attribute]] = True
        seen.append(met)
    return Tree(attribute=np.array(attribute), child=np.stack(child), route=np.array(route), seen=np.stack(seen))


def _table(node: _Node) -> tuple[list[_Node], Integers]:
    """The table of a node, and the nodes that it leads to.

    Nodes below it that ask for the same attribute are part of the table.
    """
    if node.right is None:
        return [node], np.zeros(BUCKETS, np.int64)
    table = np.zeros(BUCKETS, np.int64)
    ends: list[_Node] = []
    for side, there in zip(node.sides, (~node.right, node.right), strict=True):
        below, places = _table(side) if side.attribute == node.attribute else ([side], np.zeros(BUCKETS, np.int64))
        table[there] = len(ends) + places[there]
        ends += below
    return ends, table
