"""Summaries as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.comparison.contender import BASELINE, BOUND, CONTROL
from eddy.comparison.html.table import Cell, Line, table
from eddy.comparison.readable import digits, percent
from eddy.comparison.summary import SHARES, grouped, summary
from eddy.comparison.verdict import by_workload

TITLES = ["policy", "µs a tuple", "time saved %", "calls a tuple", "calls saved %", "one run, s"]
MORE = ["deciding %", "runs"]

BADGES = {BASELINE: "baseline", CONTROL: "A/A control", BOUND: "is told the truth"}
"""What a role is called."""

Row = Mapping[str, Any]


def policies(rows: Sequence[Row], choice: str, *, sorts: bool = True) -> str:
    """A line for each policy, on all workloads."""
    lines = [Line(cells=_policy(row), look=_look(row, choice)) for row in summary(rows)]
    return table([*TITLES, *MORE], lines, sorts=sorts)


def workloads(runs: Sequence[Row]) -> str:
    """A line for each policy on each workload."""
    lines = []
    for workload, part in grouped(runs).items():
        choice = by_workload(part)[workload].choice
        lines += [Line(cells=[Cell(text=workload), *_policy(r)], look=_look(r, choice)) for r in summary(part)]
    return table(["workload", *TITLES, *MORE], lines, texts=2)


def choices(runs: Sequence[Row], *, sorts: bool = True) -> str:
    """A line for each workload: whom to choose, and what that saves."""
    lines = []
    for workload, part in grouped(runs).items():
        verdict = by_workload(part)[workload]
        row = next((row for row in summary(part) if row["policy"] == verdict.choice), None)
        cells = [Cell(text=workload), Cell(text=verdict.choice or "not known")]
        if row is None or row["role"] == BASELINE:
            says = "no other is surely quicker" if row is not None else "too few runs"
            cells += [Cell(text="baseline", value="", small=says), Cell(text="", value="")]
        else:
            cells += [_saved(row, "time"), _saved(row, "calls")]
        noise = None if row is None else row["noise_percent"]
        lines.append(Line(cells=[*cells, Cell(text="" if noise is None else percent(noise), value=noise)]))
    return table(["on this data", "choose", "time saved %", "calls saved %", "noise %"], lines, texts=2, sorts=sorts)


def _look(row: Row, choice: str) -> str:
    if row["policy"] == choice:
        return "chosen"
    return str(row["role"]) if row["role"] in (CONTROL, BOUND) else ""


def _policy(row: Row) -> list[Cell]:
    return [
        Cell(text=str(row["policy"]), badge=BADGES.get(str(row["role"]), "")),
        _measured(row, "us_per_tuple"),
        _saved(row, "time"),
        _measured(row, "calls_per_tuple"),
        _saved(row, "calls"),
        _measured(row, "seconds"),
        _deciding(row),
        Cell(text=str(row["runs"]), value=row["runs"]),
    ]


def _deciding(row: Row) -> Cell:
    """The part of the time that the policy takes for itself."""
    value = row["deciding_percent"]
    parts = ", ".join(f"{name} {percent(row[f'{name}_percent'])}" for name in SHARES)
    return Cell(text=percent(value), value=value, small=parts)


def _measured(row: Row, name: str) -> Cell:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    spread = "" if low == high else f"{digits(low)} to {digits(high)}"
    return Cell(text=digits(value), value=value, small=spread)


def _saved(row: Row, what: str) -> Cell:
    name = f"{what}_saved_percent"
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None:
        return Cell(text="", value="")
    if low is None or high is None:
        return Cell(text=percent(value), value=value)
    noise = row["noise_percent"] if what == "time" and row["noise_percent"] is not None else 0.0
    sure = "good" if low > 0 and value > noise else "bad" if high < 0 and -value > noise else ""
    look = "" if row["role"] == CONTROL else sure
    return Cell(text=percent(value), value=value, small=f"{percent(low)} to {percent(high)}", look=look)
