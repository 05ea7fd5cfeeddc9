"""Figures as part of a page."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import matplotlib as mpl

from eddy.comparison.plots.plot import Plot
from eddy.comparison.plots.registry import PLOTS

if TYPE_CHECKING:
    from eddy.comparison.comparison import Comparison

SCALE = 96
"""Pixels of a browser in an inch."""


def pictures(comparison: Comparison) -> str:
    """All plots that there is something to draw for."""
    return "\n".join(_picture(comparison, name, PLOTS[name]) for name in comparison.plots)


def _picture(comparison: Comparison, name: str, plot: Plot) -> str:
    """An image with its drawing in its address: nothing in it can act, and nothing is fetched."""
    figure, drawing = plot.draw(comparison), io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": name}):  # the same figures make the same bytes
        figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    encoded = base64.b64encode(drawing.getvalue()).decode("ascii")
    width, height = (round(inches * SCALE * 1.32) for inches in figure.get_size_inches())
    source = f"data:image/svg+xml;base64,{encoded}"
    image = f'<img alt="{escape(plot.title)}" width="{width}" height="{height}" src="{source}">'
    text = f"<h3>{escape(plot.title)}</h3><figcaption>{escape(plot.caption)}</figcaption>"
    return f'<div class="card"><figure id="plot-{escape(name)}">{text}{image}</figure></div>'
