"""The Lab workload: the shape of the readings, the queries, and the real file's format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.errors import QueryError
from eddy.jobs.experiments.workloads.lab import BRIGHT, SENSORS, WINDOWS, generate_readings, lab, lab_trace

ROWS = 80_000
"""Nearly a day."""


@pytest.fixture(scope="module")
def day() -> pa.Table:
    return generate_readings(ROWS, seed=0)


def numpy(table: pa.Table, name: str) -> np.ndarray[Any, Any]:
    return table.column(name).to_numpy()


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_there_are_as_many_readings_as_asked_for(rows: int) -> None:
    assert generate_readings(rows, seed=0).num_rows == rows


def test_readings_can_be_spread_over_days() -> None:
    at = numpy(generate_readings(2_000, seed=0, days=10), "at")
    assert 9.5 < (at[-1] - at[0]) / np.timedelta64(1, "D") <= 10


def test_all_sensors_report_in_the_order_of_time(day: pa.Table) -> None:
    assert np.unique(numpy(day, "sensorid")).tolist() == list(range(1, SENSORS + 1))
    assert (np.diff(numpy(day, "at")) > np.timedelta64(0)).all()
    assert (np.diff(numpy(day, "epoch")) >= 0).all()


def test_readings_are_possible(day: pa.Table) -> None:
    for name, (low, high) in {
        "temperature": (5, 45),
        "humidity": (5, 80),
        "light": (0, 9_000),
        "voltage": (2, 3),
    }.items():
        assert low <= numpy(day, name).min() <= numpy(day, name).max() <= high, name


def test_light_follows_the_time_of_day_and_the_place(day: pa.Table) -> None:
    bright, hour = numpy(day, "light") > BRIGHT, numpy(day, "hour")
    window = numpy(day, "sensorid") <= WINDOWS
    assert not bright[(hour < 5) | (hour > 22)].any()
    assert bright[(hour == 12) & window].mean() > 0.9
    assert bright[(hour == 12) & ~window].mean() < 0.6


def test_q1_is_one_predicate() -> None:
    workload = lab(query="q1", rows=2_000, seed=3)
    run = eddy.run_local(workload.query, workload.data)
    expected = np.flatnonzero(numpy(workload.data["sensors"], "light") > BRIGHT)
    assert run.results["id"].to_pylist() == expected.tolist()
    assert workload.truth is None


def test_q2_has_four_random_ranges() -> None:
    one, other = (lab(query="q2", rows=2_000, seed=seed) for seed in (3, 4))
    assert [f.name for f in one.query.filters] == ["light", "temperature", "humidity", "voltage"]
    shares = eddy.run_local(one.query, one.data, policy="random").report.operators()["rate"]
    assert ((shares > 0.4) & (shares < 1)).all()
    assert (
        eddy.run_local(one.query, one.data).results.num_rows != eddy.run_local(other.query, other.data).results.num_rows
    )


# --- the real file


TRACE = """\
2004-03-02 10:20:30.512 700 7 21.4032 38.2511 612.72 2.67531
2004-03-01 09:15:00.25 400 3 19.7788 40.0213 87.4 2.68742
2004-03-01 09:15:31 401 3 19.7690 40.0552 87.4
2004-03-01 09:15:31.75 401 65 19.7690 40.0552 87.4 2.68742
2004-03-01 09:15:32 401 4 122.153 -3.91901 11.04 2.03397
2004-03-01 09:16:02 402 4 19.7 -0.5 11.04 2.5
2004-03-01 09:16:33 403 4 19.7 41.5 11.04 2.5 99
2004-03-01 09:17:04 4
damaged

2004-03-01 25:61:00 404 4 19.7 41.5 11.04 2.5
2004-03-01 09:17:35 405 4 19.7 wet 11.04 2.5
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "data.txt"
    path.write_text(TRACE, "utf-8")
    return path


def test_the_real_file_is_cleansed_and_put_in_order(trace: Path) -> None:
    rows = lab_trace(trace).to_pylist()
    assert [(row["sensorid"], row["epoch"], row["light"]) for row in rows] == [(3, 400, 87.4), (7, 700, 612.72)]
    assert rows[1]["at"].isoformat() == "2004-03-02T10:20:30.512000"
    assert [rows[1][part] for part in ("year", "month", "day", "hour", "minute", "second")] == [2004, 3, 2, 10, 20, 30]
    assert [rows[0][name] for name in ("temperature", "humidity", "voltage")] == [19.7788, 40.0213, 2.68742]


def test_the_real_file_has_the_columns_of_the_generator(trace: Path, day: pa.Table) -> None:
    assert lab_trace(trace).schema.equals(day.schema)


def test_queries_run_over_the_real_file(trace: Path) -> None:
    workload = lab(query="q1", trace=str(trace))
    assert eddy.run_local(workload.query, workload.data).results["id"].to_pylist() == [1]


def test_a_file_of_something_else_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are not the readings\nyou are looking for\n", "utf-8")
    with pytest.raises(QueryError, match=r"expected lines of date, time, epoch, sensorid.*none of 2 is one"):
        lab_trace(path)


def test_columns_that_operators_read_themselves_can_be_left_out() -> None:
    facts = lab(query="q2", rows=200).list_facts()
    read = {"sensors.light", "sensors.temperature", "sensors.humidity", "sensors.voltage"}
    assert set(facts["$columns"]) - set(facts["$others"]) == read
    assert "sensors.sensorid" in facts["$others"]
