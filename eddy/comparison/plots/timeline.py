"""Plots of the cost of a tuple over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eddy.comparison.plots.style import MOST_POINTS, cut, drift, figure, legend, line, panels, thousands
from eddy.comparison.turns import Traced

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison

MOST_WORKLOADS = 3
"""Workloads side by side; those that change come first."""

MICRO = 1e6
MEASURES = {"routing_calls": ("routing calls a tuple", 1.0), "seconds": ("microseconds a tuple", MICRO)}
"""The column that is drawn, its name, and how many of its units are in one."""


def over_time(comparison: Comparison) -> Figure:
    """Calls and time a tuple, for each policy."""
    shown = workloads(comparison.traced)[:MOST_WORKLOADS]
    made = figure(len(MEASURES), height=2.3)
    grid = panels(made, len(shown), rows=len(MEASURES), sharex="col")
    numbers = {policy: number for number, policy in enumerate(dict.fromkeys(t.policy for t in comparison.traced))}
    for axes_row, column in zip(grid, MEASURES, strict=True):
        for axes, workload in zip(axes_row, shown, strict=True):
            own = [traced for traced in comparison.traced if traced.workload == workload]
            for traced in own:
                _line(axes, traced, column, numbers[traced.policy])
            drift(axes, own[0].drift_points)
            axes.set_ylim(bottom=0)
            thousands(axes.xaxis)
        axes_row[0].set_ylabel(MEASURES[column][0])
    for axes, workload in zip(grid[0], shown, strict=True):
        axes.set_title(cut(workload))
    for axes in grid[-1]:
        axes.set_xlabel("tuples so far")
    legend(made, *grid[0])
    return made


def workloads(traced: Sequence[Traced]) -> list[str]:
    """The runs that were followed over time.

    Those whose data changes come first, the others in the file's order.
    """
    changes = {one.workload: bool(one.drift_points) for one in traced}
    return sorted(changes, key=lambda workload: not changes[workload])


def _line(axes: Axes, traced: Traced, column: str, number: int) -> None:
    batches = traced.trace.batches
    rows, ends = np.array(batches["rows"], np.float64), np.array(batches["tuples"], np.float64)
    per = np.array(batches[column], np.float64) * MEASURES[column][1]
    bins = bins_of(len(rows))
    x, y = np.maximum.reduceat(ends, bins), np.add.reduceat(per, bins) / np.add.reduceat(rows, bins)
    axes.plot(x, y, label=cut(traced.policy), markevery=max(len(x) // 8, 1), **line(number))


def bins_of(count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Divide micro-batches into the points of a line.

    Neighbours are joined where there are too many.

    >>> bins_of(3).tolist(), len(bins_of(1_000)) <= MOST_POINTS
    ([0, 1, 2], True)
    """
    every = -(-count // MOST_POINTS)
    return np.arange(0, count, every)
