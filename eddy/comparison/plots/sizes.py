"""Cost against the size of micro-batches and of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from eddy.comparison.contender import CONTROL
from eddy.comparison.plots.style import cut, figure, legend, line, panels, thousands
from eddy.comparison.summary import MICRO, QUARTILES, TIME

if TYPE_CHECKING:
    from eddy.comparison.comparison import Comparison


def several(comparison: Comparison, column: str) -> bool:
    """Are there runs of more than one size, of one policy."""
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
    frame = pd.DataFrame(list(comparison.runs))
    frame = frame[(frame["role"] != CONTROL) & frame[column].notna()]
    frame["us"] = frame[TIME[str(frame["runner"].iloc[0])]] / frame["tuples"] * MICRO
    frame["calls"] = frame["routing_calls"] / frame["tuples"]
    made = figure(1)
    grid = panels(made, 2)[0]
    for axes, value, name in zip(grid, ("us", "calls"), ("microseconds a tuple", "routing calls a tuple"), strict=True):
        for number, policy in enumerate(dict.fromkeys(frame["policy"])):
            own = frame[frame["policy"] == policy].groupby(column)[value]
            middle, low, high = own.median(), own.quantile(QUARTILES[0]), own.quantile(QUARTILES[1])
            reach = np.array([middle - low, high - middle])
            axes.errorbar(middle.index, middle, yerr=reach, capsize=3, label=cut(str(policy)), **line(number))
        axes.set(xlabel=label, ylabel=name, xscale="log")
        axes.set_ylim(bottom=0)
        axes.set_xticks(sorted(frame[column].unique()))
        axes.xaxis.set_minor_formatter(NullFormatter())
        thousands(axes.xaxis)
    legend(made, grid[0])
    return made
