"""What happens while the stream goes on.

It is what a tuple costs, what a policy learns, which way each class goes. Figure 8 of the content-based routing paper
has the plots of what is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from eddy.classes.value_names import OTHERS
from eddy.comparison.plots.style import (
    COLOURS,
    MOST_POINTS,
    cut,
    drift,
    figure,
    fill,
    focus,
    legend,
    line,
    panels,
    thousands,
)
from eddy.comparison.turns import Traced
from eddy.tuples.arrays import Floats

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison


MOST_COLUMNS = 3
"""Workloads side by side; those that change come first."""

CACHE_LABELS = ("bytes of caches", "look-ups that were hits")
"""The two rows of the plot of caches."""

MICRO = 1e6
MEASURES = {"routing_calls": ("routing calls a tuple", 1.0), "seconds": ("microseconds a tuple", MICRO)}
"""The column that is drawn, its name, and how many of its units are in one."""


def over_time(comparison: Comparison) -> Figure:
    """Calls and time a tuple, for each policy."""
    shown = workloads(comparison.traced)[:MOST_COLUMNS]
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


def index_bytes(comparison: Comparison) -> Figure:
    """Bytes of all indexes at the end of each micro-batch, for each policy."""
    return _draw_indexes(comparison, "bytes", "bytes of indexes")


def candidates(comparison: Comparison) -> Figure:
    """Stored rows that were looked at for a tuple, for each policy."""
    return _draw_indexes(comparison, "candidates", "candidates a tuple", by="rows")


def cache_bytes(comparison: Comparison) -> Figure:
    """Bytes of all caches at the end of each micro-batch, and the share of look-ups that were hits."""
    traced = [one for one in comparison.traced if any(one.trace.caches.get("batch", ()))]
    shown = workloads(traced)[:MOST_COLUMNS]
    numbers = {policy: number for number, policy in enumerate(dict.fromkeys(t.policy for t in comparison.traced))}
    made = figure(len(CACHE_LABELS), height=2.3)
    grid = panels(made, len(shown), rows=len(CACHE_LABELS), sharex="col")
    for (held, hits), workload in zip(zip(*grid, strict=True), shown, strict=True):
        own = [one for one in traced if one.workload == workload]
        for one in own:
            _draw_caches(held, hits, one, numbers[one.policy])
        for axes in (held, hits):
            drift(axes, own[0].drift_points)
            axes.set_ylim(bottom=0)
            thousands(axes.xaxis)
        thousands(held.yaxis)
        hits.yaxis.set_major_formatter(PercentFormatter(1.0))
        held.set_title(cut(workload))
        hits.set_xlabel("tuples so far")
    for axes_row, label in zip(grid, CACHE_LABELS, strict=True):
        axes_row[0].set_ylabel(label)
    legend(made, *grid[0])
    return made


def _draw_caches(above: Axes, below: Axes, traced: Traced, number: int) -> None:
    """Draw the most bytes of neighbouring micro-batches, and the share of hits."""
    batches, known = traced.trace.batches, traced.trace.caches
    places = {batch: place for place, batch in enumerate(known["batch"])}
    # A micro-batch in which there is no cache is at the end of each column, where a 0 stands.
    found = [places.get(batch, -1) for batch in batches["batch"]]
    held, asked, hits = (
        np.append(np.array(known[name], np.float64), 0.0)[found] for name in ("nbytes", "look_ups", "hits")
    )
    bins = bins_of(len(found))
    ends, all_asked = (
        np.maximum.reduceat(np.array(batches["tuples"], np.float64), bins),
        np.add.reduceat(asked, bins),
    )
    share = np.where(all_asked > 0, np.add.reduceat(hits, bins) / np.maximum(all_asked, 1), np.nan)
    for axes, values in ((above, np.maximum.reduceat(held, bins)), (below, share)):
        axes.plot(ends, values, label=cut(traced.policy), markevery=max(len(ends) // 8, 1), **line(number))


def _draw_indexes(comparison: Comparison, column: str, label: str, by: str | None = None) -> Figure:
    traced = [one for one in comparison.traced if any(one.trace.indexes.get("batch", ()))]
    shown = workloads(traced)[:MOST_COLUMNS]
    numbers = {policy: number for number, policy in enumerate(dict.fromkeys(t.policy for t in comparison.traced))}
    made = figure(1, height=2.6)
    (grid,) = panels(made, len(shown))
    for axes, workload in zip(grid, shown, strict=True):
        own = [one for one in traced if one.workload == workload]
        for one in own:
            x, y = _indexes_over_time(one, column, by)
            axes.plot(x, y, label=cut(one.policy), markevery=max(len(x) // 8, 1), **line(numbers[one.policy]))
        drift(axes, own[0].drift_points)
        axes.set_ylim(bottom=0)
        axes.set(title=cut(workload), xlabel="tuples so far")
        thousands(axes.xaxis)
        thousands(axes.yaxis)
    grid[0].set_ylabel(label)
    legend(made, *grid)
    return made


def _indexes_over_time(traced: Traced, column: str, by: str | None) -> tuple[Floats, Floats]:
    """Give the points of a line: the most of neighbouring micro-batches, or their mean by row."""
    batches, known = traced.trace.batches, traced.trace.indexes
    found = dict(zip(known["batch"], known[column], strict=True))
    values = np.array([found.get(batch, 0) for batch in batches["batch"]], np.float64)
    bins = bins_of(len(values))
    ends = np.maximum.reduceat(np.array(batches["tuples"], np.float64), bins)
    if by is None:
        return ends, np.maximum.reduceat(values, bins)
    return ends, np.add.reduceat(values, bins) / np.maximum(np.add.reduceat(np.array(batches[by], np.float64), bins), 1)


def workloads(traced: Sequence[Traced]) -> list[str]:
    """Give the runs that were followed over time.

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


MOST_SERIES = 8
"""Lines: so many can be told apart."""


def selectivity(comparison: Comparison) -> Figure:
    """Outputs per input of each operator, as the policy met it."""
    traced = _same(comparison, focus(comparison.traced, "operators"))
    frame = pd.DataFrame(dict(traced.trace.operators))
    frame["name"] = frame["operator"] + np.where(frame["pattern"] == "", "", " by " + frame["pattern"])
    return _draw_ratios(traced, frame, "rows_out", "rows_in", "outputs per input")


def gain_ratio(comparison: Comparison) -> Figure:
    """Draw the gain ratio of each operator's classifier.

    It is the attribute that the operator's calls went by.
    """
    traced = focus(comparison.traced, "learning")
    frame = pd.DataFrame(dict(traced.trace.learning))
    frame = frame[(frame["kind"] == "classified") & (frame["attribute"] != "")].copy()
    frame["name"] = frame["operator"] + " by " + frame["attribute"]
    frame["weighed"] = frame["gain_ratio"] * frame["calls"]
    return _draw_ratios(traced, frame, "weighed", "calls", "gain ratio")


def _same(comparison: Comparison, found: Traced) -> Traced:
    """Choose the run whose gain ratios are drawn.

    Both figures are of one policy, if there is such a run.
    """
    learning = [one for one in comparison.traced if one.workload == found.workload and len(one.trace.learning["batch"])]
    return learning[0] if learning else found


def _draw_ratios(traced: Traced, frame: pd.DataFrame, above: str, below: str, label: str) -> Figure:
    made = figure(1, height=3.3)
    axes = panels(made, 1)[0][0]
    sizes = frame.groupby("name")[below].sum().sort_values(ascending=False)
    for number, name in enumerate(sorted(sizes.index[:MOST_SERIES])):
        _ratio_line(axes, traced, frame[frame["name"] == name], above, below, number)
    drift(axes, traced.drift_points)
    left = f", the {MOST_SERIES} most used of {len(sizes)}" if len(sizes) > MOST_SERIES else ""
    axes.set(title=f"{cut(traced.policy)} on {cut(traced.workload)}{left}", xlabel="tuples so far", ylabel=label)
    axes.set_ylim(bottom=0)
    thousands(axes.xaxis)
    legend(made, axes, columns=3)
    return made


def _ratio_line(axes: Axes, traced: Traced, frame: pd.DataFrame, above: str, below: str, number: int) -> None:
    """Draw a line with a gap where the operator was not called."""
    batches = list(traced.trace.batches["batch"])
    sums = frame.groupby("batch")[[above, below]].sum().reindex(batches, fill_value=0)
    bins = bins_of(len(batches))
    up, down = (np.add.reduceat(sums[name].to_numpy(np.float64), bins) for name in (above, below))
    ends = np.maximum.reduceat(np.array(traced.trace.batches["tuples"], np.float64), bins)
    values = np.divide(up, down, out=np.full(len(bins), np.nan), where=down > 0)
    axes.plot(ends, values, label=cut(str(frame["name"].iloc[0])), markevery=max(len(ends) // 8, 1), **line(number))


MOST_CLASS_PANELS = 4
"""Panels: the largest classes."""

TOLD_APART = len(COLOURS) - 1
"""Routes with a pattern of their own; all others have one together."""

ALL_ALIKE = "all tuples alike"
"""What a class is called that is not one."""


def routes(comparison: Comparison) -> Figure:
    """Draw the shares of the routes of each class.

    They are of one policy on one workload.
    """
    traced = focus(comparison.traced, "routes")
    frame = pd.DataFrame(dict(traced.trace.routes))
    frame["class"] = frame["stream"] + ": " + frame["class"].replace("", ALL_ALIKE)
    sizes = frame.groupby("class")["tuples"].sum().sort_values(ascending=False)
    shown = sorted(name for name in sizes.index if not name.endswith(f": {OTHERS}"))
    shown = [name for name in sizes.index if name in shown][:MOST_CLASS_PANELS] or list(sizes.index[:1])
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
    """Draw areas that add up to all tuples of the class.

    Nothing is drawn without tuples.
    """
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
