"""Workloads that join streams: their answer is the naive one, and their partitions have orders of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pyarrow.compute as pc
import pytest

import eddy
from eddy.comparison.workload import Workload
from eddy.jobs.experiments.workloads.joins.equi_join import ARRIVAL_US, IN_WINDOW, equi_join
from eddy.jobs.experiments.workloads.lab import SENSORS, generate_readings, lab
from eddy.jobs.experiments.workloads.lab_places import lab_places
from eddy.jobs.experiments.workloads.market import AGRICULTURE, BULLISH, POOR, WRITTEN, market
from eddy.local import iter_local

SMALL: dict[str, dict[str, Any]] = {
    "equi_join": {"streams": 4, "rows": 2_000},
    "lab_places": {"places": 3, "rows": 1_500},
    "market": {"rows": 4_000},
    "lab": {"rows": 1_500},
}
MADE: dict[str, Callable[..., Workload]] = {"equi_join": equi_join, "lab_places": lab_places, "market": market}
MADE["lab"] = partial(lab, query="joined")
WHERE = {"market": "stocks.trend > 0"}


def expected(workload: Workload) -> Counter[tuple[Any, ...]]:
    """The answer of DuckDB, which knows joins and intervals, and nothing of windows."""
    query = workload.query
    latest = f"greatest({', '.join(f'{stream.name}.at' for stream in query.streams)})"
    conditions = [*map(str, query.joins), WHERE.get(workload.name, "true")]
    for stream in query.streams:
        assert isinstance(stream.window, eddy.Range)
        conditions.append(f"{latest} - {stream.name}.at <= to_microseconds({stream.window.ticks})")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in workload.data.items():
            connection.register(name, table)
        names = [stream.name for stream in query.streams]
        # What the windows imply for each two: with it DuckDB need not make all combinations of a key first.
        widest = max(stream.window.ticks for stream in query.streams if isinstance(stream.window, eddy.Range))
        conditions += [f"abs(epoch_us({a}.at) - epoch_us({b}.at)) <= {widest}" for a, b in combinations(names, 2)]
        columns = ", ".join(map(str, query.select or ()))
        text = f"SELECT {columns} FROM {', '.join(names)} WHERE {' AND '.join(conditions)}"
        return Counter(connection.sql(text).fetchall())


@pytest.mark.parametrize("name", MADE)
def test_the_answer_is_that_of_duckdb(name: str) -> None:
    workload = MADE[name](**SMALL[name], seed=1)
    wanted = expected(workload)
    assert len(wanted) > 10
    for policy in ("fixed", "source", "content", "query_mesh"):
        results = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=300).results
        assert Counter(tuple(row.values()) for row in results.to_pylist()) == wanted


@pytest.mark.parametrize("name", MADE)
def test_nothing_is_late(name: str) -> None:
    workload = MADE[name](rows=20_000)
    run = iter_local(workload.query, workload.data, batch_rows=1_000).run()
    assert run.report.batches()["late"].sum() == 0


# --- equi_join


def test_tuples_arrive_as_a_poisson_process() -> None:
    workload = equi_join(streams=3, rows=60_000)
    gaps = np.diff(workload.data["s0"].column("at").cast("int64").to_numpy())
    assert gaps.mean() == pytest.approx(ARRIVAL_US, rel=0.05)
    assert gaps.std() == pytest.approx(ARRIVAL_US, rel=0.05)
    assert len(workload.data["s0"].schema) == 6


@pytest.mark.parametrize("low", [0.2, 0.5])
def test_a_tuple_meets_as_many_partners_as_its_partition_is_told(low: float) -> None:
    choice = {"table": "partitions", "low": low, "high": 1.0}
    data = equi_join(streams=3, selectivities=choice, rows=60_000).data
    for partition in range(3):
        kind, key = (data["s0"].column(name).to_numpy() for name in ("kind", "key"))
        keys = set(key[kind == partition].tolist())
        for stream in range(3):
            there = data[f"s{stream}"].column("key").to_numpy()
            partners = IN_WINDOW * np.isin(there, list(keys)).mean() / len(keys)
            assert partners == pytest.approx(low if stream == partition else 1.0, rel=0.15)


def test_a_key_is_of_one_partition() -> None:
    data = equi_join(streams=4, rows=8_000).data
    pairs = {(row["key"], row["kind"]) for table in data.values() for row in table.select(["key", "kind"]).to_pylist()}
    assert len(pairs) == len({key for key, _ in pairs})


# --- Lab by place


def test_every_reading_is_in_the_stream_of_its_place() -> None:
    workload = lab_places(places=6, rows=5_000, seed=2)
    places = [set(table.column("sensorid").to_pylist()) for table in workload.data.values()]
    assert [min(place) for place in places] == [1, 10, 19, 28, 37, 46]
    assert set().union(*places) == set(range(1, SENSORS + 1))
    assert sum(table.num_rows for table in workload.data.values()) == 5_000
    whole = generate_readings(5_000, 2).column("temperature").to_numpy()
    for table in workload.data.values():
        assert (table.column("temperature").to_numpy() == whole[table.column("id").to_numpy()]).all()


# --- the market


def test_agriculture_is_sold_written_about_and_does_badly() -> None:
    data = market(rows=40_000).data
    grown = {name: pc.equal(data[name].column("sector"), "agriculture") for name in ("stocks", "news", "blogs")}
    shares = {name: pc.mean(column.cast("int64")).as_py() for name, column in grown.items()}
    expected = {"stocks": AGRICULTURE, "news": WRITTEN, "blogs": WRITTEN}
    assert shares == {name: pytest.approx(share, abs=0.05) for name, share in expected.items()}
    risen = pc.greater(data["stocks"].column("trend"), 0)
    for mask, share in ((grown["stocks"], POOR), (pc.invert(grown["stocks"]), BULLISH)):
        assert pc.mean(risen.filter(mask).cast("int64")).as_py() == pytest.approx(share, abs=0.02)
