"""What was counted by buckets that mean something else now is forgotten, and learned anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.contracts import Prices, Statistic
from eddy.policies.content.knowledge import Knowledge
from eddy.policies.content.profile import Learning
from eddy.policies.query_mesh.decision import MeshSettings
from eddy.policies.query_mesh.stream_mesh import StreamMesh
from eddy.tuples import Hop

HOP = Hop("f")
STEP = Statistic(20, 20, 20.0, 1e-3)
ROWS, BATCH, FILTERS = 24_000, 1_000, 4
POLICIES = pytest.mark.parametrize("name", ["content", "query_mesh"])


def prices(scales: Any) -> pa.Table:
    """Rows whose price, beside others of their time, tells which filter drops them."""
    rng = np.random.default_rng(0)
    price = rng.random(ROWS)
    dropped_by = (price * FILTERS).astype(int)
    columns: dict[str, Any] = {"ts": np.arange(ROWS), "price": price * scales}
    for i in range(FILTERS):
        columns[f"p{i}"] = rng.random(ROWS) < np.where(dropped_by == i, 0.05, 0.9)
    return pa.table(columns)


def run(name: str, table: pa.Table) -> eddy.Run:
    filters = [eddy.Filter(f"f{i}", on="s", where=f"p{i}") for i in range(FILTERS)]
    query = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    policy = {"name": name, "costs": "unit", "attributes": ["s.price"]}
    return eddy.run_local(query, {"s": table}, policy=policy, batch_rows=BATCH)


def calls(one: eddy.Run, since: int) -> float:
    batches = one.report.batches()[since:]
    return float(batches["routing_calls"].sum() / batches["rows"].sum())


@POLICIES
def test_prices_that_multiply_are_learned_anew(name: str) -> None:
    """For ranges as they were, all later prices are in one of them; counts of both would be mixed."""
    steady, found = run(name, prices(1.0)), run(name, prices(np.where(np.arange(ROWS) < ROWS // 3, 1, 1_000)))
    assert sorted(found.results["ts"].to_pylist()) == sorted(steady.results["ts"].to_pylist())
    assert calls(found, 18) <= 1.1 * calls(steady, 18)


def test_content_forgets_what_it_counted_by_another_edition() -> None:
    known = Knowledge(2, Learning(cells=3, alpha=0.95, threshold=0.001, sample=100), {})
    buckets = np.tile(np.array([[0, 0], [1, 0]], np.uint8), (200, 1))
    known.follow((1, 1))
    profile = known.profile(HOP)
    profile.learn((0, 1), buckets, buckets[:, 0] > 0)
    assert profile.judge(0.001)
    assert profile.attribute == 0
    known.follow((1, 1))
    assert profile.bucket_counts()[0].tolist() == [200, 200, 0]
    known.follow((1, 2))
    assert profile.bucket_counts()[0].tolist() == [200, 200, 0]
    known.follow((2, 2))
    assert profile.bucket_counts()[0].tolist() == [0, 0, 0]
    assert not profile.judge(0.001)


def test_an_operator_is_not_classified_by_what_it_reads_itself() -> None:
    known = Knowledge(2, Learning(cells=3, alpha=0.95, threshold=0.001, sample=100), {"f": [0]})
    buckets = np.tile(np.array([[0, 0], [1, 0], [1, 1]], np.uint8), (200, 1))
    for hop in (HOP, Hop("g")):
        known.profile(hop).learn((0, 1), buckets, buckets[:, 0] > 0)
        known.profile(hop).judge(0.001)
    assert [known.profile(hop).attribute for hop in (HOP, Hop("g"))] == [1, 0]


def test_a_mesh_samples_anew_after_another_edition() -> None:
    plan = MeshSettings(costs="unit", sample=100, training=10, seconds=1.0, window=100, tolerance=0.01)
    mesh = StreamMesh("s", (2, 25), ("f", "g"), plan, Prices(), "first rows")
    mesh.follow((1, 1))
    whole = mesh.count_samples(1_000)
    mesh.evidence.keep((HOP, Hop("g")), [STEP, STEP], np.zeros((20, 2), np.uint8), [np.ones(20), np.ones(20)])
    mesh.follow((1, 1))
    assert mesh.count_samples(1_000) == whole - 20
    mesh.follow((1, 2))
    assert mesh.count_samples(1_000) == whole
