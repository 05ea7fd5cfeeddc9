"""Streams with known classes, and runs of policies over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from tests.policies.checks import steady_clock

Ints = np.ndarray[Any, np.dtype[np.int64]]
Rates = Sequence[Sequence[float]]

SKEWED: Rates = [[0.05 if i == k else 0.9 for i in range(3)] for k in range(3)]
"""Three partitions with different best orders."""


def attribute(rows: int, values: int, seed: int) -> Ints:
    """A column of small numbers."""
    return np.random.default_rng(seed).integers(0, values, rows)


def outcomes(kind: Ints, rates: Rates, seed: int) -> dict[str, Any]:
    """A column for each operator: does it pass the row, by the row's kind."""
    chance, table = np.random.default_rng([seed, 1]), np.array(rates)
    return {f"p{i}": chance.random(len(kind)) < table[kind, i] for i in range(table.shape[1])}


def stream(columns: Mapping[str, Any], passed: Mapping[str, Any]) -> pa.Table:
    """Rows in order, with their attributes and outcomes."""
    rows = len(next(iter(passed.values())))
    return pa.table({"ts": np.arange(rows), **columns, **passed})


def mesh(*attributes: str, **parameters: Any) -> dict[str, Any]:
    """Query Mesh by calls, classifying by some attributes."""
    names = [f"s.{name}" for name in attributes]
    return {"name": "query_mesh", "costs": "unit", "attributes": names, **parameters}


def query(operators: int) -> eddy.Query:
    """A filter for each column of outcomes."""
    filters = [eddy.Filter(f"op{i}", on="s", where=f"p{i}") for i in range(operators)]
    return eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])


def run(policy: Any, data: pa.Table, *, batch_rows: int = 1_000, seed: int = 0) -> eddy.Run:
    """A run whose clock is steady."""
    operators = sum(name.startswith("p") for name in data.schema.names)
    asked = query(operators)
    return eddy.run_local(asked, {"s": data}, policy=policy, batch_rows=batch_rows, seed=seed, clock=steady_clock())


def calls(found: eddy.Run, first: int = 0, last: int | None = None) -> float:
    """Routing calls per row in some micro-batches."""
    batches = found.report.batches()[first:last]
    return float(batches["routing_calls"].sum() / batches["rows"].sum())


def answer(found: eddy.Run) -> list[int]:
    """Which rows came out."""
    return sorted(found.results["ts"].to_pylist())
