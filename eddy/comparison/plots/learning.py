"""Plots of what a policy sees and learns over time.

As figure 8 of the content-based routing paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eddy.comparison.plots.style import cut, drift, figure, focus, legend, line, panels, thousands
from eddy.comparison.plots.timeline import bins_of
from eddy.comparison.turns import Traced

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison

MOST_LINES = 8
"""Lines: so many can be told apart."""


def selectivity(comparison: Comparison) -> Figure:
    """Outputs per input of each operator, as the policy met it."""
    traced = _same(comparison, focus(comparison.traced, "operators"))
    frame = pd.DataFrame(dict(traced.trace.operators))
    frame["name"] = frame["operator"] + np.where(frame["pattern"] == "", "", " by " + frame["pattern"])
    return _draw(traced, frame, "rows_out", "rows_in", "outputs per input")


def gain_ratio(comparison: Comparison) -> Figure:
    """The gain ratio of the attribute that each operator's calls went by."""
    traced = focus(comparison.traced, "learning")
    frame = pd.DataFrame(dict(traced.trace.learning))
    frame = frame[(frame["kind"] == "classified") & (frame["attribute"] != "")].copy()
    frame["name"] = frame["operator"] + " by " + frame["attribute"]
    frame["weighed"] = frame["gain_ratio"] * frame["calls"]
    return _draw(traced, frame, "weighed", "calls", "gain ratio")


def _same(comparison: Comparison, found: Traced) -> Traced:
    """The run whose gain ratios are drawn, if there is one: both are of one policy."""
    learning = [one for one in comparison.traced if one.workload == found.workload and len(one.trace.learning["batch"])]
    return learning[0] if learning else found


def _draw(traced: Traced, frame: pd.DataFrame, above: str, below: str, label: str) -> Figure:
    made = figure(1, height=3.3)
    axes = panels(made, 1)[0][0]
    sizes = frame.groupby("name")[below].sum().sort_values(ascending=False)
    for number, name in enumerate(sorted(sizes.index[:MOST_LINES])):
        _line(axes, traced, frame[frame["name"] == name], above, below, number)
    drift(axes, traced.drift_points)
    left = f", the {MOST_LINES} most used of {len(sizes)}" if len(sizes) > MOST_LINES else ""
    axes.set(title=f"{cut(traced.policy)} on {cut(traced.workload)}{left}", xlabel="tuples so far", ylabel=label)
    axes.set_ylim(bottom=0)
    thousands(axes.xaxis)
    legend(made, axes, columns=3)
    return made


def _line(axes: Axes, traced: Traced, frame: pd.DataFrame, above: str, below: str, number: int) -> None:
    """A line with a gap where the operator was not called."""
    batches = list(traced.trace.batches["batch"])
    sums = frame.groupby("batch")[[above, below]].sum().reindex(batches, fill_value=0)
    bins = bins_of(len(batches))
    up, down = (np.add.reduceat(sums[name].to_numpy(np.float64), bins) for name in (above, below))
    ends = np.maximum.reduceat(np.array(traced.trace.batches["tuples"], np.float64), bins)
    values = np.divide(up, down, out=np.full(len(bins), np.nan), where=down > 0)
    axes.plot(ends, values, label=cut(str(frame["name"].iloc[0])), markevery=max(len(ends) // 8, 1), **line(number))
