"""Figures as people read them.

There is one rounding for the terminal, for notebooks and for the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LEAST_WHOLE = 100
"""From here on a number is shown without decimals; below with three digits."""

TWICE = 1.5
"""From so many times as long on, a factor says more than per cent."""

MOST_OF = 0.5
"""The share of what is lost from which on one part of the time is the reason."""

FEWER = 1.0
"""Per cent of the calls that count as fewer or more."""

Row = Mapping[str, Any]


def digits(value: float) -> str:
    """Three digits; of a large number all before the point.

    >>> digits(1234.5), digits(12.345), digits(0.012345)
    ('1,234', '12.3', '0.0123')
    """
    return f"{value:,.0f}" if abs(value) >= LEAST_WHOLE else f"{value:.3g}"


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
"""The columns of a summary: the title, the figure of `statistics` behind it, and how it is written."""


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
    import pandas as pd  # noqa: PLC0415  for whoever compares, not for all who import us

    place = pd.Index(keys[0], name=index[0]) if len(keys) == 1 else pd.MultiIndex.from_arrays(keys, names=list(index))
    return pd.DataFrame(found, columns=list(COLUMNS), index=place)


def _text(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def times(row: Row) -> str:
    """Say how long it takes beside the baseline.

    >>> times({"time_saved_percent": -700.0}), times({"time_saved_percent": -12.0})
    ('8.0 times as long', '12 % longer')
    """
    longer = -float(row["time_saved_percent"])
    return f"{1 + longer / 100:.1f} times as long" if longer >= (TWICE - 1) * 100 else f"{longer:.0f} % longer"


def slower(row: Row, baseline: Row) -> str:
    """Say how much longer, how surely, and why.

    The reason is given as far as the figures tell.
    """
    low, high = (1 - float(row[f"time_saved_percent_{end}"]) / 100 for end in ("high", "low"))
    sure = f"(95 % interval {low:.2f} to {high:.2f} times)"
    why = _explain_slower(row, baseline)
    return f'"{row["policy"]}" takes {times(row)} {sure}{f": {why}" if why else ""}.'


def _explain_slower(row: Row, baseline: Row) -> str:
    """Say where the engine's time went: deciding or operators.

    It is "" where neither is most of the loss.
    """
    lost = row["us_per_tuple"] - baseline["us_per_tuple"]
    deciding = _deciding(row) - _deciding(baseline)
    working = row["operators_us_per_tuple"] - baseline["operators_us_per_tuple"]
    if lost <= 0 or max(deciding, working) < MOST_OF * lost:
        return ""
    return _blame_deciding(row, baseline, deciding) if deciding >= working else _blame_operators(row, baseline, working)


def _blame_deciding(row: Row, baseline: Row, deciding: float) -> str:
    """Say that deciding took the time.

    If no work at all would cost less than that, nothing that is learned can pay.
    """
    all_work = baseline["operators_us_per_tuple"]
    told = f"deciding takes {digits(deciding)} µs a row more"
    if deciding >= all_work:
        return (
            f'{told}, and all work of the operators under "{baseline["policy"]}" is {digits(all_work)} µs a row; '
            "these filters and joins are too cheap to learn about"
        )
    spared = all_work - row["operators_us_per_tuple"]
    if spared > 0:
        return f"{told}, and spares the operators {digits(spared)} µs of {digits(all_work)}"
    return f"{told}, and spares the operators nothing"


def _blame_operators(row: Row, baseline: Row, working: float) -> str:
    """Say that operators took the time.

    They had more calls, or calls that are dearer.
    """
    told = f"its operators take {digits(working)} µs a row more"
    saved = row["calls_saved_percent"] or 0.0
    if saved < -FEWER:
        return f"{told}, with {-saved:.0f} % more calls"
    mine, theirs = (r["operators_us_per_tuple"] / r["calls_per_tuple"] for r in (row, baseline))
    fewer = f"{saved:.0f} % fewer" if saved > FEWER else "as many"
    return f"{told}: with {fewer} calls, a call takes {digits(mine)} µs instead of {digits(theirs)}"


def _deciding(row: Row) -> float:
    return float(row["routing_us_per_tuple"] + row["learning_us_per_tuple"])
