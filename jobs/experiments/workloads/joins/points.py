"""Points: four streams that share one key, at the eight sample points of table 5.2 in Babu's thesis.

The thesis gives how fast the streams are, and which share of all pairs of rows of two streams have the same key. What
it does not say is a parameter here: how much of that is by keys that all streams have, so that there are results, and
how many rows a window holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import check_choice, check_whole
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Integers

NAMES = "rstu"

PAIRS = tuple("".join(pair) for pair in combinations(NAMES, 2))

RATES: Mapping[str, tuple[int, ...]] = {
    "d1": (10, 1, 1, 1),
    "d2": (8, 1, 1, 8),
    "d3": (10, 15, 1, 5),
    "d4": (1, 1, 1, 1),
    "d5": (4, 1, 1, 4),
    "d6": (1, 1, 1, 1),
    "d7": (1, 1, 1, 1),
    "d8": (1, 1, 1, 1),
}
"""How fast R, S, T and U are, over T."""

SELECTIVITIES: Mapping[str, tuple[float, ...]] = {
    "d1": (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005),
    "d2": (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005),
    "d3": (0.003, 0.005, 0.007, 0.0045, 0.006, 0.008),
    "d4": (0.003, 0.004, 0.0067, 0.002, 0.0023, 0.0027),
    "d5": (0.005, 0.007, 0.005, 0.006, 0.005, 0.002),
    "d6": (0.005, 0.0033, 0.0025, 0.0067, 0.005, 0.0075),
    "d7": (0, 0, 0, 0, 0, 0),
    "d8": (0.001, 0.001, 0.001, 0.001, 0.001, 0.001),
}
"""The share of pairs that join, of R and S, R and T, R and U, S and T, S and U, T and U."""

POINTS_ROWS = 40_000
"""Of all streams together."""

WINDOW = 1_000
"""Rows of each stream that a window holds: subresults of d8 take some 25 KB then, as they do in the thesis."""

MOST_SHARE = 0.25
"""The largest share of a stream's rows whose key one group of streams has: each is in four groups."""

STRANGE = 1 << 40
"""From here on are the keys that meet nobody."""


def points(
    *, point: str, common: float = 0.5, window: int = WINDOW, rows: int = POINTS_ROWS, seed: int = 0
) -> Workload:
    """Make four streams with one key, at a sample point: "d1" to "d8".

    Of the smallest selectivity the share `common` is by keys that all streams have; what is left of each pair's is by
    keys that only these two have. A window holds `window` rows of each stream.

    >>> points(point="d1", rows=1_300).data["r"].num_rows
    1000
    """
    check_choice(point, RATES, "point", where="points")
    for name, size in {"window": window, "rows": rows}.items():
        check_whole(size, name, where="points")
    check_number(common, "common", where="points", most=1)
    rates, rng = RATES[point], np.random.default_rng([seed, 52])
    groups = _list_groups(dict(zip(PAIRS, SELECTIVITIES[point], strict=True)), common)
    data = {}
    for name, rate in zip(NAMES, rates, strict=True):
        count = max(rows * rate // sum(rates), 1)
        times = np.sort(rng.integers(0, rows, count))
        data[name] = pa.table({"ts": times, "id": np.arange(count), "k": _draw_keys(rng, name, count, groups)})
    query = eddy.Query(
        name="points",
        streams=[eddy.Stream(name, time="ts", window=eddy.Rows(window), delay=0) for name in NAMES],
        joins=[f"{one}.k = {other}.k" for one, other in pairwise(NAMES)],
        select=[f"{name}.id AS {name}" for name in NAMES],
    )
    return Workload(name="points", query=query, data=data, facts={"point": point}, paced="ts")


class Group(NamedTuple):
    """Streams that have keys of their own: how many, and the share of the rows of each that have one."""

    streams: str
    keys: int
    share: float


def _list_groups(selectivities: Mapping[str, float], common: float) -> list[Group]:
    """List the groups of streams that have keys for themselves: all four, and each pair."""
    shared = common * min(selectivities.values())
    wanted = {NAMES: shared} | {pair: selectivity - shared for pair, selectivity in selectivities.items()}
    return [_make_group(streams, selectivity) for streams, selectivity in wanted.items() if selectivity > 0]


def _make_group(streams: str, selectivity: float) -> Group:
    # Two streams that each have the share m of their rows in v keys agree in m * m / v of all pairs of rows.
    keys = math.floor(MOST_SHARE**2 / selectivity)
    return Group(streams, keys, math.sqrt(selectivity * keys))


def _draw_keys(rng: np.random.Generator, name: str, rows: int, groups: Sequence[Group]) -> Integers:
    """Draw the keys of a stream's rows; those of no group meet nobody."""
    keys, first = rng.integers(STRANGE, 2 * STRANGE, rows), 0
    # Each group that the stream is in has the next share of its rows.
    drawn, edge = rng.random(rows), 0.0
    for group in groups:
        if name in group.streams:
            chosen = (drawn >= edge) & (drawn < edge + group.share)
            keys[chosen] = rng.integers(first, first + group.keys, int(chosen.sum()))
            edge += group.share
        first += group.keys
    return keys
