"""Cells that have more to do than others: what is told of them, and what a new checkpoint could do."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy.engine import Engine
from eddy.jobs.run.checkpoints import Checkpoint, _cell
from eddy.jobs.run.skew import FEWEST_ROWS, propose, tell_skew
from eddy.observe.sum_cells import CellSum
from eddy.wiring import engine
from tests.policies.checks import steady_clock

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64(), "s": pa.string()})

QUERY = eddy.Query(
    streams=[eddy.Stream(name, time="ts", window=eddy.Range(10**6), delay=0) for name in "ab"],
    joins=["a.k = b.k", "a.s = b.s"],
    select=["a.ts"],
)

GRID = [
    {"by": "k", "share": 2, "keys": {"a": ["a.k"], "b": ["b.k"]}, "heavy": []},
    {"by": "s", "share": 2, "keys": {"a": ["a.s"], "b": ["b.s"]}, "heavy": []},
]


def cell(keys: list[int], texts: list[str]) -> Engine:
    """One that has had rows of `a`, and one of `b`."""
    made = engine(QUERY, dict.fromkeys("ab", SCHEMA), "fixed", tables={}, clock=steady_clock(), seed=0)
    rows = pa.record_batch([pa.array(range(len(keys))), pa.array(keys), pa.array(texts)], schema=SCHEMA)
    for _ in made.run({"a": rows, "b": rows.slice(0, 1)}):
        pass
    return made


def report(*rows: int) -> eddy.Report:
    cells = {n: cell(list(range(count)), ["x"] * count).read_counters() for n, count in enumerate(rows)}
    return eddy.Report([CellSum().add(0, cells)])


def test_cells_are_told_beside_their_mean() -> None:
    told = report(2_000, 500, 500).cells()
    assert told["cell"].tolist()[0] == 0
    assert told["rows"].tolist() == [2_001, 501, 501]
    assert told["stored"].tolist() == [2_001, 501, 501]
    assert told["rows_over_mean"].tolist() == pytest.approx([2_001 / 1_001, 501 / 1_001, 501 / 1_001])
    assert eddy.run_local(QUERY, dict.fromkeys("ab", SCHEMA.empty_table())).report.cells().empty


def test_a_job_tells_of_uneven_cells_when_it_ends() -> None:
    (line,) = tell_skew(report(4_000, 10, 10, 10))
    assert line.startswith("cells are uneven: of 4 cell 0 had 4.0 times the mean of rows, 4.0 of stored rows")
    assert not list(tell_skew(report(1_000, 1_000)))
    assert not list(tell_skew(report(FEWEST_ROWS // 2, 1)))
    assert not list(tell_skew(report(4_000)))


def work(*seconds: float) -> eddy.Report:
    """Cells with as many rows each, of which none is stored."""
    (counters,) = report(*([FEWEST_ROWS] * len(seconds))).counters
    cells = [replace(cell, stored=0, seconds=one) for cell, one in zip(counters.cells, seconds, strict=True)]
    return eddy.Report([replace(counters, cells=cells)])


def test_cells_that_store_nothing_are_told_without_what_they_store() -> None:
    (line,) = tell_skew(work(30, 1, 1))
    assert line == "cells are uneven: of 3 cell 0 had 1.0 times the mean of rows, 2.8 of seconds"


def test_a_moment_of_work_is_not_uneven() -> None:
    """The first call of a worker takes longer than all that follows."""
    assert not list(tell_skew(work(0.3, 0.01, 0.01)))


def checkpoint(dimensions: list[dict[str, Any]], *cells: Engine) -> Checkpoint:
    found = [_cell(number, one.snapshot()) for number, one in enumerate(cells)]
    return Checkpoint(query={}, layout={"cells": 4, "dimensions": dimensions}, cells=found)


def test_a_new_checkpoint_is_proposed_by_what_is_stored() -> None:
    keys = [7] * 900 + list(range(600))
    texts = ["often" if n % 3 else f"{n}" for n in range(1_500)]
    told = "\n".join(propose(checkpoint(GRID, cell(keys, texts), cell(keys, texts))))
    assert 'sizes = { "a" = 3000, "b" = 2 }' in told
    assert 'heavy = { "a.k" = [7], "a.s" = ["often"] }  # shares of the stored rows: a.k: 7 60%; a.s:' in told
    section = tomllib.loads(told[told.index("[engine]") :])["engine"]
    assert section == {"sizes": {"a": 3_000, "b": 2}, "heavy": {"a.k": [7], "a.s": ["often"]}}


def test_nothing_is_proposed_where_nothing_is_heavy() -> None:
    even = cell(list(range(2_000)), [f"{n}" for n in range(2_000)])
    assert not list(propose(checkpoint(GRID[:1], even)))
    sorted_keys = cell([5] * 1_500, ["x"] * 1_500)
    assert 'heavy = { "a.k" = [5] }' in "\n".join(propose(checkpoint(GRID[:1], sorted_keys)))
