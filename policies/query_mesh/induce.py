"""Learns a decision tree from rows that are labelled with routes.

Follows section 4.4 of the Query Mesh paper: top down, by information gain; a node is a leaf when its rows have one
route, or when nothing is left to tell them apart, and then the majority decides.

Where it does better: it learns from all rows of the sample, each with the route of its training tuple, so every bucket
that the sample holds has a place. Splits have two sides (`cut`); what follows the same attribute again becomes one
table. Where no single attribute has gain beyond chance, two are looked at together. The majority is one of seconds and
not of rows: a leaf gets the route that its rows are cheapest under. And a split stays only if it pays: the seconds it
saves, less their standard errors, must exceed what classification costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.divider import Buckets
from policies.orders import Floats, Integers
from policies.query_mesh.cut import ALL, Bools, Cut, Profile, best_cut, bits_known, profile
from policies.query_mesh.tree import LEAF, Tree

SMALLEST = 8
"""Rows on each side of a split: what fewer rows say of a leaf is not worth its place."""

SIGNIFICANT = 5.0
"""Standard deviations of gain beyond chance, as in `gain`. Labels hang on buckets without noise, so a split that is not
significant alone is taken too where no pair is better."""

SURE = 2.0
"""Standard errors that the saving of a split must exceed: a cut was chosen because it looked well on these rows."""

DEEPEST = 10
"""Levels of two sides each: a thousand leaves, more than a sample can fill."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Rows with the number of the route that each should take, and the seconds of each row under every route."""

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


def induce(rows: Labelled, attributes: tuple[int, ...], level: float) -> Tree:
    """The tree for some rows, by some of their attributes; a level of it costs each row so many seconds."""
    root = _grow(rows, np.arange(len(rows.label)), attributes, 0)
    return _compile(_prune(root, rows, level), rows.buckets)


def _grow(rows: Labelled, some: Integers, attributes: tuple[int, ...], depth: int) -> _Node:
    route = int(rows.seconds[some].sum(axis=0).argmin())
    labels = rows.label[some]
    split = None
    if depth < DEEPEST and len(some) >= 2 * SMALLEST and (labels != labels[0]).any():
        split = _split(rows.buckets[some], labels, attributes)
    if split is None:
        return _Node(rows=some, route=route)
    attribute, cut = split
    right = cut.right[rows.buckets[some, attribute]]
    sides = tuple(_grow(rows, side, attributes, depth + 1) for side in (some[~right], some[right]))
    return _Node(rows=some, route=route, attribute=attribute, right=cut.right, sides=sides)


def _split(buckets: Buckets, labels: Integers, attributes: tuple[int, ...]) -> tuple[int, Cut] | None:
    """By the attribute with the highest gain; by the best pair where no single one has gain beyond chance."""
    targets = (labels[:, None] == np.unique(labels)).astype(np.float64)
    nothing = np.zeros(len(labels), np.int64)
    singles = [_cut(buckets, a, nothing, 1, targets) for a in attributes]
    certain = [single for single, least in singles if single is not None and single[1].gain > least]
    if certain:
        return max(certain, key=lambda found: found[1].gain)
    pairs = []
    # Half of what two attributes tell is told by the first split; both its sides must be large enough for the second.
    for other in attributes if len(labels) >= 4 * SMALLEST else ():
        values, group = np.unique(buckets[:, other], return_inverse=True)
        pairs += [_cut(buckets, a, group, len(values), targets) for a in attributes if a != other]
    certain = [pair for pair, least in pairs if pair is not None and pair[1].gain > least]
    found = certain or [single for single, _ in singles if single is not None]
    return max(found, key=lambda found: found[1].gain, default=None)


def _cut(
    buckets: Buckets, attribute: int, group: Integers, groups: int, targets: Floats
) -> tuple[tuple[int, Cut] | None, float]:
    """The best cut of an attribute, given the groups, and the gain in bits times rows that chance might give."""
    told = profile(buckets[:, attribute], group, groups, targets)
    cut = best_cut(told, bits_known, SMALLEST)
    freedom = _freedom(told) * (targets.shape[1] - 1)
    chance = (freedom + SIGNIFICANT * np.sqrt(2 * freedom)) / (2 * np.log(2))
    return (None if cut is None else (attribute, cut)), float(chance)


def _freedom(told: Profile) -> int:
    """Cells that a group is divided into, besides the first of each group."""
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
    sure = saved.sum() - SURE * np.sqrt((saved**2).sum())
    pays = sure > level * len(saved)
    return pruned if pays else _Node(rows=node.rows, route=node.route)


def _compile(root: _Node, buckets: Buckets) -> Tree:
    """Number the nodes; splits by the same attribute, one after the other, become one table."""
    nodes, attribute, route, child, seen = [root], [], [], [], []
    for number, node in enumerate(nodes):  # it grows while it is read
        ends, table = _table(node)
        numbers = [len(nodes) + place for place in range(len(ends))] if node.sides else [number]
        nodes += ends if node.sides else []
        attribute.append(node.attribute)
        route.append(node.route)
        child.append(np.array(numbers)[table])
        met = np.zeros(ALL, bool)
        if node.sides:
            met[buckets[node.rows, node.attribute]] = True
        seen.append(met)
    return Tree(attribute=np.array(attribute), child=np.stack(child), route=np.array(route), seen=np.stack(seen))


def _table(node: _Node) -> tuple[list[_Node], Integers]:
    """What a node and those below it that ask for the same attribute come to, and which of these for each bucket."""
    if node.right is None:
        return [node], np.zeros(ALL, np.int64)
    table = np.zeros(ALL, np.int64)
    ends: list[_Node] = []
    for side, there in zip(node.sides, (~node.right, node.right), strict=True):
        below, places = _table(side) if side.attribute == node.attribute else ([side], np.zeros(ALL, np.int64))
        table[there] = len(ends) + places[there]
        ends += below
    return ends, table
