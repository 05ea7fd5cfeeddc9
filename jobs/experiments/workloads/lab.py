"""The Lab workload: 54 sensors in a building.

The readings are generated, or read from the real trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_choice, check_whole
from eddy.jobs.experiments.workloads.burn import MaskFunction, add_work
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Floats, Numbers

if TYPE_CHECKING:
    import pandas as pd

LAB_ROWS = 100_000
EPOCH_SECONDS = 31
HEARD_SHARE = 0.65
"""The share of readings that reach the base station: 2.2 of 3.5 million in the real trace."""

START = np.datetime64("2004-02-28T06:00:00", "us")
DAY = 24.0
MOST_DAYS = 38
"""As long as the real trace. By then the first batteries are empty."""

FEWEST_DAYS = 0.001
"""Somewhat more than a minute."""

WEATHER_DAYS = 5.0
"""Between one spell of warm weather and the next."""

STEPS = (0.0098, 0.03, 0.46, 0.0085)
"""In which temperature, humidity, light and voltage are measured."""

SENSORS = 54
WINDOWS, OFFICES = 18, 20
"""Sensors with numbers up to 18 stand at windows, the next 20 in offices with lamps, the others in hallways."""

BRIGHT = 500
"""Q1: light above this many lux."""

RANGED = ("light", "temperature", "humidity", "voltage")
TAIL = 0.25
"""Q2: each range begins among this share of the lowest readings, and ends among this share of the highest."""

JOINED = "joined"
"""The query of section 9.4 of the AMRI paper: readings of four groups of sensors that stand together, which agree in
temperature, humidity and place."""

GROUPS = ("north", "west", "south", "east")
PAIRED = {
    "temperature": (("north", "west"), ("south", "east")),
    "humidity": (("north", "south"), ("west", "east")),
    "place": (("north", "east"), ("west", "south")),
}
"""Each two groups agree in one of them."""

KEY_STEPS = {"temperature": 0.1, "humidity": 0.2}
"""Readings agree when they are in the same step."""

FLOOR_METRES = 40
"""The sensors stand along the walls of a floor so long, in the order of their numbers. A place is the distance from one
end in metres, so that opposite walls have the same places."""

A_FEW_EPOCHS = 4 * SENSORS
"""Readings among which every place has one."""

APART = "30 minutes"
"""Groups may be so far from each other after the same number of readings: in each, others are lost."""

JOINED_WINDOW = "1 hour"
"""In which a group makes a thousand readings."""

Tests = Sequence[tuple[str, MaskFunction]]
FIELDS = ("date", "time", "epoch", "sensorid", "temperature", "humidity", "light", "voltage")
"""As they stand in a line of the file."""

POSSIBLE = {
    "epoch": (0, 2**31),
    "sensorid": (1, SENSORS),
    "temperature": (-10, 60),
    "humidity": (0, 100),
    "light": (0, 10_000),
    "voltage": (1.8, 3.6),
}
"""The range of possible values. A sensor whose battery runs low reports 122 degrees and a negative humidity."""


def lab(
    *,
    query: str = "q1",
    rows: int = LAB_ROWS,
    seed: int = 0,
    days: float | None = None,
    trace: str | None = None,
    cost_us: float = 0,
) -> Workload:
    """Build query Q1 or a random query Q2 of section 6.6, or the query "joined" of another paper.

    Over generated readings or the first rows of the real trace.

    Sensors report every 31 seconds, which makes 100,000 rows in a day and a half; or as rarely as it takes to
    spread the rows over so many `days`.

    >>> lab(query="q2", rows=200).query.filters[0].name
    'light'
    """
    _check(query, rows, days, cost_us)
    drawn = max(rows, A_FEW_EPOCHS) if query == JOINED else rows
    table = generate_readings(drawn, seed, days) if trace is None else lab_trace(trace).slice(0, drawn)
    table = table.append_column("id", pa.array(np.arange(table.num_rows)))
    if query == JOINED:
        return _join(table, rows)
    tests = QUERIES[query](table, np.random.default_rng([seed, 4]))
    filters = [
        eddy.Filter(name, on="sensors", function=add_work(judge, cost_us), columns=[name]) for name, judge in tests
    ]
    return Workload(
        name="lab",
        query=eddy.Query(
            name=query, streams=[eddy.Stream("sensors", time="at")], filters=filters, select=["sensors.id"]
        ),
        data={"sensors": table},
        facts={"operators": len(filters), "cost_us": cost_us, "query": query},
    )


def _check(query: object, rows: object, days: object, cost_us: object) -> None:
    check_choice(query, (*QUERIES, JOINED), "query", where="workload lab")
    check_whole(rows, "rows", where="workload lab")
    if days is not None:
        check_number(days, "days", FEWEST_DAYS, where="workload lab", most=MOST_DAYS)
    check_number(cost_us, "cost_us", where="workload lab")
    if query == JOINED and cost_us:
        raise QueryError(f'workload lab: cost_us is for filters; query "{JOINED}" has none, got {cost_us!r}')


def _join(table: pa.Table, rows: int) -> Workload:
    """Join four groups of sensors, each two by one of three keys in steps."""
    sensor = table.column("sensorid").to_numpy() - 1
    keys = {name: np.floor(table.column(name).to_numpy() / step) for name, step in KEY_STEPS.items()}
    keys["place"] = np.floor(FLOOR_METRES / 2 * (1 + np.cos((2 * sensor + 1) * np.pi / SENSORS)))
    for name, values in keys.items():
        table = table.append_column(f"{name}_step", pa.array(values.astype(np.int64)))
    group = sensor * len(GROUPS) // SENSORS
    query = eddy.Query(
        name=JOINED,
        streams=[eddy.Stream(name, time="at", window=eddy.Range(JOINED_WINDOW), delay=APART) for name in GROUPS],
        joins=[f"{a}.{key}_step = {b}.{key}_step" for key, pairs in PAIRED.items() for a, b in pairs],
        select=[f"{name}.id AS {name}_id" for name in GROUPS],
    )
    data = dict(zip(GROUPS, divide(table, group, rows), strict=True))
    facts = {"streams": len(GROUPS), "operators": len(GROUPS), "query": JOINED}
    return Workload(name="lab", query=query, data=data, facts=facts)


def divide(table: pa.Table, group: Numbers, rows: int) -> list[pa.Table]:
    """Divide the first readings into groups, of which each has one at least.

    However few there are, every group has one: an experiment tries its policies on one row.
    """
    taken = np.union1d(np.arange(min(rows, table.num_rows)), np.unique(group, return_index=True)[1])
    return [table.take(pa.array(taken[group[taken] == one])) for one in np.unique(group)]


def generate_readings(rows: int, seed: int, days: float | None = None) -> pa.Table:
    """Generate readings of the shape of the real trace.

    They are in the order of their generation.
    """
    rng = np.random.default_rng([seed, 3])
    heard = np.cumsum(rng.geometric(HEARD_SHARE, rows)) - 1
    epoch, sensor = heard // SENSORS + 1, heard % SENSORS + 1
    every = EPOCH_SECONDS if days is None else days * DAY * 3_600 / (int(epoch[-1]) + 1)
    seconds = (epoch + sensor / (SENSORS + 1)) * every
    at = START + (seconds * 1e6).astype("timedelta64[us]")
    return readings(at, epoch, sensor, *_values(rng, at, sensor))


def _values(rng: np.random.Generator, at: np.ndarray[Any, Any], sensor: np.ndarray[Any, Any]) -> Sequence[Floats]:
    """Generate temperature, humidity, light and voltage.

    They go in the steps in which the sensors measure. Each sensor has a nature of its own, `own`; the weather is the
    same for all, and slower than the day.
    """
    hour = (at - at.astype("datetime64[D]")) / np.timedelta64(1, "h")
    days = (at - START) / np.timedelta64(1, "D")
    own, noise = rng.normal(0, 1, (SENSORS + 1, 4))[sensor], rng.normal(0, 1, (len(sensor), 4))
    clouds = rng.uniform(0.4, 1.0, MOST_DAYS + 2)[days.astype(int)]
    sun = np.clip(np.sin((hour - 6) / DAY * 2 * np.pi), 0, None) * clouds
    place = np.where(sensor <= WINDOWS, 0, np.where(sensor <= WINDOWS + OFFICES, 1, 2))
    working = (hour > 8.5 + own[:, 3] / 2) & (hour < 19 + own[:, 3])
    lamps = np.where(working | (place == 2), np.array([250, 420, 150])[place] * np.exp(own[:, 0] / 4), 2)
    light = lamps + sun * np.array([1400, 250, 15])[place] * np.exp(own[:, 0] / 3)
    weather = np.sin(days * 2 * np.pi / WEATHER_DAYS)
    temperature = 20 + 1.5 * own[:, 1] + sun * np.array([6.5, 4.0, 2.0])[place] + working * 1.5 + weather
    humidity = 46 - 1.3 * (temperature - 20) + 3 * own[:, 2] - 5 * weather
    voltage = 2.7 + 0.05 * own[:, 3] - (0.012 + 0.004 * own[:, 2]) * days + 0.004 * (temperature - 20)
    disturbed = (temperature + 0.3 * noise[:, 0], humidity + 0.8 * noise[:, 1], light * np.exp(0.08 * noise[:, 2]))
    measured = (*disturbed, voltage + 0.005 * noise[:, 3])
    return [_steps(values, step) for values, step in zip(measured, STEPS, strict=True)]


def _steps(values: Floats, step: float) -> Floats:
    return np.round(values / step) * step


def _q1(_table: pa.Table, _rng: np.random.Generator) -> Tests:
    """One predicate only: no routing can gain anything."""
    return [("light", _above(BRIGHT))]


def _q2(table: pa.Table, rng: np.random.Generator) -> Tests:
    """Draw a random range of each of the four measurements."""
    tests = []
    for name in RANGED:
        values = table.column(name).to_numpy()
        low, high = np.quantile(values, [rng.uniform(0, TAIL), rng.uniform(1 - TAIL, 1)])
        tests.append((name, _between(float(low), float(high))))
    return tests


def _above(bound: float) -> MaskFunction:
    def above(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return values > bound

    return above


def _between(low: float, high: float) -> MaskFunction:
    def between(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return (values >= low) & (values <= high)

    return between


QUERIES: dict[str, Callable[[pa.Table, np.random.Generator], Tests]] = {"q1": _q1, "q2": _q2}
"""The queries of section 6.6."""


def lab_trace(path: str | Path) -> pa.Table:
    """Read the real trace, in the order of generation.

    Missing and impossible values are left out.
    """
    import pandas as pd  # noqa: PLC0415  other workloads do without it

    try:
        lines = pd.read_csv(path, sep=r"\s+", names=list(FIELDS), dtype=str, on_bad_lines="skip", index_col=False)
    except (OSError, ValueError) as error:
        raise QueryError(f'lab trace "{path}": cannot be read: {error}') from error
    clean = cleanse(lines)
    if clean.empty:
        raise QueryError(f'lab trace "{path}": expected lines of {", ".join(FIELDS)}; none of {len(lines)} is one')
    at = clean["at"].to_numpy("datetime64[us]")
    return readings(at, *(clean[name].to_numpy() for name in FIELDS[2:]))


def cleanse(lines: pd.DataFrame) -> pd.DataFrame:
    """Give the lines that are whole and possible, by time."""
    import pandas as pd  # noqa: PLC0415  other workloads do without it

    found = pd.DataFrame({name: pd.to_numeric(lines[name], errors="coerce") for name in POSSIBLE})
    found["at"] = pd.to_datetime(lines["date"] + " " + lines["time"], errors="coerce", format="ISO8601")
    good = found["at"].notna()
    for name, (low, high) in POSSIBLE.items():
        good &= found[name].between(low, high)
    return found[good].sort_values("at", kind="stable", ignore_index=True)


def readings(
    at: Numbers,
    epoch: Numbers,
    sensorid: Numbers,
    temperature: Numbers,
    humidity: Numbers,
    light: Numbers,
    voltage: Numbers,
) -> pa.Table:
    """Make the table of the paper.

    It has measurements, the sensor, and the parts of the time.
    """
    measured = {"temperature": temperature, "humidity": humidity, "light": light, "voltage": voltage}
    whole = {"epoch": epoch.astype(np.int64), "sensorid": sensorid.astype(np.int64)}
    return pa.table({"at": at.astype("datetime64[us]"), **whole, **measured, **_parts(at)})


def _parts(at: Numbers) -> dict[str, Numbers]:
    import pandas as pd  # noqa: PLC0415  other workloads do without it

    stamps = pd.DatetimeIndex(at)
    names = ("year", "month", "day", "hour", "minute", "second")
    return {name: np.asarray(getattr(stamps, name), np.int64) for name in names}
