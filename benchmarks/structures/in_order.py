"""Structures over sorted keys: none, halving, T-tree, B-tree, B+-tree.

All of them hold the distinct keys in order, and for each the run of its rows; they differ in how the place of a key is
found. Trees are laid out level by level, and all probes go down a level together. Nodes are full: they are laid out
anew when rows come or go, which merges sorted keys and sorts nothing that was there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Rows = np.ndarray[Any, np.dtype[np.int32]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Pairs = tuple[Ints, Ints]
"""Places of probes, and beside each a row with its key."""

Inside = Literal["linear", "binary"]
"""How a node is searched."""

NO_KEY = np.iinfo(np.int64).max
"""Fills the last node of a level; no key is so large."""

COMPARED_AT_ONCE = 1 << 22
"""Keys that a scan compares at once: 32 megabytes of them."""


def expand(begins: Ints, counts: Ints) -> Pairs:
    """Give the places in each probe's run, one after the other.

    >>> [found.tolist() for found in expand(np.array([5, 0, 2]), np.array([2, 0, 1]))]
    [[0, 0, 2], [5, 6, 2]]
    """
    at = np.repeat(np.arange(len(counts)), counts)
    shift = begins - (np.cumsum(counts) - counts)
    return at, np.arange(len(at)) + shift.take(at)


class Scan:
    """Keys as they came: every one is compared with each probe's."""

    def __init__(self, keys: Ints) -> None:
        self._keys, self._first = keys, 0

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys themselves."""
        return 0

    def search(self, wanted: Ints) -> Pairs:
        """Find the rows with each probe's key."""
        at_once = max(COMPARED_AT_ONCE // max(len(self._keys), 1), 1)
        found = [np.nonzero(wanted[i : i + at_once, None] == self._keys) for i in range(0, len(wanted), at_once)]
        at = [places + number * at_once for number, (places, _) in enumerate(found)]
        return np.concatenate(at), np.concatenate([rows for _, rows in found]) + self._first

    def append(self, keys: Ints) -> None:
        """Add rows at the end."""
        self._keys = np.concatenate((self._keys, keys))

    def trim(self, count: int) -> None:
        """Let the oldest rows go."""
        self._keys, self._first = self._keys[count:], self._first + count


class InOrder(ABC):
    """Distinct keys in order, and the runs of their rows."""

    def __init__(self, keys: Ints) -> None:
        self._first, self._stop = 0, len(keys)
        order = np.argsort(keys, kind="stable")
        self._lay_out(keys.take(order), order.astype(np.int32))

    def _lay_out(self, keys: Ints, order: Rows) -> None:
        new = np.ones(len(keys), np.bool_)
        new[1:] = keys[1:] != keys[:-1]
        first = np.flatnonzero(new)
        self._keys, self._order = keys.take(first), order
        self._begins = np.append(first, len(keys)).astype(np.int32)
        self._build()

    @property
    def nbytes(self) -> int:
        """The bytes beside the rows themselves."""
        return self._keys.nbytes + self._begins.nbytes + self._order.nbytes + self._more()

    def search(self, wanted: Ints) -> Pairs:
        """Find the rows with each probe's key."""
        place, found = self._find(wanted)
        begins = self._begins.take(place).astype(np.int64)
        at, places = expand(begins, (self._begins.take(place + 1) - begins) * found)
        return at, self._order.take(places).astype(np.int64)

    def append(self, keys: Ints) -> None:
        """Merge rows into those that stand in order."""
        order = np.argsort(keys, kind="stable")
        new, old = keys.take(order), np.repeat(self._keys, np.diff(self._begins))
        places = np.searchsorted(old, new, side="right")
        rows = (order + self._stop).astype(np.int32)
        self._stop += len(keys)
        self._lay_out(np.insert(old, places, new), np.insert(self._order, places, rows))

    def trim(self, count: int) -> None:
        """Take the oldest rows out."""
        self._first += count
        keep = self._order >= self._first
        self._lay_out(np.repeat(self._keys, np.diff(self._begins))[keep], self._order[keep])

    @abstractmethod
    def _build(self) -> None:
        """Lay out what leads to the keys."""

    @abstractmethod
    def _find(self, wanted: Ints) -> tuple[Ints, Mask]:
        """Find the place of each key, and whether it is there."""

    def _more(self) -> int:
        """Count the bytes of what leads to the keys."""
        return 0

    def _at(self, place: Ints, wanted: Ints) -> tuple[Ints, Mask]:
        np.minimum(place, len(self._keys) - 1, out=place)
        return place, self._keys.take(place) == wanted


class Halving(InOrder):
    """`searchsorted`: nothing leads to the keys."""

    def _build(self) -> None:
        pass

    def _find(self, wanted: Ints) -> tuple[Ints, Mask]:
        return self._at(np.searchsorted(self._keys, wanted), wanted)


class Tree(InOrder):
    """A tree with nodes of so many keys."""

    def __init__(self, keys: Ints, *, node: int = 16, inside: Inside = "linear") -> None:
        self._node = node
        self._count = _count_linear if inside == "linear" else _count_binary
        super().__init__(keys)


class TTree(Tree):
    """A balanced binary tree whose nodes hold several keys.

    A probe goes left of a node's least key, right of its largest one, and else stays.
    """

    def _build(self) -> None:
        self._padded = _pad(self._keys, self._node)
        nodes = len(self._padded) // self._node
        self._left, self._right = np.full(nodes, -1, np.int32), np.full(nodes, -1, np.int32)
        self._root = nodes // 2
        # Every level halves the nodes between its parents:   [0 1 2 3 4 5 6] -> 3, then 1 and 5, then 0 2 4 6
        low, high = np.array([0]), np.array([nodes])
        while len(low):
            middle = (low + high) // 2
            has_left, has_right = middle > low, high > middle + 1
            self._left[middle[has_left]] = ((low + middle) // 2)[has_left]
            self._right[middle[has_right]] = ((middle + 1 + high) // 2)[has_right]
            low, high = (
                np.concatenate((low[has_left], (middle + 1)[has_right])),
                np.concatenate((middle[has_left], high[has_right])),
            )

    def _find(self, wanted: Ints) -> tuple[Ints, Mask]:
        place = np.zeros(len(wanted), np.int64)
        going, node = np.arange(len(wanted)), np.full(len(wanted), self._root, np.int64)
        while len(going):
            own = wanted.take(going)
            left = own < self._padded.take(node * self._node)
            right = ~left & (own > self._padded.take(node * self._node + self._node - 1))
            stays = ~(left | right)
            inside = node[stays] * self._node
            place[going[stays]] = inside + self._count(self._padded, inside, self._node, own[stays])
            node = np.where(left, self._left.take(node), self._right.take(node))
            on = ~stays & (node >= 0)
            going, node = going[on], node[on]
        return self._at(place, wanted)

    def _more(self) -> int:
        # Two whole numbers a node more: how many keys it has, and how it is balanced.
        return self._padded.nbytes - self._keys.nbytes + 4 * self._left.nbytes


class BTree(Tree):
    """Keys stand in all nodes; between any two is a child."""

    def _build(self) -> None:
        # Of the sorted keys every (node + 1)th goes up a level, the others are nodes in which nothing is missing:
        #
        #     nodes of 2    level 0   1 2 . 4 5 . 7 8      level 1   3 6
        wide, self._levels = self._node + 1, []
        keys = self._keys
        while len(keys) > self._node:
            above = keys[self._node :: wide]
            # Behind the last key that went up is a node too, be it an empty one: below it there may be more.
            padded = _pad(np.append(keys, NO_KEY), wide).reshape(-1, wide)[:, : self._node]
            self._levels.append(np.ascontiguousarray(padded).ravel())
            keys = above
        self._levels.append(_pad(keys, self._node))

    def _find(self, wanted: Ints) -> tuple[Ints, Mask]:
        place, found = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
        going, node = np.arange(len(wanted)), np.zeros(len(wanted), np.int64)
        for depth in reversed(range(len(self._levels))):
            keys, own = self._levels[depth], wanted.take(going)
            count = self._count(keys, node * self._node, self._node, own)
            at = np.minimum(node * self._node + count, len(keys) - 1)
            here = (count < self._node) & (keys.take(at) == own)
            place[going[here]] = self._sorted_place(node[here], count[here], depth)
            found[going[here]] = True
            node = node * (self._node + 1) + count
            on = ~here & (node * self._node < len(self._levels[max(depth - 1, 0)]))
            going, node = going[on], node[on]
        return place, found

    def _sorted_place(self, node: Ints, count: Ints, depth: int) -> Ints:
        """Give the place among all sorted keys."""
        place = node * (self._node + 1) + count
        for _ in range(depth):
            place = place * (self._node + 1) + self._node
        return place

    def _more(self) -> int:
        # A child for each key and one more in nodes that are not leaves.
        inner = sum(level.nbytes for level in self._levels[1:])
        return sum(level.nbytes for level in self._levels) - self._keys.nbytes + inner // 2


class BPlusTree(Tree):
    """All keys stand in leaves; the nodes above say how each child begins."""

    def _build(self) -> None:
        self._levels = [_pad(self._keys, self._node)]
        while len(self._levels[-1]) > self._node:
            self._levels.append(_pad(np.ascontiguousarray(self._levels[-1][:: self._node]), self._node))

    def _find(self, wanted: Ints) -> tuple[Ints, Mask]:
        node = np.zeros(len(wanted), np.int64)
        for keys in reversed(self._levels[1:]):
            # Keys up to the wanted one, so one more than the keys below it where it stands there itself.
            count = self._count(keys, node * self._node, self._node, wanted + 1)
            node = node * self._node + np.maximum(count - 1, 0)
        leaves = self._levels[0]
        return self._at(node * self._node + self._count(leaves, node * self._node, self._node, wanted), wanted)

    def _more(self) -> int:
        inner = sum(level.nbytes for level in self._levels[1:])
        return self._levels[0].nbytes - self._keys.nbytes + inner + inner // 2


def _pad(keys: Ints, node: int) -> Ints:
    """Fill the last node."""
    return np.concatenate((keys, np.full(-len(keys) % node, NO_KEY)))


def _count_linear(keys: Ints, first: Ints, node: int, wanted: Ints) -> Ints:
    """Count the keys of each probe's node below its own: compare all."""
    count = np.zeros(len(wanted), np.int64)
    for step in range(node):
        count += keys.take(first + step) < wanted
    return count


def _count_binary(keys: Ints, first: Ints, node: int, wanted: Ints) -> Ints:
    """Count them by halving."""
    count, step = np.zeros(len(wanted), np.int64), 1 << (node.bit_length() - 1)
    while step:
        reached = count + step
        below = (reached <= node) & (keys.take(np.minimum(first + reached - 1, len(keys) - 1)) < wanted)
        count = np.where(below, reached, count)
        step >>= 1
    return count
