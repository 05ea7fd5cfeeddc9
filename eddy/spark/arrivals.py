"""What has come for a cell in a micro-batch, out of its parcels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from eddy.arrow import no_rows
from eddy.masks import Mask
from eddy.spark.parcels import one, rows_of

Part = tuple[pa.RecordBatch, Mask]
"""Rows, and which of them are copies."""


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """The rows of each stream in one batch, and what is to be known of them.

    `copies` says which are copies of rows that are counted in another cell; streams without any are not in it.
    """

    rows: Mapping[str, pa.RecordBatch]
    copies: Mapping[str, Mask]


def arrived(frames: Iterable[pd.DataFrame], schemas: Mapping[str, pa.Schema]) -> Arrivals:
    """Read the frames that Spark hands over, which bring parcels in any order."""
    held: dict[str, list[Part]] = {name: [] for name in schemas}
    for name, payload in _in_order(frames):
        held[name].append(_told_apart(rows_of(payload), schemas[name]))
    return Arrivals(
        rows={n: one([rows for rows, _ in parts], n) if parts else no_rows(schemas[n]) for n, parts in held.items()},
        copies={
            n: np.concatenate([c for _, c in parts]) for n, parts in held.items() if any(c.any() for _, c in parts)
        },
    )


def _in_order(frames: Iterable[pd.DataFrame]) -> list[tuple[str, bytes]]:
    """The parcels in an order that a retried task finds again."""
    found = [row for f in frames for row in zip(f["stream"], f["time"], f["payload"], strict=True)]
    return [(name, payload) for name, _, payload in sorted(found)]


def _told_apart(rows: pa.RecordBatch, schema: pa.Schema) -> Part:
    """The rows of a parcel, and which of them are copies: its last column, if it has one more than the stream."""
    if rows.num_columns == len(schema):
        return rows, np.zeros(rows.num_rows, np.bool_)
    return rows.select(schema.names), rows.column(len(schema)).to_numpy(zero_copy_only=False)
