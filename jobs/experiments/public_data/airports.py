"""Airports of the world, each asked once, one a second.

The package `airportsdata` (MIT) has 28,000 of them. The columns are what makes real data hard: texts with hundreds and
with thousands of values, of which one is every second row, and a height that is mostly low.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import check_choice, check_whole, need_package
from eddy.jobs.experiments.public_data.files import read

PACKAGE = "airportsdata"
FILE = "airports.csv"
COLUMNS = {
    **dict.fromkeys(("icao", "iata", "name", "city", "subd", "country"), pa.string()),
    **dict.fromkeys(("elevation", "lat", "lon"), pa.float64()),
    "tz": pa.string(),
}

FIRST = np.datetime64("2026-06-21T00:00:00", "us")
"""The day of the solstice: in the north it is hardly dark, in the south for long."""

HOME = (50.0379, 8.5622)
"""Degrees north and east of Frankfurt."""

FAR_KM = 7_500.0
EARTH_KM = 6371.0
TILT, SOLSTICE = 23.44, 10
"""Degrees by which the axis of the Earth is inclined, and days from the winter solstice to the end of the year."""

SHORT_NAME = 3
"""A word of fewer letters is not looked up."""

KINDS = frozenset("international regional municipal memorial national county air field airfield".split())
"""Words in names of airports that are for everybody."""


def is_dark(at: datetime, lat: float, lon: float) -> bool:
    """Tell whether the sun is below the horizon.

    >>> [is_dark(datetime(2026, 6, 21, hour), *HOME) for hour in (0, 12)]
    [True, False]
    """
    day = at.timetuple().tm_yday
    declination = math.radians(-TILT * math.cos(2 * math.pi * (day + SOLSTICE) / 365))
    hour = at.hour + at.minute / 60 + at.second / 3_600 + lon / 15
    angle, here = math.radians(15 * (hour - 12)), math.radians(lat)
    height = math.sin(here) * math.sin(declination) + math.cos(here) * math.cos(declination) * math.cos(angle)
    return height < 0


def is_far(lat: float, lon: float) -> bool:
    """Tell whether a great circle from Frankfurt is long.

    >>> is_far(-33.95, 151.18), is_far(48.86, 2.35)
    (True, False)
    """
    here, there = (math.radians(HOME[0]), math.radians(HOME[1])), (math.radians(lat), math.radians(lon))
    half = math.sin((there[0] - here[0]) / 2) ** 2
    half += math.cos(here[0]) * math.cos(there[0]) * math.sin((there[1] - here[1]) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half)) > FAR_KM


def is_for_everybody(name: str | None) -> bool:
    """Tell by the words of its name whether an airport is public.

    >>> is_for_everybody("Lowell Field"), is_for_everybody("Aero B Ranch Airport")
    (True, False)
    """
    words = (name or "").lower().replace("-", " ").split()
    return any(word in KINDS for word in words if len(word) >= SHORT_NAME)


DARK = eddy.Filter("dark", on="airports", function=is_dark, columns=["at", "lat", "lon"], rowwise=True)
FAR = eddy.Filter("far", on="airports", function=is_far, columns=["lat", "lon"], rowwise=True)
PUBLIC = eddy.Filter("public", on="airports", function=is_for_everybody, columns=["name"], rowwise=True)
HIGH = eddy.Filter("high", on="airports", where="elevation > 1000")
LISTED = eddy.Filter("listed", on="airports", where="iata is not null")


def _query(name: str, filters: list[eddy.Filter]) -> eddy.Query:
    return eddy.Query(
        name=name, streams=[eddy.Stream("airports", time="at")], filters=filters, select=["airports.icao"]
    )


def night() -> eddy.Query:
    """Ask for far airports in the dark that are for everybody: Python functions alone."""
    return _query("night", [DARK, FAR, PUBLIC])


def diversion() -> eddy.Query:
    """Ask for high airports of the airlines besides, in SQL."""
    return _query("diversion", [DARK, FAR, PUBLIC, HIGH, LISTED])


QUERIES: dict[str, Callable[[], eddy.Query]] = {"night": night, "diversion": diversion}
"""The queries, by name."""


@lru_cache(maxsize=1)
def load() -> pa.Table:
    """Load the airports as the file has them.

    >>> load().num_rows > 20_000
    True
    """
    return read(need_package(PACKAGE, "airports", "data") / FILE, COLUMNS)


def airports(*, query: str = "night", rows: int | None = None, seed: int = 0) -> Workload:
    """Build one of the queries over the airports.

    They are asked in an order that `seed` draws, one a second.

    >>> airports(rows=100).tuples
    100
    """
    check_choice(query, QUERIES, "query", where="workload airports")
    if rows is not None:
        check_whole(rows, "rows", where="workload airports")
    order = np.random.default_rng([seed, 10]).permutation(load().num_rows)[:rows]
    at = FIRST + np.arange(len(order)) * np.timedelta64(1, "s")
    table = load().take(pa.array(order)).add_column(0, "at", pa.array(at, pa.timestamp("us", "UTC")))
    asked = QUERIES[query]()
    facts = {"query": query, "operators": len(asked.filters)}
    return Workload(name="airports", query=asked, data={"airports": table}, facts=facts)
