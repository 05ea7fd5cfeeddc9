"""Structures by which rows may be found, beside each other: which is built, searched and kept up to date most cheaply.

All of them are vectorised: the probes of a micro-batch go from level to level, from slot to slot or from row to row
together. They are searched for keys of which about one row each is stored, and say which rows those are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Protocol

import numpy as np

from benchmarks.measure import SEED, Line, setting
from benchmarks.structures.by_hash import Buckets, Occupied, Offsets, Open
from benchmarks.structures.in_order import BPlusTree, BTree, Halving, Inside, Ints, Pairs, Scan, TTree

SIZES = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)
PROBES = (1_000, 10_000)
BATCH = 1_000
"""Rows that come, and as many that go."""

NODES = (4, 8, 16, 32, 64)
"""Keys of a node."""

USUAL_NODE = 16
"""Keys of a node where nodes are not what is compared."""

MOST_COMPARED = 10_000_000
"""Keys that a scan compares: with fewer probes, its time is taken for all of them."""

TURNS = 9
"""Times of which the median counts."""

CONTROL = "offsets by bits (control)"


class Structure(Protocol):
    """What finds rows; it is built by its constructor."""

    @property
    def nbytes(self) -> int:
        """The bytes beside the keys and rows themselves."""

    def search(self, wanted: Ints) -> Pairs:
        """Find the rows with each probe's key."""

    def append(self, keys: Ints) -> None:
        """Add rows."""

    def trim(self, count: int) -> None:
        """Let the oldest rows go."""


Make = Callable[[Ints], Structure]

STRUCTURES: Mapping[str, Make] = {
    "scan": Scan,
    "searchsorted": Halving,
    "T-tree": partial(TTree, node=USUAL_NODE),
    "B-tree": partial(BTree, node=USUAL_NODE),
    "B+-tree": partial(BPlusTree, node=USUAL_NODE),
    "bucket table": Buckets,
    "open addressing": Open,
    "occupied codes": Occupied,
    "offsets by bits": Offsets,
    CONTROL: Offsets,
}
"""Every structure, with nodes of one size."""

TREES: Mapping[str, Callable[..., Structure]] = {"T-tree": TTree, "B-tree": BTree, "B+-tree": BPlusTree}
INSIDE: Sequence[Inside] = ("linear", "binary")


def search(sizes: Sequence[int] = SIZES, probes: Sequence[int] = PROBES, turns: int = TURNS) -> Iterator[Line]:
    """Nanoseconds that a probe takes, by the rows that are stored."""
    for count in probes:
        yield f"nanoseconds a probe, {count:,} at once; " + setting(rows=max(sizes), batch=count, seed=SEED)
        yield _head(sizes)
        columns = [_search(STRUCTURES, size, count, turns) for size in sizes]
        yield from _lines(columns, 1e9)


def build(sizes: Sequence[int] = SIZES, turns: int = TURNS) -> Iterator[Line]:
    """Nanoseconds that a row takes when all are put in at once."""
    yield "nanoseconds a row, built at once"
    yield _head(sizes)
    columns = []
    for size in sizes:
        keys = _keys(size)
        made = {name: partial(make, keys) for name, make in STRUCTURES.items()}
        columns.append({name: seconds / size for name, seconds in median_seconds(made, turns).items()})
    yield from _lines(columns, 1e9)


def change(sizes: Sequence[int] = SIZES, turns: int = TURNS, batch: int = BATCH) -> Iterator[Line]:
    """Nanoseconds that a row takes which comes while another goes."""
    yield f"nanoseconds a row of {batch:,} that come while as many go"
    yield _head(sizes)
    columns = []
    for size in sizes:
        kept = {name: make(_keys(size)) for name, make in STRUCTURES.items()}
        new = _keys(size, seed=SEED + 1)[:batch]
        moved = {name: partial(_move, structure, new) for name, structure in kept.items()}
        columns.append({name: seconds / len(new) for name, seconds in median_seconds(moved, turns).items()})
    yield from _lines(columns, 1e9)


def size(sizes: Sequence[int] = SIZES) -> Iterator[Line]:
    """Bytes of a row, beside its keys."""
    yield "bytes a row, beside its values"
    yield _head(sizes)
    yield from _lines([{name: make(_keys(n)).nbytes / n for name, make in STRUCTURES.items()} for n in sizes], 1)


def nodes(
    sizes: Sequence[int] = SIZES[1::2], keys: Sequence[int] = NODES, probes: int = PROBES[1], turns: int = TURNS
) -> Iterator[Line]:
    """Nanoseconds that a probe takes, by the keys of a node."""
    for stored in sizes:
        trees: dict[str, Make] = {
            f"{tree}, {inside}, {node}": partial(make, node=node, inside=inside)
            for (tree, make), inside, node in product(TREES.items(), INSIDE, keys)
        }
        found = _search(trees, stored, probes, turns)
        yield f"nanoseconds a probe, {probes:,} at once among {stored:,} rows, by the keys of a node"
        yield _head(keys)
        for tree, inside in product(TREES, INSIDE):
            yield _line(f"{tree}, {inside}", [found[f"{tree}, {inside}, {node}"] * 1e9 for node in keys])


def _search(makes: Mapping[str, Make], stored: int, probes: int, turns: int) -> dict[str, float]:
    """Seconds of a probe."""
    keys, wanted = _keys(stored), _keys(stored, probes, SEED + 2)
    searches, asked = {}, {}
    for name, make in makes.items():
        few = min(max(MOST_COMPARED // stored, 1), probes) if make is Scan else probes
        searches[name], asked[name] = partial(make(keys).search, wanted[:few]), few
    return {name: seconds / asked[name] for name, seconds in median_seconds(searches, turns).items()}


def median_seconds(acts: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Time acts in turns, in an order drawn anew; the first turn does not count."""
    names, chance = list(acts), np.random.default_rng(SEED)
    times = np.zeros((turns + 1, len(names)))
    for turn in times:
        for which in chance.permutation(len(names)):
            # Of the processor, since others are at work on the machine, and nothing here waits.
            started = time.process_time()
            acts[names[which]]()
            turn[which] = time.process_time() - started
    return dict(zip(names, np.median(times[1:], axis=0).tolist(), strict=True))


def _move(structure: Structure, keys: Ints) -> None:
    structure.append(keys)
    structure.trim(len(keys))


def _keys(domain: int, count: int | None = None, seed: int = SEED) -> Ints:
    """Draw keys out of as many as there are rows."""
    return np.random.default_rng(seed).integers(0, domain, count or domain)


def _head(columns: Sequence[int]) -> str:
    return " " * 28 + "".join(f"{column:>11,}" for column in columns)


def _line(name: str, cells: Sequence[float]) -> str:
    return f"{name:<28}" + "".join(f"{cell:11.1f}" for cell in cells)


def _lines(columns: Sequence[Mapping[str, float]], times: float) -> Iterator[Line]:
    for name in columns[0]:
        yield _line(name, [column[name] * times for column in columns])


BENCHMARKS: Sequence[Callable[..., Iterator[Any]]] = (search, build, change, size, nodes)
