"""Event times of the whole year, against what the files say of them in another way."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow.compute as pc
import pytest

from eddy.errors import QueryError
from eddy.jobs.experiments.flights.load import load, part, read


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in ("flights", "airports"):
            connection.register(name, read(name))
        for name in ("departures", "arrivals", "weather"):
            connection.register(name, load()[name])
        connection.execute("CREATE TABLE numbered AS SELECT row_number() OVER () - 1 AS id, * FROM flights")
        yield connection


def counted(database: duckdb.DuckDBPyConnection, query: str) -> tuple[int, ...]:
    found = database.execute(query).fetchone()
    assert found is not None
    return found


def test_departures_are_when_the_clocks_said(database: duckdb.DuckDBPyConnection) -> None:
    """The time is made from the scheduled hour and the delay; the file has the clock's own time besides."""
    query = """
        SELECT count(*), count(*) FILTER (strftime("at" AT TIME ZONE 'America/New_York', '%H%M')::int = dep_time % 2400)
        FROM departures JOIN numbered USING (id) WHERE "at" IS NOT NULL"""
    assert counted(database, query) == (328_521, 328_521)


def test_cancelled_flights_have_no_time(database: duckdb.DuckDBPyConnection) -> None:
    query = 'SELECT count(*), count(dep_time) FROM departures JOIN numbered USING (id) WHERE "at" IS NULL'
    assert counted(database, query) == (336_776 - 328_521, 0)


def test_arrivals_are_when_the_delays_say(database: duckdb.DuckDBPyConnection) -> None:
    """The time is made from a clock at the destination; scheduled arrival and delay give the same moment."""
    query = """
        WITH zoned AS (
            SELECT id, coalesce(tzone, 'America/Puerto_Rico') AS zone, sched_arr_time, numbered.arr_delay, a."at",
                   (time_hour + to_minutes(minute)) AT TIME ZONE coalesce(tzone, 'America/Puerto_Rico') AS leaves
            FROM arrivals a JOIN numbered USING (id) LEFT JOIN airports ON numbered.dest = faa),
        due AS (
            SELECT *, date_trunc('day', leaves) + to_minutes(sched_arr_time // 100 * 60 + sched_arr_time % 100) AS clock
            FROM zoned WHERE arr_delay IS NOT NULL),
        other AS (
            SELECT "at", (clock + to_days((clock < leaves)::int)) AT TIME ZONE zone + to_minutes(arr_delay) AS told
            FROM due)
        SELECT count(*), count(*) FILTER ("at" = told) FROM other"""
    assert counted(database, query) == (327_346, 327_346)


def test_the_weather_is_of_the_hour_that_it_says(database: duckdb.DuckDBPyConnection) -> None:
    query = 'SELECT count(*), count(DISTINCT (origin, "at")), max(wind_speed) < 50, count(wind_speed) FROM weather'
    assert counted(database, query) == (26_115, 26_115, True, 26_110)


@pytest.mark.parametrize("name", ["departures", "arrivals", "weather"])
def test_streams_come_in_order(name: str) -> None:
    at = pc.drop_null(load()[name].column("at").combine_chunks()).to_numpy(zero_copy_only=False)
    assert (at[1:] >= at[:-1]).all()


def test_a_part_is_the_beginning() -> None:
    assert set(part(2)["weather"]["month"].to_pylist()) == {1, 2}
    assert part(2, rows=10)["arrivals"].equals(load()["arrivals"].slice(0, 10))


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(QueryError, match='"trains"'):
        read("trains")
