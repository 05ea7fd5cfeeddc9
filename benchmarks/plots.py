"""Figures of the benchmarks, as SVG files.

A file changes only with its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

COLOURS = ("#0072b2", "#56b4e9", "#000000", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
"""Colours of contenders: the palette of Okabe and Ito, which the colour-blind can tell apart."""

MARKS = "osD^vPX"
"""Markers of contenders, for readers of figures in black and white."""

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
"""The folder of the docs' figures."""


def age(place: Path, milliseconds: Sequence[float], medians: Mapping[str, float]) -> None:
    """Draw the cost over the age of the query.

    Each micro-batch, and the medians of those that took turns.
    """
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(milliseconds, ".", markersize=2, alpha=0.5, label="one micro-batch")
    for number, (name, median) in enumerate(medians.items(), 1):
        axes.axhline(median, color=f"C{number}", linestyle="--", label=f"median of the {name}: {median:.2f} ms")
    axes.set(xlabel="micro-batch", ylabel="milliseconds", ylim=(0, 2 * max(medians.values())))
    axes.legend(loc="lower right", fontsize="small")
    _save(figure, place)


def contenders(
    place: Path, grows: str, sizes: Sequence[int], curves: Mapping[str, Sequence[tuple[float, float, float]]]
) -> None:
    """Draw every contender's milliseconds over what grows.

    Each has the middle half of its ratios as a band.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for (name, points), colour, mark in zip(curves.items(), cycle(COLOURS), cycle(MARKS), strict=False):
        low, middle, high = zip(*points, strict=True)
        axes.loglog(sizes, middle, mark, color=colour, label=name, linestyle="-", markersize=5)
        axes.fill_between(sizes, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    # Curves may lie within one power of ten.
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=grows, ylabel="milliseconds a micro-batch")
    axes.legend(fontsize="small")
    _save(figure, place)


def _save(figure: Figure, place: Path) -> None:
    """Without the date and without random names: a figure changes only with its numbers."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": place.stem}):
        figure.savefig(place, metadata={"Date": None})
