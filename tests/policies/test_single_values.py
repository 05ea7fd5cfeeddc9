"""A text with a thousand values tells classes: values that share a bucket are told apart one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.comparison.workload import Workload
from eddy.engine import Engine
from eddy.engine.snapshot import Snapshot
from eddy.jobs.experiments.workloads.attributes import attributes

ROWS, ENOUGH = 60_000, 0.8
SKEW = {"table": "skew", "A": 0.1}


@cache
def texts(zipf: bool, rows: int = ROWS) -> Workload:
    return attributes(4, SKEW, shape={"kind": "text", "values": 1_000, "zipf": zipf}, rows=rows, seed=3)


def choose(name: str) -> Mapping[str, Any]:
    return {"name": name, "costs": "unit", "attributes": ["s.value"]}


@cache
def calls(zipf: bool, name: str, batch_rows: int = 1_000) -> int:
    policy = {"name": name, "costs": "unit", "truth": texts(zipf).truth} if name == "knows" else choose(name)
    policy = policy if name != "source" else {"name": name, "costs": "unit"}
    run = eddy.run_local(texts(zipf).query, texts(zipf).data, policy=policy, batch_rows=batch_rows, seed=1)
    return int(run.report.operators()["rows_in"].sum())


@pytest.mark.parametrize("zipf", [False, True])
@pytest.mark.parametrize("name", ["content", "query_mesh"])
def test_it_gains_most_of_what_a_perfect_classifier_would(name: str, zipf: bool) -> None:
    usual, best = calls(zipf, "source"), calls(zipf, "knows")
    assert usual - calls(zipf, name) >= ENOUGH * (usual - best)


def engine(name: str) -> Engine:
    some = texts(zipf=False)
    schemas = {"s": some.data["s"].schema}
    return wiring.engine(some.query, schemas, choose(name), tables={}, clock=float, seed=1)


def go_on(one: Engine, rows: pa.RecordBatch) -> tuple[int, int]:
    """Run a micro-batch; counts its results and calls."""
    found = sum(batch.num_rows for batch in one.run({"s": rows}))
    return found, sum(int(statistic.rows_in) for statistic in one.read_counters().operators.values())


@pytest.mark.parametrize("name", ["content", "query_mesh"])
def test_a_restart_changes_nothing(name: str) -> None:
    """Before every micro-batch, with all state written and read, and a first try of it that fails."""
    batches = texts(zipf=False).data["s"].slice(0, 24_000).combine_chunks().to_batches(max_chunksize=2_000)
    steady, restarted = engine(name), engine(name)
    for rows in batches:
        saved = restarted.snapshot()
        saved = Snapshot(saved.format, json.loads(json.dumps(saved.meta)), bytes(saved.blob))
        failed, restarted = engine(name), engine(name)
        failed.restore(saved)
        next(iter(failed.run({"s": rows})), None)
        restarted.restore(saved)
        assert go_on(restarted, rows) == go_on(steady, rows)
    assert steady.snapshot() == restarted.snapshot()


@pytest.mark.parametrize("name", ["content", "query_mesh"])
def test_what_is_kept_is_bounded(name: str) -> None:
    """Of values without end: all that come are others than before, after a while."""
    rng = np.random.default_rng(0)
    one, sizes = engine(name), []
    table = texts(zipf=False).data["s"]
    place = table.column_names.index("value")
    for batch in range(40):
        rows = table.slice(batch * 1_000, 1_000)
        values = [f"v{code}" for code in rng.integers(0, 1_000, 1_000) + batch * 50]
        go_on(one, rows.set_column(place, "value", pa.array(values)).combine_chunks().to_batches()[0])
        saved = one.snapshot()
        sizes.append(len(saved.meta) + len(saved.blob))
    assert max(sizes) < 300_000
    assert max(sizes[20:]) <= 1.3 * max(sizes[:20])
