"""Bars of routing calls and time for each policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eddy.comparison.plots.style import MOST_PANELS, cut, fill, grid
from eddy.comparison.summary import group_by_workload, summary

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison

ACROSS = 3
"""Panels in a row."""

BAR = 0.34
"""Inches of a bar and its gap."""


def calls(comparison: Comparison) -> Figure:
    """Routing calls a tuple."""
    return _bars(comparison, "calls_per_tuple", "routing calls a tuple")


def time(comparison: Comparison) -> Figure:
    """Microseconds a tuple."""
    return _bars(comparison, "us_per_tuple", "microseconds a tuple")


def _bars(comparison: Comparison, column: str, label: str) -> Figure:
    parts = group_by_workload(comparison.runs)
    shown = list(parts)[:MOST_PANELS]
    policies = list(dict.fromkeys(str(row["policy"]) for row in comparison.runs))
    made, panels = grid(len(shown), ACROSS, height=0.9 + BAR * len(policies))
    for place, (axes, workload) in enumerate(zip(panels, shown, strict=True)):
        _panel(axes, summary(parts[workload]), policies, column)
        axes.set(title=cut(workload), xlabel=label)
        if place % ACROSS:
            axes.set_yticklabels([])
    if len(parts) > len(shown):
        made.suptitle(f"the first {len(shown)} of {len(parts)} workloads; the table has all of them", fontsize=9)
    return made


def _panel(axes: Axes, rows: Sequence[Mapping[str, Any]], policies: Sequence[str], column: str) -> None:
    """Draw a bar for each policy.

    The thin line is where the middle half of its runs is.
    """
    known = {str(row["policy"]): row for row in rows}
    for number, policy in enumerate(policies):
        row = known.get(policy)
        if row is None:
            axes.text(0, number, " does not apply", va="center", fontstyle="italic")
            continue
        value, low, high = row[column], row[f"{column}_low"], row[f"{column}_high"]
        axes.barh(number, value, height=0.66, linewidth=0.6, **fill(number))
        axes.errorbar(value, number, xerr=[[value - low], [high - value]], color="#000000", capsize=3, linewidth=1.2)
        axes.annotate(f"{value:.3g}", (high, number), xytext=(5, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(policies)), [cut(policy, 26) for policy in policies])
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.grid(visible=False, axis="y")
