"""What happens while the stream goes on.

It is what a tuple costs, what a policy learns, which way each class goes. Figure 8 of the content-based routing paper
has the plots of what is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

MICRO = 1e6
MEASURES = {"routing_calls": ("routing calls a tuple", 1.0), "seconds": ("microseconds a tuple", MICRO)}
"""The column that is drawn, its name, and how many of its units are in one."""


def over_time(comparison: Comparison) -> Figure:
    """Calls and time a tuple, for each policy."""

    def draw(panels: Sequence[Axes], traced: Traced, number: int) -> None:
        batches = traced.trace.batches
        for axes, (column, (_, units)) in zip(panels, MEASURES.items(), strict=True):
            spent = _over_time(traced, batches, column) * units
            _line(axes, traced, spent / _over_time(traced, batches, "rows"), traced.policy, number)

    return _draw_workloads(comparison, comparison.traced, [label for label, _ in MEASURES.values()], draw)


def index_bytes(comparison: Comparison) -> Figure:
    """Bytes of all indexes at the end of each micro-batch, for each policy."""

    def draw(panels: Sequence[Axes], traced: Traced, number: int) -> None:
        thousands(panels[0].yaxis)
        held = _over_time(traced, traced.trace.indexes, "bytes", np.maximum)
        _line(panels[0], traced, held, traced.policy, number)

    return _draw_workloads(comparison, _with_indexes(comparison), ["bytes of indexes"], draw, height=2.6)


def candidates(comparison: Comparison) -> Figure:
    """Stored rows that were looked at for a tuple, for each policy."""

    def draw(panels: Sequence[Axes], traced: Traced, number: int) -> None:
        thousands(panels[0].yaxis)
        found = _over_time(traced, traced.trace.indexes, "candidates")
        rows = np.maximum(_over_time(traced, traced.trace.batches, "rows"), 1)
        _line(panels[0], traced, found / rows, traced.policy, number)

    return _draw_workloads(comparison, _with_indexes(comparison), ["candidates a tuple"], draw, height=2.6)


def cache_bytes(comparison: Comparison) -> Figure:
    """Bytes of all caches at the end of each micro-batch, and the share of look-ups that were hits."""

    def draw(panels: Sequence[Axes], traced: Traced, number: int) -> None:
        above, below = panels
        thousands(above.yaxis)
        below.yaxis.set_major_formatter(PercentFormatter(1.0))
        known = traced.trace.caches
        asked, hits = (_over_time(traced, known, name) for name in ("look_ups", "hits"))
        _line(above, traced, _over_time(traced, known, "nbytes", np.maximum), traced.policy, number)
        _line(below, traced, _divide(hits, asked), traced.policy, number)

    traced = [one for one in comparison.traced if len(one.trace.caches["batch"])]
    return _draw_workloads(comparison, traced, ["bytes of caches", "look-ups that were hits"], draw)


def _with_indexes(comparison: Comparison) -> list[Traced]:
    return [one for one in comparison.traced if len(one.trace.indexes["batch"])]


def _draw_workloads(
    comparison: Comparison,
    traced: Sequence[Traced],
    labels: Sequence[str],
    draw: Callable[[Sequence[Axes], Traced, int], None],
    *,
    height: float = 2.3,
) -> Figure:
    """Draw panels below each other for each workload, and in them what `draw` makes of each run.

    It is told the number of the policy, which has the same look in all plots of a comparison.
    """
    shown = workloads(traced)[:MOST_COLUMNS]
    numbers = {policy: number for number, policy in enumerate(dict.fromkeys(t.policy for t in comparison.traced))}
    made = figure(len(labels), height=height)
    grid = panels(made, len(shown), rows=len(labels), sharex="col")
    for column, workload in zip(zip(*grid, strict=True), shown, strict=True):
        own = [one for one in traced if one.workload == workload]
        for one in own:
            draw(column, one, numbers[one.policy])
        for axes in column:
            drift(axes, own[0].drift_points)
            axes.set_ylim(bottom=0)
            thousands(axes.xaxis)
        column[0].set_title(cut(workload))
        column[-1].set_xlabel("tuples so far")
    for axes_row, label in zip(grid, labels, strict=True):
        axes_row[0].set_ylabel(label)
    legend(made, *grid[0])
    return made


def workloads(traced: Sequence[Traced]) -> list[str]:
    """Give the runs that were followed over time.

    Those whose data changes come first, the others in the file's order.
    """
    changes = {one.workload: bool(one.drift_points) for one in traced}
    return sorted(changes, key=lambda workload: not changes[workload])


def _over_time(traced: Traced, columns: Any, name: str, reduce: np.ufunc = np.add) -> Floats:
    """Reduce a figure of micro-batches to the points of a line; it is 0 where nothing is told of one."""
    found = dict(zip(columns["batch"], columns[name], strict=True))
    values = np.array([found.get(batch, 0) for batch in traced.trace.batches["batch"]], np.float64)
    reduced: Floats = reduce.reduceat(values, bins_of(len(values)))
    return reduced


def _divide(above: Floats, below: Floats) -> Floats:
    """Give ratios, and a gap in the line where there is nothing to divide by."""
    ratios: Floats = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
    return ratios


def _line(axes: Axes, traced: Traced, values: Floats, label: str, number: int) -> None:
    """Draw a line over the tuples that had come by then."""
    ends = _over_time(traced, traced.trace.batches, "tuples", np.maximum)
    axes.plot(ends, values, label=cut(label), markevery=max(len(ends) // 8, 1), **line(number))


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
        sums = frame[frame["name"] == name].groupby("batch")[[above, below]].sum().reset_index()
        up, down = (_over_time(traced, sums, column) for column in (above, below))
        _line(axes, traced, _divide(up, down), str(name), number)
    drift(axes, traced.drift_points)
    left = f", the {MOST_SERIES} most used of {len(sizes)}" if len(sizes) > MOST_SERIES else ""
    axes.set(title=f"{cut(traced.policy)} on {cut(traced.workload)}{left}", xlabel="tuples so far", ylabel=label)
    axes.set_ylim(bottom=0)
    thousands(axes.xaxis)
    legend(made, axes, columns=3)
    return made


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
    edges = np.append(0.0, _over_time(traced, traced.trace.batches, "tuples", np.maximum))
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
