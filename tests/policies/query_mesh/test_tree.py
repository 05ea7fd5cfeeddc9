"""Trees: the same answer as one row after the other, and splits only where they pay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.observe.insight import Branch
from eddy.policies.query_mesh.learn.steps import Work, finish
from eddy.policies.query_mesh.learn.tree import LEAF, Labelled, Tree, induce, leaf
from tests.policies.query_mesh.worlds import noise

ROWS = 1_000
FREE = 0.0
Label = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def labelled(buckets: np.ndarray[Any, np.dtype[np.uint8]], label: Label, lost: float = 1.0) -> Labelled:
    """A row costs 1 under its own route, and more under others."""
    seconds = 1 + lost * (label[:, None] != np.arange(label.max() + 1))
    return Labelled(buckets=buckets, label=label, seconds=seconds)


def learned(buckets: np.ndarray[Any, np.dtype[np.uint8]], label: Label, level: float = FREE) -> Tree:
    return finish(induce(labelled(buckets, label), tuple(range(buckets.shape[1])), level, Work()))


def agreement(tree: Tree, buckets: np.ndarray[Any, np.dtype[np.uint8]], label: Label) -> float:
    return float((tree.routes(buckets[:, list(tree.used)]) == label).mean())


def one_by_one(tree: Tree, row: Sequence[int]) -> int:
    """The route of a row, from the root down: the naive answer."""
    node, column = 0, {attribute: place for place, attribute in enumerate(tree.used)}
    while tree.attribute[node] != LEAF:
        node = int(tree.child[node, row[column[int(tree.attribute[node])]]])
    return int(tree.route[node])


CLASSES = {
    "range": lambda b: b[:, 0] // 8,
    "values": lambda b: b[:, 0] % 3,
    "both": lambda b: (b[:, 0] >= 12) ^ (b[:, 1] >= 12),
    "two": lambda b: b[:, 0] // 12 + 2 * (b[:, 1] // 12),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_are_found_again_in_rows_that_were_not_seen(kind: str) -> None:
    seen, fresh = noise(ROWS, 3, seed=1), noise(ROWS, 3, seed=2)
    tree = learned(seen, CLASSES[kind](seen).astype(np.int64))
    assert agreement(tree, fresh, CLASSES[kind](fresh).astype(np.int64)) > 0.97
    assert set(tree.used) <= {0, 1}


def test_one_attribute_makes_one_table() -> None:
    buckets = noise(ROWS, 3, seed=3)
    assert learned(buckets, (buckets[:, 1] % 6).astype(np.int64)).depth == 1


def test_rows_with_one_route_make_one_leaf() -> None:
    tree = learned(noise(ROWS, 3, seed=4), np.zeros(ROWS, np.int64))
    assert (tree.used, tree.depth) == ((), 0)


def test_where_attributes_run_out_the_cheapest_route_for_all_decides() -> None:
    """Three rows in ten want another route, but lose so much elsewhere that they decide."""
    buckets = np.zeros((ROWS, 1), np.uint8)
    label = (np.arange(ROWS) % 10 < 3).astype(np.int64)
    assert learned(buckets, label).routes(np.zeros((1, 0), np.uint8)).tolist() == [0]
    seconds = np.where(label[:, None] == 1, [[9.0, 1.0]], [[1.0, 2.0]])
    tree = finish(induce(Labelled(buckets=buckets, label=label, seconds=seconds), (0,), FREE, Work()))
    assert tree.routes(np.zeros((1, 0), np.uint8)).tolist() == [1]


@pytest.mark.parametrize(("level", "depth"), [(0.1, 1), (0.9, 0)])
def test_a_split_that_costs_more_than_it_saves_is_pruned(level: float, depth: int) -> None:
    """Half of the rows lose 1 without the split: it is worth a half of that for each row."""
    buckets = noise(ROWS, 2, seed=5)
    assert learned(buckets, (buckets[:, 0] >= 12).astype(np.int64), level).depth == depth


def test_labels_by_chance_make_no_tree() -> None:
    chance = np.random.default_rng(6)
    buckets, label = noise(ROWS, 5, seed=7), chance.integers(0, 2, ROWS)
    seconds = 1 + chance.random((ROWS, 2))
    tree = finish(induce(Labelled(buckets=buckets, label=label, seconds=seconds), tuple(range(5)), 0.1, Work()))
    assert tree.depth == 0


def test_buckets_that_were_not_seen_go_where_most_rows_do() -> None:
    buckets = np.repeat(np.array([[0], [1], [2], [3], [4]], np.uint8), 200, axis=0)
    tree = learned(buckets, (buckets[:, 0] % 2).astype(np.int64))
    assert tree.routes(np.array([[200], [1]], np.uint8)).tolist() == [0, 1]


def test_a_range_goes_on_between_the_buckets_that_were_seen() -> None:
    buckets = np.repeat(np.array([[0], [2], [20], [24]], np.uint8), 100, axis=0)
    tree = learned(buckets, (buckets[:, 0] >= 12).astype(np.int64))
    assert tree.routes(np.array([[1], [22], [255]], np.uint8)).tolist() == [0, 1, 1]


@given(st.integers(0, 1_000), st.integers(1, 3))
def test_a_batch_gets_what_each_row_gets_alone(seed: int, attributes: int) -> None:
    chance = np.random.default_rng(seed)
    buckets = chance.integers(0, 9, (120, attributes)).astype(np.uint8)
    label = chance.integers(0, 3, 120)
    tree = learned(buckets, np.where(buckets[:, 0] < 4, buckets[:, -1] % 3, label).astype(np.int64))
    asked = chance.integers(0, 256, (60, len(tree.used))).astype(np.uint8)
    asked[:30] = buckets[:30, list(tree.used)]
    assert tree.routes(asked).tolist() == [one_by_one(tree, row) for row in asked.tolist()]
    assert tree.levels(asked).max() <= tree.depth
    again = Tree.restore(tree.snapshot())
    assert again.routes(asked).tolist() == tree.routes(asked).tolist()
    assert again.branches() == tree.branches()


def test_a_tree_can_be_read() -> None:
    buckets = noise(ROWS, 2, seed=8)
    tree = learned(buckets, np.where(buckets[:, 0] < 12, 0, 1 + (buckets[:, 1] >= 6)).astype(np.int64))
    assert tree.branches() == (
        Branch(level=0, attribute=0, buckets=tuple(range(12))),
        Branch(level=1, way=0),
        Branch(level=0, attribute=0, buckets=tuple(range(12, 24))),
        Branch(level=1, attribute=1, buckets=tuple(range(6))),
        Branch(level=2, way=1),
        Branch(level=1, attribute=1, buckets=tuple(range(6, 24))),
        Branch(level=2, way=2),
    )
    assert leaf(0).branches() == (Branch(level=0, way=0),)


def test_no_rows_are_no_trouble() -> None:
    buckets = noise(ROWS, 2, seed=9)
    tree = learned(buckets, (buckets[:, 0] >= 12).astype(np.int64))
    assert len(tree.routes(np.zeros((0, 1), np.uint8))) == 0
