"""Equi-join: many streams with one key, as in section 6.1 of the Query Mesh paper.

Tuples arrive as a Poisson process, half a second apart on average. Each stream has partitions (table 3 of the paper has
three) whose tuples meet unlike numbers of partners in the other streams, so that each partition has a best order of
probes of its own.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_whole
from eddy.jobs.experiments.workloads.selectivities import Selectivities
from eddy.jobs.experiments.workloads.selectivities import selectivities as table_of
from eddy.tuples.arrays import Floats, Integers

JOIN_ROWS = 30_000
"""Of all streams together."""

STREAMS = 10
ARRIVAL_US = 500_000
"""The mean time between two tuples of a stream (mu in table 3)."""

WINDOW_SECONDS = 60
APART = "5 minutes"
"""Streams may be so far from each other after the same number of tuples: each has arrivals of its own."""

IN_WINDOW = WINDOW_SECONDS * 1_000_000 / ARRIVAL_US
"""Tuples of a stream in a window, on average."""

PARTITIONS = {"table": "partitions", "low": 0.3, "high": 1.0}
"""Partners of a tuple on average: few in every third stream, one in the others, so that there are results."""

FIRST = np.datetime64("2026-01-01T00:00:00", "us")


def equi_join(
    *, streams: int = STREAMS, selectivities: object = None, rows: int = JOIN_ROWS, seed: int = 0
) -> Workload:
    """Make streams that are all joined on one key.

    `selectivities` is a table [partition][stream] or a name with parameters: how many partners a tuple of the partition
    meets in the window of the stream, on average. None is the table of three partitions.

    >>> equi_join(streams=3, rows=300).query.inputs
    ('s0', 's1', 's2')
    """
    check_whole(streams, "streams", 3, where="equi_join")
    check_whole(rows, "rows", where="equi_join")
    table = table_of(PARTITIONS if selectivities is None else selectivities, streams, seed)
    rng = np.random.default_rng([seed, 8])
    shares, keys = _spread(table)
    names = [f"s{number}" for number in range(streams)]
    each = max(rows // streams, 1)
    numbers = rng.permutation(int(keys.sum()))
    data = {name: _stream(rng, each, shares[:, place], keys, numbers) for place, name in enumerate(names)}
    query = eddy.Query(
        name="equi_join",
        streams=[
            eddy.Stream(name, time="at", window=eddy.Range(f"{WINDOW_SECONDS} seconds"), delay=APART) for name in names
        ],
        joins=[f"{one}.key = {other}.key" for one, other in itertools.combinations(names, 2)],
        select=[f"{name}.id AS {name}_id" for name in names],
    )
    facts = {"streams": streams, "operators": streams - 1, "partitions": table.classes}
    return Workload(name="equi_join", query=query, data=data, facts=facts)


def _spread(table: Selectivities) -> tuple[Floats, Integers]:
    """Find the share of each partition in each stream, and its number of keys.

    A tuple meets `IN_WINDOW` x share / keys partners on average. The shares of a stream add up to one, so a partition
    gets as many keys as make its largest share of a stream fair, and the shares follow the table.
    """
    values = table.values
    if not (values.sum(axis=0) > 0).all():
        raise QueryError("equi_join: expected each stream to have partners for some partition")
    shares = values / values.sum(axis=0)
    wanted = IN_WINDOW * (shares.sum(axis=1) / np.maximum(values.sum(axis=1), 1e-9))
    return shares, np.maximum(np.round(wanted), 1).astype(np.int64)


def _stream(rng: np.random.Generator, rows: int, shares: Floats, keys: Integers, numbers: Integers) -> pa.Table:
    """Draw a stream: six attributes, as in table 1 of the paper."""
    at = FIRST + np.cumsum(rng.exponential(ARRIVAL_US, rows)).astype(np.int64).astype("timedelta64[us]")
    part = rng.choice(len(shares), rows, p=shares)
    ends = keys.cumsum()
    drawn = numbers[(ends - keys)[part] + (rng.random(rows) * keys[part]).astype(np.int64)]
    columns: dict[str, Any] = {"at": pa.array(at, pa.timestamp("us", "UTC")), "id": np.arange(rows), "key": drawn}
    columns |= {"kind": part, "amount": rng.integers(0, 1_000_000, rows), "size": rng.poisson(1.0, rows)}
    return pa.table(columns)
