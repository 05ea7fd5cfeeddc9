"""`auto` finds a cache where it pays, and stays within its budget where none does. By calls, so no clock is asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.policies.auto.policy import Auto
from eddy.policies.auto.sample import SAMPLE_ROWS
from eddy.wiring import PolicyChoice
from tests.policies.checks import steady_clock

ROWS = 20_000


def make(meets: float) -> tuple[eddy.Query, dict[str, pa.Table]]:
    """R(A) S(A, B) T(B): some S for a key of T, or hardly any; few of them meet an R."""
    chance = np.random.default_rng(1)
    x = np.where(chance.random(ROWS) < 0.02, chance.integers(0, 100, ROWS), chance.integers(10**6, 10**7, ROWS))
    keys = np.where(chance.random(ROWS) < meets, chance.integers(0, 50, ROWS), 1_000 + np.arange(ROWS))
    data = {
        "t": pa.table({"ts": np.arange(ROWS), "k": chance.integers(0, 50, ROWS)}),
        "s": pa.table({"ts": np.arange(ROWS), "x": x, "k": keys}),
        "r": pa.table({"ts": np.arange(ROWS), "x": chance.integers(0, 100, ROWS)}),
    }
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(1_000), delay=0) for name in ("t", "s", "r")]
    query = eddy.Query(streams=streams, joins=["s.k = t.k", "r.x = s.x"], select=["r.ts", "s.ts as b", "t.ts as c"])
    return query, data


def run(policy: PolicyChoice, meets: float) -> eddy.local.Run:
    query, data = make(meets)
    return eddy.run_local(query, data, policy=policy, batch_rows=200, clock=steady_clock())


@pytest.mark.parametrize(("meets", "pays"), [(1.0, True), (0.0, False)])
def test_auto_uses_a_cache_where_it_pays(meets: float, pays: bool) -> None:
    plain = run("fixed", meets)
    found = run({"name": "auto", "costs": "unit"}, meets)
    assert found.results.num_rows == plain.results.num_rows
    calls = [int(one.report.batches()["routing_calls"].sum()) for one in (plain, found)]
    in_charge = {regret.arm for c in found.report.counters for regret in c.insight.regrets if regret.stream == "t"}
    assert ("a_caching" in in_charge) == pays
    if pays:
        assert calls[1] < 0.7 * calls[0]
    # The share that it may spend, and a sample for each stream and hop.
    assert calls[1] < 1.02 * calls[0] + 3 * 2 * SAMPLE_ROWS


def test_who_places_caches_is_an_arm_where_two_probes_stand_in_a_row() -> None:
    """A join of two has none."""
    query, data = make(1.0)
    two = eddy.Query(streams=query.streams[:2], joins=["s.k = t.k"])
    named = []
    for asked in (query, two):
        some = {name: data[name].slice(0, 100) for name in (stream.name for stream in asked.streams)}

        def build(setting: eddy.contracts.Setting) -> Auto:
            made = Auto(setting)
            named.append("a_caching" in made.snapshot()["made for"][1])
            return made

        eddy.run_local(asked, some, policy=build)
    assert named == [True, False]
