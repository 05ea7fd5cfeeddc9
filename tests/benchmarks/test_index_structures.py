"""All structures find the same rows, whatever comes and goes, and what they cost is told."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from benchmarks import index_structures, index_widths
from benchmarks.index_structures import INSIDE, STRUCTURES, TREES, Make
from benchmarks.index_widths import KEYS
from benchmarks.structures.bit_address import BitAddress, Combined
from benchmarks.structures.by_hash import code, sort_codes
from benchmarks.structures.in_order import Ints


def every() -> Iterator[tuple[str, Make]]:
    yield from STRUCTURES.items()
    for tree, make in TREES.items():
        for inside in INSIDE:
            for node in (2, 7, 64):
                yield f"{tree} {inside} {node}", partial(make, node=node, inside=inside)


EVERY = dict(every())


def pairs(stored: Ints, wanted: Ints, gone: int) -> list[tuple[int, int]]:
    return sorted((i, int(row) + gone) for i, key in enumerate(wanted) for row in np.flatnonzero(stored == key))


@pytest.mark.parametrize(("rows", "domain"), [(1, 1), (2, 5), (17, 17), (150, 7), (300, 250), (511, 10**12)])
def test_every_structure_finds_all_rows_with_a_key_and_no_other(rows: int, domain: int) -> None:
    for make in EVERY.values():
        check(make, rows, domain)


def check(make: Make, rows: int, domain: int) -> None:
    """Rows come and go, and what is found is what comparing all of them finds."""
    rng = np.random.default_rng([rows, 1])
    stored, gone = rng.integers(0, domain, rows), 0
    wanted = np.concatenate((stored[:20], rng.integers(0, domain, 20)))
    structure = make(stored)
    for _ in range(3):
        at, found = structure.search(wanted)
        assert sorted(zip(at.tolist(), found.tolist(), strict=True)) == pairs(stored, wanted, gone)
        assert structure.nbytes >= 0
        # More come than go, then more go than come, so that tables grow and shrink.
        for count, going in ((3 * rows, rows // 3), (5, 2 * rows)):
            new = rng.integers(0, domain, count)
            structure.append(new)
            structure.trim(going)
            stored, gone = np.concatenate((stored, new))[going:], gone + going


@pytest.mark.parametrize("bits", [1, 12, 16, 17, 31, 32])
def test_two_passes_sort_as_one(bits: int) -> None:
    codes = code(np.arange(3_000) % 700, bits)
    assert sort_codes(codes, bits).tolist() == np.argsort(codes, kind="stable").tolist()


def test_every_cost_is_told_of_every_structure() -> None:
    few = {"sizes": (100, 200)}
    lines = [str(line) for line in index_structures.search(**few, probes=(50,), turns=1)]
    assert [line[:28].strip() for line in lines[2:]] == list(STRUCTURES)
    for told in (index_structures.build(**few, turns=1), index_structures.change(**few, turns=1, batch=10)):
        assert len(list(told)) == 2 + len(STRUCTURES)
    by_name = {line[:28].strip(): line[28:].split() for line in map(str, index_structures.size(**few))}
    assert by_name["scan"] == ["0.0", "0.0"]
    assert float(by_name["T-tree"][0]) > float(by_name["offsets by bits"][0])
    assert len(list(index_structures.nodes(sizes=(100,), keys=(4, 8), probes=20, turns=1))) == 2 + 2 * len(TREES)


@pytest.mark.parametrize(("keys", "values"), [(1, 5), (3, 2), (3, 9), (4, 300)])
def test_a_bit_address_index_finds_what_one_for_each_pattern_finds(keys: int, values: int) -> None:
    rng = np.random.default_rng([keys, values])
    # Values that are not stored are searched for too, below, among and above those that are.
    stored, wanted = 2 * rng.integers(1, values + 1, (keys, 400)), rng.integers(0, 2 * values + 4, (keys, 60))
    patterns = [p for width in range(1, keys + 1) for p in itertools.combinations(range(keys), width)]
    many = Combined(stored, patterns)
    for bits in (4, 8, 12, 16):
        one = BitAddress(stored, bits)
        for pattern in patterns:
            given = list(pattern)
            expected = sorted(
                (i, row)
                for i in range(wanted.shape[1])
                for row in np.flatnonzero((stored[given] == wanted[given, i][:, None]).all(axis=0))
            )
            for at, rows in (one.search(pattern, wanted), many.search(pattern, wanted)):
                assert sorted(zip(at.tolist(), rows.tolist(), strict=True)) == expected


def test_wildcards_behind_all_keys_are_one_range() -> None:
    index = BitAddress(np.random.default_rng(0).integers(0, 1_000, (3, 100)), 6)
    assert [index.ranges(pattern) for pattern in ((0,), (0, 1), (1,), (2,), (0, 2))] == [1, 1, 4, 16, 4]


def test_widths_and_costs_are_told() -> None:
    assert len(list(index_widths.widths(values=(4, 500), bits=(8,), turns=1))) == 2 + 2 * (KEYS + 2)
    costs = [str(line) for line in index_widths.costs(rows=200, probes=50, turns=1)]
    assert [line[:30].strip() for line in costs[1:]] == [
        "a row is put in order",
        "a tuple looks into a part",
        "a range more",
        "a candidate more",
    ]
