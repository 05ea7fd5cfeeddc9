"""Digests of answers and of routes: equal for equal rows in any order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eddy.errors import EngineError
from eddy.observe.report import Report
from eddy.tuples.arrays import Hashes
from eddy.tuples.splitmix import GOLDEN, splitmix64

NULL = GOLDEN
"""Stands for a null: any number that no value is likely to have."""


def digest(answer: pa.Table) -> str:
    """The number of rows, and the sum of a 64-bit hash of each.

    A sum does not depend on the order of the rows, and other than an exclusive or it tells one row from three.

    >>> digest(pa.table({"a": [1, None]})) == digest(pa.table({"a": [None, 1]}))
    True
    >>> digest(pa.table({"a": [1, None]})) == digest(pa.table({"a": [1, 1]}))
    False
    """
    total = int(_rows(answer).sum(dtype=np.uint64))
    return f"{answer.num_rows} rows {total:016x}"


def digest_in_order(table: pa.Table) -> str:
    """Give the same for rows whose order matters."""
    places = np.arange(table.num_rows, dtype=np.uint64)
    total = int(splitmix64(_rows(table) + places).sum(dtype=np.uint64))
    return f"{table.num_rows} rows {total:016x}"


def agree(first: tuple[str, str], second: tuple[str, str], where: str) -> None:
    """Check that two policies gave the same answer.

    Each comes with the digest of its answer.
    """
    if first[1] != second[1]:
        rows = [f"{int(answer.partition(' ')[0]):,}" for _, answer in (first, second)]
        raise EngineError(
            f'{where}: the policies "{first[0]}" and "{second[0]}" give different answers, {rows[0]} and {rows[1]} '
            "rows; routing must never change the answer, so one of them is wrong, or a filter's function does not "
            "judge each row by itself"
        )


def digest_routes(report: Report) -> str:
    """Give a digest of how many rows took which route in which micro-batch."""
    frame = report.routes(by_batch=True).astype(str)
    return digest(pa.Table.from_pandas(frame, preserve_index=False))


def go_same_ways(first: tuple[str, str], second: tuple[str, str], where: str) -> None:
    """Check that two policies that differ in their indexes took the same routes.

    Each comes with the digest of its routes.
    """
    if first[1] != second[1]:
        raise EngineError(
            f'{where}: "{first[0]}" and "{second[0]}" differ in their index only, and have taken other routes; how '
            "rows are found must change no route, unless the policy goes by the clock, so one of them is wrong"
        )


def _rows(answer: pa.Table) -> Hashes:
    """Give a hash of each row."""
    rows = np.zeros(answer.num_rows, np.uint64)
    for name in sorted(answer.schema.names):
        rows = splitmix64(rows * np.uint64(3) + _column(answer.column(name).combine_chunks()))
    return rows


def _column(values: pa.Array) -> Hashes:
    """Hash each value of a column.

    Nulls are left out before, so that a null turns no integer into a float.
    """
    hashes = np.full(len(values), NULL, np.uint64)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    there = values.drop_null()
    if pa.types.is_nested(there.type) or pa.types.is_decimal(there.type):
        there = pa.array([str(value) for value in there.to_pylist()], pa.string())
    import pandas as pd  # noqa: PLC0415  for whoever compares answers, not for all who import us

    hashes[valid] = pd.util.hash_pandas_object(there.to_pandas(), index=False).to_numpy()
    return hashes
