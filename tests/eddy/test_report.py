"""Counters become frames."""

from __future__ import annotations

import pyarrow as pa

import eddy
from tests.policies.checks import steady_clock

MODULI = {"ts": 200, "x": 3, "y": 4, "z": 5}
"""Of each column of the rows' numbers."""


def test_a_probe_has_a_row_for_each_access_pattern() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "abc"]
    asked = eddy.Query(streams=streams, joins=["a.x = b.x", "a.y = c.y", "b.z = c.z"], select=["a.ts"])
    data = {s: pa.table({name: [n % m for n in range(200)] for name, m in MODULI.items()}) for s in "abc"}
    report = eddy.run_local(asked, data, policy="random", batch_rows=50, clock=steady_clock()).report
    frame = report.operators()
    assert sorted(zip(frame["operator"], frame["pattern"], strict=True)) == [
        *[("probe_a", pattern) for pattern in ("a.x", "a.x, a.y", "a.y")],
        *[("probe_b", pattern) for pattern in ("b.x", "b.x, b.z", "b.z")],
        *[("probe_c", pattern) for pattern in ("c.y", "c.y, c.z", "c.z")],
    ]
    assert (frame["rows_in"] > 0).all()
    by_batch = report.operators(by_batch=True).groupby(["operator", "pattern"])[["rows_in", "rows_out"]].sum()
    whole = frame.set_index(["operator", "pattern"])[["rows_in", "rows_out"]].sort_index()
    assert (by_batch == whole).all(axis=None)


def test_a_filter_has_a_row_for_stored_rows() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "ab"]
    asked = eddy.Query(streams=streams, joins=["a.x = b.x"], filters=[eddy.Filter("f", on="b", where="y > 0")])
    data = {
        s: pa.table({"ts": [n // 10 for n in range(100)], "x": [n % 10 for n in range(100)], "y": [1] * 100})
        for s in "ab"
    }
    frame = eddy.run_local(asked, data, policy={"name": "fixed", "order": ["probe_a", "probe_b"]}).report.operators()
    met = frame[frame["operator"] == "f"].set_index("pattern")
    assert met["rows_in"].to_dict() == {"": 550, "stored": 450}
