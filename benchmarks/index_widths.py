"""One bit-address index for all access patterns, or one index for each: by values of keys and width of patterns.

And what the steps of a search cost by themselves, as `operators/index/price.py` and `operators/tuning/cost.py` have it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.index_structures import median_seconds
from benchmarks.measure import SEED, Line
from benchmarks.structures.bit_address import BitAddress, Columns, Combined, Pattern
from benchmarks.structures.by_hash import Offsets
from benchmarks.structures.in_order import Ints

KEYS = 4
ROWS = 10_000
PART = 2_500
"""Rows of a partition in the paper."""

BATCH = 1_000
"""Rows that come in a micro-batch, and tuples that search."""

FEW = 100
"""Tuples that search where most rows are only stored."""

VALUES = (2, 4, 8, 16, 64, 256, 1_000, 10_000)
BITS = (8, 12, 16)
TURNS = 7
MOST_FOUND = 3_000_000
"""Rows that the searches of a micro-batch may find: more are no join, and would be all that counts."""


def widths(values: Sequence[int] = VALUES, bits: Sequence[int] = BITS, turns: int = TURNS) -> Iterator[Line]:
    """Times of one index for each pattern that a bit-address index takes, with what is sorted."""
    yield f"micro-batches of {BATCH:,} rows and as many tuples, {KEYS} keys, window {ROWS:,}"
    yield "the bit-address index in times of one index for each of those patterns, above 1 it is slower; [bytes]"
    wide = {f"{width} of {KEYS} keys": list_patterns(width) for width in range(1, KEYS + 1)}
    every = [pattern for patterns in wide.values() for pattern in patterns]
    for name, patterns, probes in (
        *((name, patterns, BATCH) for name, patterns in wide.items()),
        (f"all {len(every)} patterns", every, BATCH),
        (f"all, {BATCH // FEW} rows a tuple", every, FEW),
    ):
        yield f"{name + ', values:':<30}" + "".join(f"{value:>16,}" for value in values)
        columns = [_compare(value, patterns, probes, bits, turns) for value in values]
        for row, one in enumerate(bits):
            cells = [f"{time:.2f} [{size:.2f}]" if time else "-" for time, size in (column[row] for column in columns)]
            yield f"{f'  {one} bits':<30}" + "".join(f"{cell:>16}" for cell in cells)


def list_patterns(width: int) -> list[Pattern]:
    """List the patterns of so many keys."""
    return list(itertools.combinations(range(KEYS), width))


def _compare(
    values: int, patterns: Sequence[Pattern], probes: int, bits: Sequence[int], turns: int
) -> list[tuple[float, float]]:
    """Compare both at one point: time and bytes of each bit-address index, 0 where too much is found."""
    rng = np.random.default_rng([SEED, values, len(patterns)])
    keys, part, wanted = (rng.integers(0, values, (KEYS, count)) for count in (ROWS, PART, probes))
    found = np.mean([probes * ROWS / values ** len(pattern) for pattern in patterns])
    if found > MOST_FOUND:
        return [(0.0, 0.0)] * len(bits)
    many = Combined(keys, patterns)
    ones = [BitAddress(keys, one) for one in bits]
    acts: dict[str, Callable[[], object]] = {
        "many": partial(_search, many, patterns, wanted),
        "build many": partial(Combined, part, patterns),
    }
    for number, (index, one) in enumerate(zip(ones, bits, strict=True)):
        acts[f"one {number}"] = partial(_search, index, patterns, wanted)
        acts[f"build one {number}"] = partial(BitAddress, part, one)
    took = median_seconds(acts, turns)
    base = took["many"] + took["build many"] * BATCH / PART
    return [
        ((took[f"one {n}"] + took[f"build one {n}"] * BATCH / PART) / base, index.nbytes / many.nbytes)
        for n, index in enumerate(ones)
    ]


def _search(index: Combined | BitAddress, patterns: Sequence[Pattern], wanted: Columns) -> int:
    """Search by all patterns in turn, an equal share of the tuples each."""
    shares = np.array_split(np.arange(wanted.shape[1]), len(patterns))
    return sum(len(index.search(p, wanted[:, own])[0]) for p, own in zip(patterns, shares, strict=True))


def costs(rows: int = PART, probes: int = BATCH, turns: int = 4 * TURNS) -> Iterator[Line]:
    """Nanoseconds of each step: what the prices of key maps are made of."""
    rng = np.random.default_rng(SEED)
    keys, absent = rng.integers(0, rows, rows), rng.integers(rows, 2 * rows, probes)
    found = _seconds_of_candidates(rows, probes, turns)
    wild = BitAddress(rng.integers(0, 16, (2, rows)), 8)
    missing = np.full((2, probes), 99)
    table = Offsets(keys)
    took = median_seconds(
        {
            "sort": partial(Offsets, keys),
            "look": partial(table.search, absent),
            "one": partial(wild.search, (0,), missing),
            "many": partial(wild.search, (1,), missing),
        },
        turns,
    )
    # Of both searches of the bit-address index every value has a sixteenth of the rows, in one range or in sixteen.
    told = {
        "a row is put in order": took["sort"] / rows,
        "a tuple looks into a part": took["look"] / probes,
        "a range more": max(took["many"] - took["one"], 0.0) / probes / 15,
        "a candidate more": found,
    }
    yield f"nanoseconds, {probes:,} tuples at once among {rows:,} rows"
    for name, seconds in told.items():
        yield f"{name:<30}{seconds * 1e9:8.1f}  {seconds / told['a tuple looks into a part']:6.2f} looks"


def _seconds_of_candidates(rows: int, probes: int, turns: int) -> float:
    """Fit the seconds of a candidate, by least squares over keys of 1 to 32 rows."""
    rng, counts, acts = np.random.default_rng(SEED), (1, 2, 4, 8, 16, 32), {}
    for count in counts:
        keys: Ints = rng.integers(0, max(rows // count, 1), rows)
        acts[str(count)] = partial(Offsets(keys).search, keys[rng.integers(0, rows, probes)])
    took = median_seconds(acts, turns)
    return float(np.polyfit(np.array(counts) * probes, list(took.values()), 1)[0])


BENCHMARKS: Sequence[Callable[..., Iterator[Any]]] = (widths,)
COSTS: Sequence[Callable[..., Iterator[Any]]] = (costs,)
