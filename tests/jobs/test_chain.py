"""The workload `chain` is what its parameters say."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from eddy.jobs.workloads.registry import build


def test_rates_multiplicity_and_shares_are_as_asked() -> None:
    made = build("chain", {"multiplicity": 10, "meets": 0.3, "rates": "1 2 5", "rows": 40_000, "window": 8_000}, seed=3)
    rows = {name: table.num_rows for name, table in made.data.items()}
    assert rows == {"r": 5_000, "s": 10_000, "t": 25_000}
    s = made.data["s"].to_pandas()
    assert (s["k0"] < 1 << 40).mean() == pytest.approx(0.3, abs=0.02)
    # A window holds 2,000 rows of s, ten for each key.
    assert s["k1"].nunique() == 200
    assert np.isin(made.data["t"]["k1"].to_numpy(), s["k1"]).all()


def test_longer_chains_have_results() -> None:
    made = build("chain", {"streams": 5, "multiplicity": 3, "rows": 5_000, "window": 2_000}, seed=0)
    assert made.query.inputs == tuple("rstuv")
    assert eddy.run_local(made.query, made.data, policy="fixed", batch_rows=100).results.num_rows > 0


def test_streams_may_have_one_key_in_common() -> None:
    made = build("chain", {"streams": 4, "common": True, "rates": "1 1 5 5", "rows": 12_000, "window": 1_200}, seed=0)
    assert [made.data[name]["k"].to_pandas().nunique() for name in "rstu"] == [100, 100, 100, 100]
    assert made.query.joins == ("r.k = s.k", "s.k = t.k", "t.k = u.k")


def test_a_burst_makes_the_first_stream_faster_from_the_middle_on() -> None:
    made = build("chain", {"burst": 20, "rows": 30_000, "by_rows": True, "window": 3_000}, seed=0)
    times = made.data["r"]["ts"].to_numpy()
    assert (times >= 15_000).sum() / (times < 15_000).sum() == pytest.approx(20, rel=0.05)
    assert made.data["s"].num_rows == 10_000
    assert [stream.window for stream in made.query.streams] == [eddy.Rows(1_000)] * 3
    # A micro-batch has the rows of one time.
    sizes = [part.num_rows for part in made.cut(350)["r"]]
    assert max(sizes) > 10 * max(sizes[:60])


def test_what_no_index_answers_finds_the_same() -> None:
    found = []
    for scan in (False, True):
        made = build("chain", {"scan": scan, "rows": 3_000, "window": 500}, seed=0)
        run = eddy.run_local(made.query, made.data, policy="fixed", batch_rows=100)
        found.append(run.results.num_rows)
        assert any("k0" in name for name in run.report.indexes()["map"]) != scan
    assert found[0] == found[1] > 0
