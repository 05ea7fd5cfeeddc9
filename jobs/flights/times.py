"""Moments of departure and arrival, from local clock times.

The files say "517" for 5:17 on the clock of the airport, and no date for an arrival. A departure is the scheduled
moment, which is known in UTC, and the delay. An arrival is the first moment after the departure at which the clock of
the destination reads what is written down. Both are checked on the whole year: against the clock times, and against
the delays on arrival.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

MINUTE = 60_000_000
"""Microseconds."""

HOUR, DAY = 60, 24 * 60
"""Minutes."""

ELSEWHERE = "America/Puerto_Rico"
"""The zone of BQN, PSE, SJU and STT, the four destinations that the file of airports lacks."""


def departure_times(flights: pa.Table) -> pa.Array:
    """The moment of each departure; null for a cancelled flight."""
    return _later(scheduled_times(flights), _whole(flights, "dep_delay"))


def scheduled_times(flights: pa.Table) -> pa.Array:
    """The moment of each scheduled departure."""
    return _later(_whole(flights, "time_hour"), _whole(flights, "minute"))


def arrival_times(flights: pa.Table, airports: pa.Table) -> pa.Array:
    """The moment of each arrival; null where none is written down.

    Nobody flies from New York for a day, but somebody whose flight was diverted may arrive at the destination more
    than a day later. The delay of such an arrival is not in the file, so that could not be checked.
    """
    left, clock = departure_times(flights), _whole(flights, "arr_time")
    zones = _zones(flights, airports)
    moments = pd.Series(pd.NaT, index=range(flights.num_rows), dtype="datetime64[us, UTC]")
    for zone, rows in zones.groupby(zones).groups.items():
        places = pa.array(rows.to_numpy())
        moments.iloc[rows] = _next(left.take(places), clock.take(places), str(zone)).to_pandas()
    return pa.array(moments, pa.timestamp("us", "UTC"))


def _zones(flights: pa.Table, airports: pa.Table) -> pd.Series[str]:
    """The time zone of each destination."""
    known = airports.select(["faa", "tzone"]).to_pandas().set_index("faa")["tzone"]
    return _whole(flights, "dest").to_pandas().map(known).fillna(ELSEWHERE)


def _next(moments: pa.Array, clock: pa.Array, zone: str) -> pa.Array:
    """Find the first moment after each with such a clock time.

    A time is a number: 830 is half past eight.
    """
    local = pc.local_timestamp(moments.cast(pa.timestamp("us", zone)))
    hours = pc.divide(clock, 100)
    minutes = pc.add(pc.subtract(clock, pc.multiply(hours, 100)), pc.multiply(hours, 60))
    that_day = _later(pc.floor_temporal(local, unit="day"), minutes)
    return _moments(_later(that_day, pc.if_else(pc.less(that_day, local), DAY, 0)), zone)


def _moments(clock: pa.Array, zone: str) -> pa.Array:
    """Find the moments of local dates and clock times.

    In the night in which clocks are put back an hour comes twice, and the first of the two is meant. In the night in
    which they are put forward an hour is skipped; who writes 2:03 all the same has not put his clock forward yet.
    """
    there = _assumed(clock, zone)
    an_hour_before = pa.array([-HOUR] * len(clock))
    not_yet = _later(_assumed(_later(clock, an_hour_before), zone), pc.negate(an_hour_before))
    skipped = pc.not_equal(pc.local_timestamp(there), clock)
    return pc.if_else(skipped, not_yet, there).cast(pa.timestamp("us", "UTC"))


def _assumed(clock: pa.Array, zone: str) -> pa.Array:
    return pc.assume_timezone(clock, zone, ambiguous="earliest", nonexistent="latest")


def _later(moments: pa.Array, minutes: pa.Array) -> pa.Array:
    passed = pc.multiply(minutes.cast(pa.int64()), MINUTE).cast(pa.duration("us"))
    return pc.add(moments, passed)


def _whole(table: pa.Table, name: str) -> pa.Array:
    return table.column(name).combine_chunks()
