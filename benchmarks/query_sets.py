"""Queries that are alike, for the benchmarks of queries that are answered together.

All of them join four streams by one key. Each has four filters, one on each stream; the first few are the same in all
queries, and the others have a bound of the query's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from benchmarks.filters import accepts
from benchmarks.workloads import COMMON, SEED, STREAMS, Columns

VALUES = 1_000
"""The column `v` that filters read is a number below this."""

COMMON_BOUND, LEAST_BOUND = 700, 300
"""Filters let rows pass whose `v` is below a bound: of those in common the first, of a query's own one between both."""

SPREAD = 137
"""Bounds of a query's own are so far from those of the next one; it has no divisor in common with their range."""

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True)
class QuerySet:
    """So many queries, and how many of their four filters are the same in all.

    Filters are functions where `rounds` is given: that many rounds of hashing a row, 0 for none.
    """

    count: int = 8
    shared: int = 2
    rounds: int | None = None

    def write(self, streams: Sequence[eddy.Stream]) -> dict[str, eddy.Query]:
        """Write the queries over these streams."""
        return {f"q{number}": self._write_one(number, streams) for number in range(self.count)}

    def list_bounds(self, number: int) -> dict[str, int]:
        """List the bounds of a query by stream."""
        wide = COMMON_BOUND - LEAST_BOUND
        return {
            s: COMMON_BOUND if place < self.shared else LEAST_BOUND + (number * SPREAD + place * SPREAD**2) % wide
            for place, s in enumerate(STREAMS)
        }

    def _write_one(self, number: int, streams: Sequence[eddy.Stream]) -> eddy.Query:
        return eddy.Query(
            name=f"q{number}",
            streams=streams,
            joins=[f"{a}.{key} = {b}.{key}" for key, a, b in COMMON.joins()],
            filters=[self._write_filter(s, bound) for s, bound in self.list_bounds(number).items()],
            select=[f"{s}.id as {s}" for s in STREAMS],
        )

    def _write_filter(self, stream: str, bound: int) -> eddy.Filter:
        name = f"{stream}_below_{bound}"
        if self.rounds is None:
            return eddy.Filter(name, on=stream, where=f"{stream}.v < {bound}")
        return eddy.Filter(name, on=stream, function=_make_function(bound, self.rounds), columns=["v"])


@cache
def _make_function(bound: int, rounds: int) -> Callable[[Ints], Mask]:
    """Make the function of a bound: queries with the same one share it."""

    def below(v: Ints) -> Mask:
        for value in v.tolist() if rounds else ():
            accepts(value.to_bytes(8, "little"), b"", rounds)
        return v < bound

    return below


def make_data(rows: int, seed: int = SEED) -> dict[str, Columns]:
    """Make the rows of all streams; those of each stream are in order."""
    chance = np.random.default_rng(seed)
    data = COMMON.data(rows, seed)
    return {s: {**columns, "v": chance.integers(0, VALUES, rows)} for s, columns in data.items()}


def agree(answers: Mapping[str, Any]) -> None:
    """All contenders must find the same results for each query."""
    found = {name: {query: sort_rows(rows) for query, rows in split(a).items()} for name, a in answers.items()}
    first = next(iter(found.values()))
    for name, queries in found.items():
        different = [query for query in {*first, *queries} if queries.get(query, []) != first.get(query, [])]
        if different:
            raise AssertionError(f'"{name}" has other results than "{next(iter(found))}": {sorted(different)}')


def split(answer: pa.Table | Mapping[str, pa.Table]) -> Mapping[str, pa.Table]:
    """Give the rows of each query, of a common answer or of one that is apart already."""
    if not isinstance(answer, pa.Table):
        return answer
    names = answer.column("query")
    return {
        query: answer.filter(pa.compute.equal(names, query)).drop_columns(["query"])
        for query in names.unique().to_pylist()
    }


def sort_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Put rows into an order that all have."""
    return sorted(zip(*(rows.column(s).to_pylist() for s in STREAMS), strict=True))
