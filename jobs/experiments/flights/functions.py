"""Python functions that judge a flight: sun, wind, its like.

They are written as for one row at a time, with the `math` module, as such functions mostly are.
"""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

AIRPORTS = {"EWR": (40.6925, -74.168667), "JFK": (40.639751, -73.778925), "LGA": (40.777245, -73.872608)}
"""Degrees north and east of the three airports, as in the file of airports."""

TILT = 23.44
"""Degrees by which the axis of the Earth is inclined."""

SOLSTICE = 10
"""Days from the winter solstice to the end of the year."""

EARTH = 3958.8
"""Miles from the middle of the Earth to its surface."""

CRUISE = 460.0
"""Miles an hour through the air: what an airliner does, take-off and landing included."""

MILES_PER_STEP = 50.0
"""Miles of the way after which the course is taken anew."""

SLOWED = 5.0
"""Minutes that the wind has to cost for a flight to count as slowed."""

ALIKE_WITHIN = (2, 15, 300)
"""Flights are alike when they differ by no more hours of the day, minutes of delay and miles than these."""

LATE = 15
"""Minutes from which a flight is late, as the airlines count."""


def in_the_dark(at: datetime, origin: str) -> bool:
    """Tell whether the sun is below the airport's horizon.

    >>> from datetime import UTC
    >>> [in_the_dark(datetime(2013, 6, 21, hour, tzinfo=UTC), "JFK") for hour in (4, 16)]
    [True, False]
    """
    latitude, longitude = AIRPORTS[origin]
    day = at.timetuple().tm_yday
    declination = math.radians(-TILT * math.cos(2 * math.pi * (day + SOLSTICE) / 365))
    hour = at.hour + at.minute / 60 + longitude / 15
    angle = math.radians(15 * (hour - 12))
    here = math.radians(latitude)
    height = math.sin(here) * math.sin(declination) + math.cos(here) * math.cos(declination) * math.cos(angle)
    return height < 0


def slowed_by_wind(
    origin: str, wind_dir: int | None, wind_speed: float | None, lat: float | None, lon: float | None
) -> bool:
    """Tell whether the wind costs more than `SLOWED` minutes.

    It is the wind at the start, taken to blow all the way.

    The way is the great circle, in steps; on each the wind is against the flight or behind it, and from the side.

    >>> slowed_by_wind("JFK", 270, 30.0, 33.94, -118.41), slowed_by_wind("JFK", 90, 30.0, 33.94, -118.41)
    (True, False)
    """
    if wind_dir is None or wind_speed is None or lat is None or lon is None:
        return False
    here, there = (math.radians(degrees) for degrees in AIRPORTS[origin]), (math.radians(lat), math.radians(lon))
    (north, east), hours = here, 0.0
    left = _miles(north, east, *there)
    calm = left / CRUISE
    while left > 0:
        course = _course(north, east, *there)
        against = math.radians(wind_dir) - course
        side, head = wind_speed * math.sin(against), wind_speed * math.cos(against)
        step = min(MILES_PER_STEP, left)
        hours += step / (math.sqrt(CRUISE * CRUISE - side * side) - head)
        north, east = _move(north, east, course, step)
        left -= step
    return (hours - calm) * 60 > SLOWED


class Forecast:
    """Tells whether flights like this one were late on average.

    >>> past = pa.table({"hour": [8, 18], "dep_delay": [0, 60], "distance": [700, 700], "arr_delay": [-10, 70]})
    >>> forecast = Forecast(past)
    >>> forecast(17, 50, 800), forecast(9, 3, 800), forecast(2, 0, 0)
    (True, False, False)
    """

    def __init__(self, past: pa.Table) -> None:
        known = past.filter(pc.field("arr_delay").is_valid())
        hour, delay, distance, arrival = (
            known.column(name).to_numpy() for name in ("hour", "dep_delay", "distance", "arr_delay")
        )
        self._hour, self._delay, self._distance, self._arrival = hour, delay, distance, arrival

    def __call__(self, hour: int, dep_delay: int | None, distance: int) -> bool:
        """Look the flight's like up in the past."""
        if dep_delay is None:
            return False
        hours, minutes, miles = ALIKE_WITHIN
        alike = np.abs(self._delay - dep_delay) <= minutes
        alike &= np.abs(self._hour - hour) <= hours
        alike &= np.abs(self._distance - distance) <= miles
        arrivals = self._arrival[alike]
        return bool(len(arrivals)) and float(arrivals.mean()) > LATE


def _miles(north: float, east: float, to_north: float, to_east: float) -> float:
    """Along the great circle: the haversine formula."""
    half = math.sin((to_north - north) / 2) ** 2
    half += math.cos(north) * math.cos(to_north) * math.sin((to_east - east) / 2) ** 2
    return 2 * EARTH * math.asin(math.sqrt(half))


def _course(north: float, east: float, to_north: float, to_east: float) -> float:
    """Give the direction in which a great circle begins.

    It is from north over east.
    """
    across = math.sin(to_east - east) * math.cos(to_north)
    along = math.cos(north) * math.sin(to_north) - math.sin(north) * math.cos(to_north) * math.cos(to_east - east)
    return math.atan2(across, along)


def _move(north: float, east: float, course: float, miles: float) -> tuple[float, float]:
    """Give the place after some miles in a direction."""
    arc = miles / EARTH
    new = math.asin(math.sin(north) * math.cos(arc) + math.cos(north) * math.sin(arc) * math.cos(course))
    across = math.sin(course) * math.sin(arc) * math.cos(north)
    return new, east + math.atan2(across, math.cos(arc) - math.sin(north) * math.sin(new))
