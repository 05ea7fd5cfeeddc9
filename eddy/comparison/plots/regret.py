"""What was spent over time, beside what the written order would have taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eddy.comparison.plots.style import MOST_PANELS, cut, drift, grid, legend, line, thousands, use_style
from eddy.comparison.plots.timeline import bins_of
from eddy.errors import QueryError

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison
    from eddy.observe.report import Report

ACROSS = 2
"""Panels in a row: the two lines of one lie close together."""

ERRORS = 2
"""Standard errors that the band is wide, to both sides: about 95 % of what may be."""

PALE = 0.2


@dataclass(frozen=True, kw_only=True)
class _Panel:
    """The accounts of some rows, by micro-batch, and the tuples that had come by then."""

    title: str
    accounts: pd.DataFrame
    tuples: pd.Series
    drift_points: Sequence[int] = ()


def draw_report(report: Report) -> Figure:
    """Draw a run: a panel for each stream.

    The written order is an estimate: the band is two standard errors to each side.
    """
    frame, batches = report.regret(), report.batches()
    if frame.empty:
        raise QueryError(
            "plot_regret: the policy keeps no account of what adapting costs and saves, so there is nothing to draw"
        )
    tuples = batches.set_index("batch")["rows"].cumsum()
    with use_style():
        return _draw([_Panel(title=str(name), accounts=own, tuples=tuples) for name, own in frame.groupby("stream")])


def draw_comparison(comparison: Comparison) -> Figure:
    """Draw each policy that keeps an account, on each workload."""
    return _draw(
        [
            _Panel(
                title=f"{cut(one.policy, 20)} on {one.workload}",
                accounts=pd.DataFrame(dict(one.trace.regret)),
                tuples=pd.DataFrame(dict(one.trace.batches)).set_index("batch")["tuples"],
                drift_points=one.drift_points,
            )
            for one in comparison.traced
            if len(one.trace.regret["batch"])
        ]
    )


def _draw(found: Sequence[_Panel]) -> Figure:
    shown = found[:MOST_PANELS]
    made, panels = grid(len(shown), ACROSS)
    for axes, panel in zip(panels, shown, strict=True):
        _lines(axes, panel)
        axes.set(title=cut(panel.title, 46), xlabel="tuples so far", ylabel="seconds so far")
        axes.set_ylim(bottom=0)
        thousands(axes.xaxis)
    legend(made, *panels)
    return made


def _lines(axes: Axes, panel: _Panel) -> None:
    """Two lines that are far apart where adapting pays."""
    squares = panel.accounts.assign(error=panel.accounts["error"] ** 2)
    sums = squares.groupby("batch")[["spent", "written", "error"]].sum().reindex(panel.tuples.index, fill_value=0.0)
    whole = sums.cumsum()
    # The last micro-batch of each point: its sums have all of those before it.
    points = np.append(bins_of(len(whole))[1:] - 1, len(whole) - 1)
    x, error = panel.tuples.to_numpy()[points], ERRORS * np.sqrt(whole["error"].to_numpy()[points])
    written, spent = (whole[name].to_numpy()[points] for name in ("written", "spent"))
    every = max(len(x) // 8, 1)
    axes.plot(x, written, label="the written order (estimated)", markevery=every, **line(0))
    axes.fill_between(x, written - error, written + error, alpha=PALE, linewidth=0, color=line(0)["color"])
    axes.plot(x, spent, label="spent, with all that adapting costs", markevery=every, **line(1))
    drift(axes, panel.drift_points)
