"""The airports as the file has them, and answers that DuckDB gives too."""

from __future__ import annotations

import duckdb
import pyarrow.compute as pc
import pytest

import eddy
from eddy.jobs.experiments.public_data import airports as module
from eddy.jobs.experiments.public_data.airports import airports

DARK = """
    CREATE MACRO tilt(t) AS radians(-23.44 * cos(2 * pi() * (date_part('doy', t) + 10) / 365));
    CREATE MACRO angle(t, lon) AS radians(15 * (date_part('hour', t) + date_part('minute', t) / 60
        + floor(date_part('second', t)) / 3600 + lon / 15 - 12));
    CREATE MACRO dark(t, lat, lon) AS
        sin(radians(lat)) * sin(tilt(t)) + cos(radians(lat)) * cos(tilt(t)) * cos(angle(t, lon)) < 0;
    CREATE MACRO far(lat, lon) AS 2 * 6371 * asin(sqrt(
        sin(radians(lat - 50.0379) / 2) ** 2
        + cos(radians(50.0379)) * cos(radians(lat)) * sin(radians(lon - 8.5622) / 2) ** 2)) > 7500;
"""
WORDS = "'international','regional','municipal','memorial','national','county','air','field','airfield'"
NIGHT = f"""
    SELECT icao FROM airports WHERE dark("at", lat, lon) AND far(lat, lon)
    AND len(list_intersect(string_split(replace(lower(name), '-', ' '), ' '), [{WORDS}])) > 0
"""
ANSWERS = {"night": NIGHT, "diversion": f"{NIGHT} AND elevation > 1000 AND iata IS NOT NULL"}


@pytest.mark.parametrize("policy", ["fixed", "content", "query_mesh"])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_that_of_duckdb(name: str, policy: str) -> None:
    workload = airports(query=name)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("airports", workload.data["airports"])
        connection.execute(DARK)
        wanted = sorted(icao for (icao,) in connection.sql(ANSWERS[name]).fetchall())
    assert len(wanted) > 100
    run = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=2_000)
    assert sorted(run.results["icao"].to_pylist()) == wanted


def test_every_airport_is_asked_once_in_an_order_of_the_seed() -> None:
    one, same, other = (airports(seed=seed).data["airports"] for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
    assert sorted(one.column("icao").to_pylist()) == sorted(other.column("icao").to_pylist())
    assert one.num_rows == len(set(one.column("icao").to_pylist()))


def test_namibia_is_a_country() -> None:
    table = module.load()
    assert table.filter(pc.equal(table.column("country"), "NA")).num_rows > 50
    assert table.column("country").null_count == 0
    assert table.column("iata").null_count > 10_000


def test_the_columns_are_what_makes_real_data_hard() -> None:
    table = module.load()
    kinds = {name: len(set(table.column(name).to_pylist())) for name in ("country", "tz", "subd")}
    assert kinds["country"] > 200
    assert kinds["tz"] > 300
    assert kinds["subd"] > 2_000
    assert table.filter(pc.equal(table.column("country"), "US")).num_rows / table.num_rows > 0.4
