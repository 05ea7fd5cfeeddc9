"""Kernels of both kinds, by themselves: a thousand probes, and the codes of parts of several sizes.

The seconds of a call, warm, in times of numpy's. What joins gain by them is in `joins` and `peer_joins`, run once with
`EDDY_KERNELS=numpy` and once without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.measure import SEED, Line, seconds_of
from eddy.kernels.arguments import (
    Chain,
    ChainKernels,
    CodeTable,
    HashBits,
    HeldPart,
    Kernels,
    Lookup,
    Lookups,
    Narrowing,
    Places,
    Rising,
    Screen,
    Sieve,
    Term,
    Walk,
)
from eddy.kernels.choice import make_choice
from eddy.kernels.plain import PLAIN
from eddy.tuples.arrays import Hashes, Integers
from eddy.tuples.request import TimeBounds
from eddy.tuples.runs import Lots, Ranges
from eddy.tuples.splitmix import mix

PROBES = 1_000
ROWS = (1_000, 10_000, 100_000, 500_000)
SPARE = 1
"""Bits of codes beyond those that number rows."""

FOUND = 5
"""Combinations for each key of a cache."""

CALLS = 20
"""Calls that are timed together."""

Work = Callable[[], object]


def alone(sizes: tuple[int, ...] = ROWS, calls: int = CALLS) -> Iterator[Line]:
    """Microseconds of a call."""
    kinds = {kernels.name: kernels for kernels in (PLAIN, make_choice("").kernels)}
    yield f"microseconds a call, {PROBES:,} probes in so many rows with as many keys; seed {SEED}"
    yield f"{'':<28}" + "".join(f"{rows:>12,}" for rows in sizes)
    found: dict[str, list[float]] = {}
    for rows in sizes:
        for kind, kernels in kinds.items():
            for name, work in _list_work(kernels, rows).items():
                found.setdefault(f"{name}, {kind}", []).append(_time(work, calls) * 1e6)
    for name, costs in sorted(found.items()):
        yield f"{name:<28}" + "".join(f"{cost:12.1f}" for cost in costs)


def _time(work: Work, calls: int) -> float:
    return seconds_of(lambda: [work() for _ in range(calls)]) / calls


def _list_work(kernels: Kernels, rows: int) -> Mapping[str, Work]:
    """What a probe of a join on one key does, in a window of so many rows."""
    rng = np.random.default_rng(SEED)
    keys, wanted = (rng.integers(0, rows, size) for size in (rows, PROBES))
    bits = (rows - 1).bit_length() + SPARE
    drop = 64 - bits
    codes = (mix([keys]) >> np.uint64(drop)).astype(np.uint32)
    order, begins = (part.astype(np.min_scalar_type(rows)) for part in PLAIN.sort_codes(codes, bits))
    times, lots = np.arange(rows), Lots()
    table = CodeTable(begins, order, [HashBits((0,), drop, 0)], 0)
    lookups = Lookups([Lookup(table, 0, lots.add(order, 0, rows), Rising(times, 0, rows))])
    before = np.full(PROBES, rows)
    within = Narrowing(TimeBounds(before // 10, None), 6)
    places = Places(np.zeros((PROBES, 1), np.int64), np.zeros((PROBES, 1), np.int64), None)
    hashes = mix([wanted])
    asked = Screen([Term("=", keys, None, wanted, None)], before, None, times, within.bounds, None, rows)
    look_up: Work = lambda: kernels.look_up(lookups, lambda _: hashes, within, places)  # noqa: E731
    look_up()
    ranges: Any = Ranges(places.starts, places.counts, lots)
    return {
        **({} if kernels.chains is None else _list_chain_work(kernels.chains, keys, hashes, asked)),
        "sort_codes": lambda: kernels.sort_codes(codes, bits),
        "look_up": look_up,
        "screen": lambda: kernels.screen(ranges, asked, 0, 1 << 18),
        "propose": _propose(kernels, rows, before),
    }


def _list_chain_work(kernels: ChainKernels, keys: Integers, hashes: Hashes, asked: Screen) -> Mapping[str, Work]:
    """What chains of the same rows do."""
    rows = len(keys)
    tags = (mix([keys]) >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    heads = np.zeros(1 << (rows - 1).bit_length(), np.uint32)
    chain = Chain(heads, np.zeros(rows, np.uint32), 1, rows.bit_length() + 1)
    kernels.link(chain, tags, 0)
    walk = Walk(chain, hashes, True)

    def relink(count: int) -> None:
        kernels.unlink(chain, tags[rows - count :], rows - count)
        kernels.link(chain, tags[rows - count :], rows - count)

    return {
        "unlink, link all rows": lambda: relink(rows),
        "unlink, link the last 1,000": lambda: relink(PROBES),
        "walk": lambda: kernels.walk(walk, asked, 0, 1 << 18, False),
    }


def _propose(kernels: Kernels, rows: int, before: Integers) -> Work:
    """What a look-up in a cache does, that of five combinations for each key."""
    numbers, lots = np.arange(rows), Lots()
    lots.add(None, 0, rows)
    starts = np.arange(PROBES)[:, None] % (rows - FOUND)
    ranges = Ranges(starts, np.full((PROBES, 1), FOUND), lots)
    held = HeldPart([numbers, numbers], numbers, numbers)
    asked = Sieve([held], [0, 0], [rows, rows], [before, None], [None, None], before // rows, before)
    return lambda: kernels.propose(ranges, asked, 0, 1 << 18)


BENCHMARKS = (alone,)
