"""Cost against the size of micro-batches and of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from eddy.comparison.contender import CONTROL
from eddy.comparison.plots.style import cut, figure, legend, line, panels, thousands
from eddy.comparison.summary import MICRO, QUARTILES, TIME

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison

MOST_WORKLOAD_ROWS = 4
"""Workloads, one below the other: of more, the first."""

MEASURES = {"us": "microseconds a tuple", "calls": "routing calls a tuple"}

TOLD = {"batch_rows": r" batch_rows=\d+", "window_size": r" window=[A-Za-z]+\([^)]*\)"}
"""The part of a workload's name that tells a size apart."""


def has_several(comparison: Comparison, column: str) -> bool:
    """Tell whether there are runs of several sizes, of one policy."""
    found = {(row["policy"], row[column]) for row in comparison.runs if row.get(column) is not None}
    policies = {policy for policy, _ in found}
    return len(found) > len(policies)


def batch_size(comparison: Comparison) -> Figure:
    """Time a tuple over the rows of a micro-batch."""
    return _sizes(comparison, "batch_rows", "rows of a micro-batch")


def window_size(comparison: Comparison) -> Figure:
    """Time a tuple over the length of the windows."""
    units = {row["window_unit"] for row in comparison.runs if row.get("window_unit")}
    return _sizes(comparison, "window_size", f"window, {' or '.join(sorted(units))}")


def _sizes(comparison: Comparison, column: str, label: str) -> Figure:
    """Draw a row of panels for each workload and other size.

    Runs of different work have no median in common.
    """
    frame = pd.DataFrame(list(comparison.runs))
    frame = frame[(frame["role"] != CONTROL) & frame[column].notna()].copy()
    frame["us"] = frame[TIME[str(frame["runner"].iloc[0])]] / frame["tuples"] * MICRO
    frame["calls"] = frame["routing_calls"] / frame["tuples"]
    frame["of"] = frame["workload"].str.replace(TOLD[column], "", regex=True)
    parts = {str(name): part for name, part in frame.groupby("of", sort=False)}
    shown = list(parts)[:MOST_WORKLOAD_ROWS]
    made = figure(len(shown))
    grid = panels(made, len(MEASURES), rows=len(shown), sharex="col")
    for row, name in zip(grid, shown, strict=True):
        for axes, measure in zip(row, MEASURES, strict=True):
            _panel(axes, parts[name], column, measure)
        row[0].set_title(cut(name) if len(parts) > 1 else "")
    for axes in grid[-1]:
        axes.set_xlabel(label)
    if len(parts) > len(shown):
        made.suptitle(f"the first {len(shown)} of {len(parts)}; the table has all of them", fontsize=9)
    legend(made, *grid[0])
    return made


def _panel(axes: Axes, frame: pd.DataFrame, column: str, measure: str) -> None:
    """Draw a line for each policy over the sizes."""
    for number, policy in enumerate(dict.fromkeys(frame["policy"])):
        own = frame[frame["policy"] == policy].groupby(column)[measure]
        middle, low, high = own.median(), own.quantile(QUARTILES[0]), own.quantile(QUARTILES[1])
        reach = np.array([middle - low, high - middle])
        axes.errorbar(middle.index, middle, yerr=reach, capsize=3, label=cut(str(policy)), **line(number))
    axes.set(ylabel=MEASURES[measure], xscale="log")
    axes.set_ylim(bottom=0)
    axes.set_xticks(sorted(frame[column].unique()))
    axes.xaxis.set_minor_formatter(NullFormatter())
    thousands(axes.xaxis)
