"""Chain: streams of which each is joined with the next, as R(A) S(A, B) T(B) in section 5.8 of Babu's thesis.

Rows of the last stream come with keys of which the stream before it has several rows each, and only some of these meet
a row of the first. What a key finds in both is found again for every row that has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_whole
from eddy.tuples.arrays import Floats, Integers

NAMES = "rstuvwx"
CHAIN_ROWS = 60_000
"""Of all streams together."""

WINDOW = 10_000
"""Rows of all streams together that a window holds."""

STRANGE = 1 << 40
"""From here on are the keys that meet nobody."""


def chain(
    *,
    streams: int = 3,
    multiplicity: int = 5,
    meets: float = 1.0,
    rates: Sequence[float] | str | None = None,
    window: int = WINDOW,
    rows: int = CHAIN_ROWS,
    seed: int = 0,
) -> Workload:
    """Make streams of which each is joined with the next.

    The second stream has `multiplicity` rows in a window for each key of the third, and a share `meets` of its rows
    meets a row of the first. `rates` are the rows of each stream, in any unit: "1 1 5"; all alike, when left out.

    >>> chain(rows=600, window=100).query.inputs
    ('r', 's', 't')
    """
    _check(streams, meets, multiplicity=multiplicity, window=window, rows=rows)
    shares = _read_rates(rates, streams)
    counts, held = (np.maximum((shares * size).astype(np.int64), 1).tolist() for size in (rows, window))
    # Each key of a link has one row in the window of the stream before it; that of the third stream has several.
    domains = [max(held[place] // (multiplicity if place == 1 else 1), 1) for place in range(streams - 1)]
    rng, names = np.random.default_rng([seed, 22]), NAMES[:streams]
    data = {}
    for place, (name, count) in enumerate(zip(names, counts, strict=True)):
        columns = {"ts": np.sort(rng.integers(0, rows, count)), "id": np.arange(count)}
        data[name] = pa.table({**columns, **_draw_keys(rng, place, count, domains, meets)})
    facts = {"streams": streams, "multiplicity": multiplicity, "meets": meets}
    return Workload(name="chain", query=_query(names, window), data=data, facts=facts)


def _check(streams: object, meets: object, **sizes: object) -> None:
    check_whole(streams, "streams", 3, where="chain", most=len(NAMES))
    for name, size in sizes.items():
        check_whole(size, name, where="chain")
    if isinstance(meets, bool) or not isinstance(meets, int | float) or not 0 <= meets <= 1:
        raise QueryError(f"chain: meets: expected a share from 0 to 1, got {meets!r}")


def _query(names: str, window: int) -> eddy.Query:
    return eddy.Query(
        name="chain",
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(window), delay=0) for name in names],
        joins=[f"{one}.k{n} = {other}.k{n}" for n, (one, other) in enumerate(pairwise(names))],
        select=[f"{name}.id AS {name}" for name in names],
    )


def _draw_keys(
    rng: np.random.Generator, place: int, rows: int, domains: Sequence[int], meets: float
) -> dict[str, Integers]:
    """Draw the keys that a stream shares with the one before it, and with the one behind it."""
    keys = {}
    for link in (place - 1, place):
        if 0 <= link < len(domains):
            keys[f"k{link}"] = rng.integers(0, domains[link], rows)
    if place == 1:
        strange = rng.random(rows) >= meets
        keys["k0"][strange] = rng.integers(STRANGE, 2 * STRANGE, int(strange.sum()))
    return keys


def _read_rates(rates: Sequence[float] | str | None, streams: int) -> Floats:
    """Read the rows of each stream, as shares of all."""
    # In a file of experiments a list would be several workloads, so there they are written as "1 1 5".
    parts = [1.0] * streams if rates is None else rates.split() if isinstance(rates, str) else list(rates)
    try:
        read = np.array([float(part) for part in parts])
    except (TypeError, ValueError):
        read = np.zeros(0)
    if len(read) != streams or not (read > 0).all() or not np.isfinite(read).all():
        raise QueryError(f'chain: rates: expected {streams} numbers above 0, as "1 1 5", got {rates!r}')
    shares: Floats = read / read.sum()
    return shares
