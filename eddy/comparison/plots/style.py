"""What a plot is, and how plots look.

Things are told apart by lines, markers and hatches, not by colour alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from eddy.comparison.turns import Traced
from eddy.errors import clip

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444", "#8C6D31")
"""Okabe and Ito's palette, which the colour-blind can tell apart, less the yellow that no print shows."""

DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "+++", "ooo", "---")
"""This many things can be told apart in one plot; with more, the first styles come again."""

WIDTH, HEIGHT = 7.6, 2.9
"""Inches of a plot with one row of panels: a column of the report, and a page in print."""

MOST_PANELS = 6
"""Workloads in one plot: of more, the first, and the tables have all of them."""

MOST_POINTS = 60
"""The most points of a line: the noise of single micro-batches hides what is to be seen."""

PLOT_STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "hatch.linewidth": 0.7,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",
    # Names come from data: a dollar sign in one is no formula.
    "text.parse_math": False,
    "text.usetex": False,
}
DOTS = 110
"""An inch: what a notebook shows beside its text, and small enough for a page of many."""


@contextmanager
def use_style() -> Iterator[None]:
    """Draw everything inside in our style."""
    with mpl.rc_context():
        mpl.rcParams.update(PLOT_STYLE)
        yield


def line(number: int) -> dict[str, Any]:
    """The look of the line with a number."""
    every = len(COLOURS)
    return {"color": COLOURS[number % every], "linestyle": DASHES[number % every], "marker": MARKERS[number % every]}


def fill(number: int) -> dict[str, Any]:
    """Give the look of the area with a number."""
    every = len(COLOURS)
    return {"facecolor": _paler(COLOURS[number % every]), "edgecolor": "#333333", "hatch": HATCHES[number % every]}


def _paler(colour: str) -> tuple[float, float, float]:
    """Mix a colour half way with white.

    A hatch shows on it, and grey tells it from its neighbours.
    """
    red, green, blue = mpl.colors.to_rgb(colour)
    return (red + 1) / 2, (green + 1) / 2, (blue + 1) / 2


def figure(rows: int, *, height: float = HEIGHT) -> Figure:
    """Make a figure of so many rows of panels."""
    return Shown(figsize=(WIDTH, height * rows), layout="constrained")


def panels(made: Figure, count: int, *, rows: int = 1, sharex: Literal["none", "col"] = "none") -> list[list[Axes]]:
    """Panels in rows and columns."""
    grid = made.subplots(rows, count, squeeze=False, sharex=sharex)
    return [list(row) for row in grid]


def grid(count: int, across: int, *, height: float = HEIGHT) -> tuple[Figure, list[Axes]]:
    """Make a figure of so many panels, in rows of some."""
    rows = -(-count // across)
    made = figure(rows, height=height)
    found = [axes for row in panels(made, min(count, across), rows=rows) for axes in row]
    for axes in found[count:]:
        axes.set_visible(False)
    return made, found[:count]


def legend(made: Figure, *axes: Axes, columns: int = 4) -> None:
    """Draw one legend above the whole figure.

    It has everything that one of the panels shows.
    """
    found: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    made.legend(list(found.values()), list(found), loc="outside upper left", ncols=min(columns, max(len(found), 1)))


def thousands(axis: Any) -> None:
    """Ticks such as 20,000."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value == int(value) else f"{value:g}"))


def drift(axes: Axes, points: Sequence[int]) -> None:
    """Lines where the data is known to change; the first is named."""
    for number, point in enumerate(points):
        label = "the data changes here" if number == 0 else None
        axes.axvline(point, color="#000000", linestyle=(0, (2, 2)), linewidth=1.2, label=label)


def cut(text: str, most: int = 42) -> str:
    """Cut a name so that it fits.

    A legend would leave out one that begins with an underscore.
    """
    return clip(f" {text}" if text.startswith("_") else text, most)


def focus(traced: Sequence[Traced], part: str) -> Traced:
    """Choose the run that has most to show of some figures.

    One whose data changes goes before others.
    """
    have = [one for one in traced if _size(one, part)]
    return max(have, key=lambda one: (bool(one.drift_points), _classes(one, part)))


def has(traced: Sequence[Traced], part: str) -> bool:
    """Tell whether any run has such figures."""
    return any(_size(one, part) for one in traced)


def _size(one: Traced, part: str) -> int:
    columns: dict[str, Sequence[object]] = getattr(one.trace, part)
    return len(next(iter(columns.values()), ()))


def _classes(one: Traced, part: str) -> int:
    """Count the classes or attributes that a run tells apart.

    A policy that learns none has one.
    """
    columns: dict[str, Sequence[object]] = getattr(one.trace, part)
    return len(set(columns.get("class", columns.get("attribute", ()))))


class Shown(Figure):
    """A figure that shows itself at the end of a cell.

    Those of matplotlib do so only where pyplot has been imported before.
    """

    def _repr_png_(self) -> bytes:
        drawing = io.BytesIO()
        self.savefig(drawing, format="png", dpi=DOTS)
        return drawing.getvalue()


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A figure, what it shows, and when there is one to draw."""

    title: str
    caption: str
    has: Callable[[Comparison], bool]
    figure: Callable[[Comparison], Figure]

    def draw(self, comparison: Comparison) -> Figure:
        """Draw the figure, in our style."""
        with use_style():
            return self.figure(comparison)
