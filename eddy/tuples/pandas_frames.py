"""Frames of pandas, which is imported when the first of them is made.

Importing pandas takes longer than all of ours, and hardly anything needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from eddy.tuples.arrays import Numbers
from eddy.tuples.event_time import UNZONED, ZONED

if TYPE_CHECKING:
    import pandas as pd

NO_TIME = np.iinfo(np.int64).min
"""The number that numpy has for a time that is missing."""


def make_frame(
    rows: Sequence[Any] | Mapping[str, Any], columns: Sequence[str] | None = None, *, as_objects: bool = False
) -> pd.DataFrame:
    """Make a frame of rows, or of columns by name.

    Values stay the Python objects that they are if that is asked for.

    >>> make_frame([[1, "a"]], ["number", "text"]).to_dict("list")
    {'number': [1], 'text': ['a']}
    """
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.DataFrame(rows, columns=None if columns is None else list(columns), dtype=object if as_objects else None)


def put_beside(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put frames of one index side by side."""
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.concat(list(frames), axis=1)


def make_series(values: Sequence[Any]) -> pd.Series[Any]:
    """Make a Series of Python objects."""
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.Series(values, dtype=object)


def make_times(ticks: Sequence[float | None], clock: str | None) -> pd.Series[Any]:
    """Make a Series of ticks, as the time columns that they are from would show them.

    >>> make_times([1_000_000, None], ZONED).tolist()
    [Timestamp('1970-01-01 00:00:01+0000', tz='UTC'), NaT]
    """
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    if clock not in (ZONED, UNZONED):
        whole = all(isinstance(tick, int | None) for tick in ticks)
        return pd.Series(ticks, dtype="Int64" if whole else "float64")
    # A watermark below the least time that there is stands for that time.
    micros = [NO_TIME if tick is None else max(int(tick), NO_TIME + 1) for tick in ticks]
    times = pd.Series(np.array(micros, np.int64).view("datetime64[us]"))
    return times.dt.tz_localize("UTC") if clock == ZONED else times


def wrap_numbers(numbers: Numbers) -> pd.Series[Any]:
    """Make a Series over an array of numbers, without a copy."""
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.Series(numbers, copy=False)


def is_frame(value: object) -> TypeGuard[pd.DataFrame]:
    """Tell whether a value is a DataFrame."""
    kind = _find("DataFrame")
    return kind is not None and isinstance(value, kind)


def is_series(value: object) -> TypeGuard[pd.Series[Any]]:
    """Tell whether a value is a Series."""
    kind = _find("Series")
    return kind is not None and isinstance(value, kind)


def is_series_type(kind: object) -> bool:
    """Tell whether an annotation is Series."""
    return kind is not None and kind is _find("Series")


def _find(name: str) -> type | None:
    # None stands for a pandas that was not imported: then nobody can have made or named what it has.
    return getattr(sys.modules.get("pandas"), name, None)
