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
from eddy.errors import QueryError, check_flag, check_whole
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Floats, Integers

NAMES = "rstuvwx"
CHAIN_ROWS = 60_000
"""Of all streams together."""

WINDOW = 10_000
"""Rows of all streams together that a window holds."""

MOST_BURST = 100
"""Times that a stream may be faster than it was."""

STRANGE = 1 << 40
"""From here on are the keys that meet nobody."""


def chain(  # noqa: PLR0913  what an experiment may vary
    *,
    streams: int = 3,
    multiplicity: int = 5,
    meets: float = 1.0,
    rates: Sequence[float] | str | None = None,
    common: bool = False,
    scan: bool = False,
    burst: float = 1,
    window: int = WINDOW,
    by_rows: bool = False,
    rows: int = CHAIN_ROWS,
    seed: int = 0,
) -> Workload:
    """Make streams of which each is joined with the next.

    The second stream has `multiplicity` rows in a window for each key of the third, and a share `meets` of its rows
    meets a row of the first. `rates` are the rows of each stream, in any unit: "1 1 5"; all alike, when left out. With
    `common` all streams have one key, of which the slowest has one row in a window. With `scan` no index answers what
    joins the first two. The first stream is `burst` times as fast from the middle on. Windows are of time, or
    `by_rows` of as many rows of each stream.

    >>> chain(rows=600, window=100).query.inputs
    ('r', 's', 't')
    """
    check_whole(streams, "streams", 3, where="chain", most=len(NAMES))
    check_number(meets, "meets", where="chain", most=1)
    check_number(burst, "burst", 1, where="chain", most=MOST_BURST)
    _check(multiplicity=multiplicity, window=window, rows=rows)
    _check_flags(common=common, scan=scan, by_rows=by_rows)
    shares, names = _read_rates(rates, streams), NAMES[:streams]
    counts, held = (np.maximum((shares * size).astype(np.int64), 1).tolist() for size in (rows, window))
    windows = [eddy.Rows(size) for size in held] if by_rows else [eddy.Range(window)] * streams
    return Workload(
        name="chain",
        query=_query(names, windows, _write_joins(names, common=common, scan=scan)),
        data=_make_data(names, counts, _list_domains(held, multiplicity, common=common), meets, burst, rows, seed),
        facts={"streams": streams, "multiplicity": multiplicity, "meets": meets},
        paced="ts" if rates or burst > 1 else "",
    )


def _list_domains(held: Sequence[int], multiplicity: int, *, common: bool) -> list[int]:
    """List how many keys each link has, or the one that all have in common."""
    if common:
        return [min(held)]
    # Each key of a link has one row in the window of the stream before it; that of the third stream has several.
    return [max(size // (multiplicity if place == 1 else 1), 1) for place, size in enumerate(held[:-1])]


def _make_data(
    names: str, counts: Sequence[int], domains: Sequence[int], meets: float, burst: float, span: int, seed: int
) -> dict[str, pa.Table]:
    rng = np.random.default_rng([seed, 22])
    data = {}
    for place, (name, count) in enumerate(zip(names, counts, strict=True)):
        times = _draw_times(rng, count, span, 1 if place else burst)
        keys = (
            _draw_keys(rng, place, len(times), domains, meets)
            if len(domains) > 1
            else {"k": rng.integers(0, domains[0], len(times))}
        )
        data[name] = pa.table({"ts": times, "id": np.arange(len(times)), **keys})
    return data


def _check(**wholes: object) -> None:
    for name, number in wholes.items():
        check_whole(number, name, where="chain")


def _check_flags(**flags: object) -> None:
    for name, flag in flags.items():
        check_flag(flag, name, where="chain")


def _query(names: str, windows: Sequence[eddy.Range | eddy.Rows], joins: Sequence[str]) -> eddy.Query:
    return eddy.Query(
        name="chain",
        streams=[eddy.Stream(n, time="ts", window=window, delay=0) for n, window in zip(names, windows, strict=True)],
        joins=joins,
        select=[f"{name}.id AS {name}" for name in names],
    )


def _write_joins(names: str, *, common: bool, scan: bool) -> list[str]:
    """Write what joins each stream with the next."""
    keys = ["k" if common else f"k{number}" for number in range(len(names) - 1)]
    joins = [f"{one}.{key} = {other}.{key}" for key, (one, other) in zip(keys, pairwise(names), strict=True)]
    if scan:
        # The same as an equality, but nothing that an index could be asked.
        joins[0] = f"{names[0]}.{keys[0]} - {names[1]}.{keys[0]} = 0"
    return joins


def _draw_times(rng: np.random.Generator, count: int, span: int, burst: float) -> Integers:
    """Draw when rows come: evenly, and more often from the middle on if there is a burst."""
    more = rng.integers(span // 2, span, int(count * (burst - 1) / 2) if span > 1 else 0)
    return np.sort(np.concatenate([rng.integers(0, span, count), more]))


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
