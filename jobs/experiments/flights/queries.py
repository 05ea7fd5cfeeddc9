"""Queries over the flights."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow.compute as pc

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import check_choice, check_whole
from eddy.jobs.experiments.flights.functions import Forecast, in_the_dark, slowed_by_wind
from eddy.jobs.experiments.flights.load import MONTHS, part, read

READING = "1 hour"
"""From one reading of the weather to the next."""

LONGEST_FLIGHT = "1 day"
"""No flight takes longer, from the reading of the weather before it to its arrival."""

PAST_DAYS = 7
"""Days of January that a forecast goes by. The flights of these days are judged with hindsight."""

OVER = ["departures.origin = weather.origin", "weather.at <= departures.at"]
OVER += [f"departures.at < weather.at + interval '{READING}'"]
"""The weather over the airport: the last reading before the departure, if it is not older than an hour."""

PLANE, CARRIER = "departures.tailnum = planes.tailnum", "departures.carrier = airlines.carrier"
DESTINATION = "departures.dest = airports.faa"

LATE = eddy.Filter("late", on="departures", where="dep_delay > 15")
BAD_WEATHER = eddy.Filter("bad_weather", on="weather", where="precip > 0.02 or visib < 3 or wind_gust > 30")
OLD = eddy.Filter("old", on="planes", where="year < 2000")
DARK = eddy.Filter("dark", on="departures", function=in_the_dark, columns=["at", "origin"], rowwise=True)
SLOWED = eddy.Filter(
    "slowed",
    on=["departures", "weather", "airports"],
    function=slowed_by_wind,
    columns=["departures.origin", "weather.wind_dir", "weather.wind_speed", "airports.lat", "airports.lon"],
    rowwise=True,
)


def risky() -> eddy.Query:
    """Late departures of old planes, under three more risks.

    They are in the dark, in bad weather and against the wind.
    """
    return eddy.Query(
        name="risky",
        streams=[_stream("departures", READING), _stream("weather", READING)],
        tables=[eddy.Table("planes"), eddy.Table("airports")],
        joins=[*OVER, PLANE, DESTINATION],
        filters=[DARK, SLOWED, OLD, BAD_WEATHER, LATE],
        select=["departures.id", "departures.tailnum", "planes.year", "airports.name AS destination"],
    )


def described() -> eddy.Query:
    """Every departure with its weather, its plane and its airline."""
    return eddy.Query(
        name="described",
        streams=[_stream("departures", READING), _stream("weather", READING)],
        tables=[eddy.Table("planes"), eddy.Table("airlines")],
        joins=[*OVER, PLANE, CARRIER],
        select=["departures.id", "airlines.name AS airline", "planes.model", "weather.temp", "weather.visib"],
    )


def caught_up() -> eddy.Query:
    """Flights that left late, and arrived on time all the same.

    They left in the dark and in bad weather.
    """
    return eddy.Query(
        name="caught_up",
        streams=[_stream(name, LONGEST_FLIGHT) for name in ("departures", "weather", "arrivals")],
        tables=[eddy.Table("airlines")],
        joins=[*OVER, CARRIER, "departures.id = arrivals.id"],
        filters=[DARK, BAD_WEATHER, LATE, eddy.Filter("on_time", on="arrivals", where="arr_delay <= 0")],
        select=["departures.id", "airlines.name AS airline", "departures.dep_delay", "arrivals.arr_delay"],
    )


def watched() -> eddy.Query:
    """Long flights in the dark whose like were late.

    No join, and two functions in Python.
    """
    january = read("flights").filter(pc.field("month") <= 1)
    past = january.filter(pc.field("day") <= PAST_DAYS)
    columns = ["hour", "dep_delay", "distance"]
    return eddy.Query(
        name="watched",
        streams=[eddy.Stream("departures", time="at")],
        filters=[
            eddy.Filter("forecast", on="departures", function=Forecast(past), columns=columns, rowwise=True),
            DARK,
            eddy.Filter("far", on="departures", where="distance > 1000"),
        ],
        select=["departures.id"],
    )


def _stream(name: str, window: str) -> eddy.Stream:
    return eddy.Stream(name, time="at", window=eddy.Range(window), delay=READING)


QUERIES: dict[str, Callable[[], eddy.Query]] = {
    "risky": risky,
    "described": described,
    "caught_up": caught_up,
    "watched": watched,
}
"""The queries, by name."""


def flights(*, query: str = "risky", months: int = MONTHS, rows: int | None = None, seed: int = 0) -> Workload:
    """Build one of the queries over part of the data.

    The first months of the year, or no more than so many rows of each stream of them.

    The data is what happened, so `seed` changes nothing here; the policies have their chance from it.

    >>> flights(query="described", rows=100).query.inputs
    ('departures', 'weather', 'planes', 'airlines')
    """
    del seed
    check_choice(query, QUERIES, "query", where="workload flights")
    check_whole(months, "months", where="workload flights", most=MONTHS)
    if rows is not None:
        check_whole(rows, "rows", where="workload flights")
    asked: eddy.Query = QUERIES[query]()
    data = part(months, rows)
    return Workload(
        name="flights",
        query=asked,
        data={name: data[name] for name in asked.given},
        facts={"query": query, "operators": len(asked.filters) + len(asked.inputs) - 1},
    )
