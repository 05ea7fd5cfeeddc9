"""Lookups: a stream joined to tables in which a row finds nothing, or several rows.

A star join as in section 5.2.2 of Babu's thesis, with the stream as its root.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_whole
from eddy.jobs.experiments.workloads.ordering.exact import best_on_data, cost_by_row, name_order
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Floats, Integers

LOOKUP_ROWS = 30_000

KEYS = 1_000
"""Keys of a table: with twenty rows for each of them it is as large as a stream."""

WINDOW = 1_000
"""The stream's rows come in order and meet tables only, so any window will do; with none they are kept for ever."""


def lookups(
    *,
    tables: int = 3,
    match: float | Sequence[float] = 0.1,
    fan_out: int | Sequence[int] = 20,
    keys: int = KEYS,
    rows: int = LOOKUP_ROWS,
    seed: int = 0,
) -> Workload:
    """Make a stream whose rows look a key up in each of some tables.

    The share `match` of the rows finds a key, and with it `fan_out` rows: one number for all tables, or one for each.
    Whether a key is found in one table says nothing about the others.

    >>> made = lookups(tables=2, match=[0.2, 0.9], fan_out=3, keys=10, rows=100)
    >>> made.data["d1"].num_rows, made.best
    (30, ['probe_d1', 'probe_d2'])
    """
    for name, number in (("tables", tables), ("keys", keys), ("rows", rows)):
        check_whole(number, name, where="lookups")
    shares, made = _check(tables, match, fan_out)
    rng = np.random.default_rng([seed, 12])
    found = rng.random((rows, tables)) < shares
    names, numbers = [f"d{i + 1}" for i in range(tables)], [rng.permutation(2 * keys) for _ in range(tables)]
    columns = {f"fk{i + 1}": _draw(rng, known, found[:, i]) for i, known in enumerate(numbers)}
    stream = pa.table({"ts": np.arange(rows), "id": np.arange(rows), **columns})
    probes, costs = [f"probe_{name}" for name in names], np.ones(tables)
    best = best_on_data(found, costs, made)
    return Workload(
        name="lookups",
        query=_query(names),
        data={"s": stream} | {name: _table(rng, *one) for name, *one in zip(names, numbers, made, strict=True)},
        best=name_order(probes, best),
        prices=dict.fromkeys(probes, 1.0),
        course=None if best is None else cost_by_row(found, best, costs, made),
        facts={"operators": tables, "match": _tell(shares), "fan_out": _tell(made)},
    )


def _check(tables: int, match: object, fan_out: object) -> tuple[Floats, Integers]:
    """Read the share of rows that find a key in each table, and the rows that they find."""
    shares, made = _one_each("match", match, tables), _one_each("fan_out", fan_out, tables)
    for share in shares.tolist():
        check_number(share, "match", where="lookups", most=1)
    if not ((made >= 1) & (made % 1 == 0)).all():
        raise QueryError(f"lookups: expected fan_out to be a whole number of 1 or more, got {fan_out!r}")
    return shares, made.astype(np.int64)


def _one_each(name: str, values: object, tables: int) -> Floats:
    """Read one number for each table, or one for all.

    In an experiment, where a list stands for several workloads, the list is in a list.
    """
    try:
        numbers = np.ravel(np.array(values, np.float64))
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if len(numbers) not in (1, tables):
        raise QueryError(f"lookups: expected one {name} for all of {tables} tables or one for each, got {values!r}")
    return np.broadcast_to(numbers, tables)


def _tell(numbers: Floats | Integers) -> float | str:
    """Write one number where all are alike."""
    each = numbers.tolist()
    return each[0] if len(set(each)) == 1 else ", ".join(map(str, each))


def _draw(rng: np.random.Generator, numbers: Integers, found: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Integers:
    """Draw keys that a table has, or has not."""
    keys = len(numbers) // 2
    return numbers[np.where(found, 0, keys) + rng.integers(keys, size=len(found))]


def _table(rng: np.random.Generator, numbers: Integers, fan_out: int) -> pa.Table:
    """Make a table of half of the numbers, with so many rows of each, in no order."""
    drawn = rng.permutation(np.repeat(numbers[: len(numbers) // 2], fan_out))
    return pa.table({"pk": drawn, "item": np.arange(len(drawn))})


def _query(names: list[str]) -> eddy.Query:
    return eddy.Query(
        name="lookups",
        streams=[eddy.Stream("s", time="ts", window=eddy.Range(WINDOW), delay=0)],
        tables=[eddy.Table(name) for name in names],
        joins=[f"s.fk{name[1:]} = {name}.pk" for name in names],
        select=["s.id", *(f"{name}.item AS {name}_item" for name in names)],
    )
