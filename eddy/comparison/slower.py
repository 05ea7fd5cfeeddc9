"""How much longer a policy takes than the baseline, and what of it took the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.comparison.readable import digits

TWICE = 1.5
"""From so many times as long on, a factor says more than per cent."""

MOST_OF = 0.5
"""The share of what is lost from which on one part of the time is the reason."""

FEWER = 1.0
"""Per cent of the calls that count as fewer or more."""

Row = Mapping[str, Any]


def times(row: Row) -> str:
    """How long it takes beside the baseline.

    >>> times({"time_saved_percent": -700.0}), times({"time_saved_percent": -12.0})
    ('8.0 times as long', '12 % longer')
    """
    longer = -float(row["time_saved_percent"])
    return f"{1 + longer / 100:.1f} times as long" if longer >= (TWICE - 1) * 100 else f"{longer:.0f} % longer"


def slower(row: Row, baseline: Row) -> str:
    """How much longer, how sure that is, and why, as far as the figures tell."""
    low, high = (1 - float(row[f"time_saved_percent_{end}"]) / 100 for end in ("high", "low"))
    sure = f"(95 % interval {low:.2f} to {high:.2f} times)"
    why = _why(row, baseline)
    return f'"{row["policy"]}" takes {times(row)} {sure}{f": {why}" if why else ""}.'


def _why(row: Row, baseline: Row) -> str:
    """Where the engine's time went: into deciding, or into operators; "" where neither is most of what is lost."""
    lost = row["us_per_tuple"] - baseline["us_per_tuple"]
    deciding = _deciding(row) - _deciding(baseline)
    working = row["operators_us_per_tuple"] - baseline["operators_us_per_tuple"]
    if lost <= 0 or max(deciding, working) < MOST_OF * lost:
        return ""
    return _by_deciding(row, baseline, deciding) if deciding >= working else _by_working(row, baseline, working)


def _by_deciding(row: Row, baseline: Row, deciding: float) -> str:
    """Deciding took it. If no work at all would cost less than that, nothing that is learned can pay."""
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


def _by_working(row: Row, baseline: Row, working: float) -> str:
    """The operators took it: by more calls, or by calls that are dearer."""
    told = f"its operators take {digits(working)} µs a row more"
    saved = row["calls_saved_percent"] or 0.0
    if saved < -FEWER:
        return f"{told}, with {-saved:.0f} % more calls"
    mine, theirs = (r["operators_us_per_tuple"] / r["calls_per_tuple"] for r in (row, baseline))
    fewer = f"{saved:.0f} % fewer" if saved > FEWER else "as many"
    return f"{told}: with {fewer} calls, a call takes {digits(mine)} µs instead of {digits(theirs)}"


def _deciding(row: Row) -> float:
    return float(row["routing_us_per_tuple"] + row["learning_us_per_tuple"])
