"""Figures as people read them: one rounding for the terminal, for notebooks and for the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

WHOLE = 100
"""From here on a number is shown without decimals; below with three digits."""


def digits(value: float) -> str:
    """Three digits; of a large number all before the point.

    >>> digits(1234.5), digits(12.345), digits(0.012345)
    ('1,234', '12.3', '0.0123')
    """
    return f"{value:,.0f}" if abs(value) >= WHOLE else f"{value:.3g}"


def percent(value: float) -> str:
    """One decimal; nothing has no sign.

    >>> percent(-388.04), percent(20.56), percent(-0.01)
    ('-388.0', '20.6', '0.0')
    """
    return f"{round(value, 1) + 0.0:.1f}"


COLUMNS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "µs a tuple": ("us_per_tuple", digits),
    "time saved %": ("time_saved_percent", percent),
    "at least": ("time_saved_percent_low", percent),
    "at most": ("time_saved_percent_high", percent),
    "calls a tuple": ("calls_per_tuple", digits),
    "calls saved %": ("calls_saved_percent", percent),
    "deciding %": ("deciding_percent", percent),
    "runs": ("runs", digits),
}
"""What a summary shows: the title, the figure of `statistics` behind it, and how it is written."""


def frame(rows: Sequence[Mapping[str, Any]], *index: str) -> pd.DataFrame:
    """Summaries as numbers, each rounded to what is shown of it."""
    numbers = _texts(rows, index).map(lambda text: float(text.replace(",", "")) if text else None)
    made = numbers.astype({title: "int64" if title == "runs" else "float64" for title in COLUMNS})
    made.insert(0, "role", [row["role"] for row in rows])
    return made


def text(rows: Sequence[Mapping[str, Any]], *index: str) -> str:
    """Summaries as a table for a terminal."""
    shown = _texts(rows, index)
    shown.insert(0, "role", [row["role"] for row in rows])
    return str(shown.reset_index().to_string(index=False))


def _texts(rows: Sequence[Mapping[str, Any]], index: Sequence[str]) -> pd.DataFrame:
    found = [[_text(row[name], write) for name, write in COLUMNS.values()] for row in rows]
    keys = [[row[name] for row in rows] for name in index]
    place = pd.Index(keys[0], name=index[0]) if len(keys) == 1 else pd.MultiIndex.from_arrays(keys, names=list(index))
    return pd.DataFrame(found, columns=list(COLUMNS), index=place)


def _text(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)
