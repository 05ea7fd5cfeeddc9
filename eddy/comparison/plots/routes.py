"""Plots of the routes of each class over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from eddy.classes.value_names import OTHERS
from eddy.comparison.plots.style import COLOURS, cut, drift, figure, fill, focus, panels, thousands
from eddy.comparison.plots.timeline import bins_of
from eddy.comparison.turns import Traced

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison

MOST_PANELS = 4
"""Panels: the largest classes."""

TOLD_APART = len(COLOURS) - 1
"""Routes with a pattern of their own; all others have one together."""

ALL_ALIKE = "all tuples alike"
"""The name of the class where a stream has only one."""


def routes(comparison: Comparison) -> Figure:
    """Shares of the routes of each class, for one policy on one workload."""
    traced = focus(comparison.traced, "routes")
    frame = pd.DataFrame(dict(traced.trace.routes))
    frame["class"] = frame["stream"] + ": " + frame["class"].replace("", ALL_ALIKE)
    sizes = frame.groupby("class")["tuples"].sum().sort_values(ascending=False)
    shown = sorted(name for name in sizes.index if not name.endswith(f": {OTHERS}"))
    shown = [name for name in sizes.index if name in shown][:MOST_PANELS] or list(sizes.index[:1])
    often = frame[frame["class"].isin(shown)].groupby("route")["tuples"].sum().sort_values(ascending=False)
    usual = [str(route) for route in often.index if route != OTHERS][:TOLD_APART]
    frame["route"] = frame["route"].where(frame["route"].isin(usual), "other routes")
    names = [*usual, "other routes"]
    made = figure(1, height=1.55 * len(shown) + 0.26 * len(names) + 0.7)
    grid = [row[0] for row in panels(made, 1, rows=len(shown), sharex="col")]
    for axes, name in zip(grid, shown, strict=True):
        _shares(axes, frame[frame["class"] == name], names, traced)
        axes.set(title=f"{cut(name, 60)} ({sizes[name] / sizes.sum():.0%} of the tuples)", ylabel="share")
    grid[-1].set_xlabel("tuples so far")
    made.suptitle(f"{cut(traced.policy)} on {cut(traced.workload)}", fontsize=10, x=0.01, ha="left")
    made.legend(
        *grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=1, title="routes", alignment="left"
    )
    return made


def _shares(axes: Axes, frame: pd.DataFrame, names: list[str], traced: Traced) -> None:
    """Areas that add up to all tuples of the class, where there are any."""
    batches = list(traced.trace.batches["batch"])
    wide = frame.pivot_table(index="batch", columns="route", values="tuples", aggfunc="sum", fill_value=0)
    counts = wide.reindex(index=batches, columns=names, fill_value=0).to_numpy(np.float64)
    bins = bins_of(len(batches))
    sums = np.add.reduceat(counts, bins, axis=0)
    shares = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)
    ends = np.array(traced.trace.batches["tuples"], np.float64)
    edges = np.concatenate([[0.0], np.maximum.reduceat(ends, bins)])
    bottom = np.zeros(len(bins))
    for number, name in enumerate(names):
        top = bottom + shares[:, number]
        low, high = np.append(bottom, bottom[-1]), np.append(top, top[-1])
        axes.fill_between(edges, low, high, step="post", linewidth=0.4, label=cut(name, 90), **fill(number))
        bottom = top
    drift(axes, traced.drift_points)
    axes.set(xlim=(0, edges[-1]), ylim=(0, 1))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    thousands(axes.xaxis)
