"""A plot: its figure, its caption, and when there is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A figure, what it shows, and whether a comparison has anything to draw in it."""

    title: str
    caption: str
    has: Callable[[Comparison], bool]
    figure: Callable[[Comparison], Figure]

    def draw(self, comparison: Comparison) -> Figure:
        """The figure, in our style."""
        from eddy.comparison.plots.style import use_style  # noqa: PLC0415  a plot is known before it is drawn

        with use_style():
            return self.figure(comparison)
