"""A figure that a notebook shows."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

DOTS = 110
"""An inch: what a notebook shows beside its text, and small enough for a page of many."""


class Shown(Figure):
    """A figure that shows itself at the end of a cell.

    Those of matplotlib do so only where pyplot has been imported before.
    """

    def _repr_png_(self) -> bytes:
        drawing = io.BytesIO()
        self.savefig(drawing, format="png", dpi=DOTS)
        return drawing.getvalue()
