"""The Lab trace: its schema, and the file that the real one comes as.

The real trace is not part of this project. It is a text file with a reading per line: date, time, epoch, sensor,
temperature, humidity, light, voltage, separated by blanks. Some lines are cut short or damaged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from eddy.errors import QueryError

SENSORS = 54

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
"""What can be true. A sensor whose battery runs low reports 122 degrees and a negative humidity."""

Numbers = np.ndarray[Any, Any]


def lab_trace(path: str | Path) -> pa.Table:
    """Read the real trace: without missing and impossible values, in the order of generation."""
    try:
        lines = pd.read_csv(path, sep=r"\s+", names=list(FIELDS), dtype=str, on_bad_lines="skip", index_col=False)
    except (OSError, ValueError) as error:
        raise QueryError(f'lab trace "{path}": cannot be read: {error}') from error
    clean = cleansed(lines)
    if clean.empty:
        raise QueryError(f'lab trace "{path}": expected lines of {", ".join(FIELDS)}; none of {len(lines)} is one')
    at = clean["at"].to_numpy("datetime64[us]")
    return readings(at, *(clean[name].to_numpy() for name in FIELDS[2:]))


def cleansed(lines: pd.DataFrame) -> pd.DataFrame:
    """The lines that are whole and possible, by time."""
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
    """The table of the paper: measurements, the sensor, and the parts of the time."""
    measured = {"temperature": temperature, "humidity": humidity, "light": light, "voltage": voltage}
    whole = {"epoch": epoch.astype(np.int64), "sensorid": sensorid.astype(np.int64)}
    return pa.table({"at": at.astype("datetime64[us]"), **whole, **measured, **_parts(at)})


def _parts(at: Numbers) -> dict[str, Numbers]:
    """Year to second of each time."""
    stamps = pd.DatetimeIndex(at)
    names = ("year", "month", "day", "hour", "minute", "second")
    return {name: np.asarray(getattr(stamps, name), np.int64) for name in names}
