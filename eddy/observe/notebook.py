"""HTML for notebooks: escaped, small, self-contained."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from numbers import Number
from typing import TYPE_CHECKING

from eddy.errors import clip

if TYPE_CHECKING:
    import pandas as pd

MOST_NOTE_ROWS = 10
"""Rows of a table: what fits beside other cells; the value itself has all of them."""

LONGEST_CELL = 80
"""Characters of a value that are shown."""

TEXT_LOOK, NUMBER_LOOK = "text-align: left; vertical-align: top", "text-align: right; vertical-align: top"
"""The only looks of its own: colors are those of the notebook, dark or light."""


def heading(text: str) -> str:
    """Make a line above a table.

    >>> heading("1 < 2")
    '<p><b>1 &lt; 2</b></p>'
    """
    return f"<p><b>{escape(text)}</b></p>"


def table(frame: pd.DataFrame, rows: int = MOST_NOTE_ROWS) -> str:
    """Make a table of a frame's first rows, and count the others."""
    lines = [[_cell(value) for value in row] for row in frame.head(rows).itertuples(index=False, name=None)]
    left = len(frame) - len(lines)
    more = f"<p>{left:,} more</p>" if left > 0 else ""
    return f"{_lines(map(str, frame.columns), lines)}{more}"


def folded(title: str, html: str) -> str:
    """Make a part that opens when somebody asks for it, without a script.

    >>> folded("more", preformatted("a < b"))
    '<details><summary>more</summary><pre style="line-height: 1.3">a &lt; b</pre></details>'
    """
    return f"<details><summary>{escape(title)}</summary>{html}</details>"


def preformatted(text: str) -> str:
    """Show a text as it is laid out."""
    return f'<pre style="line-height: 1.3">{escape(text)}</pre>'


def _lines(titles: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th style="{TEXT_LOOK}">{escape(title)}</th>' for title in titles)
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    """Make a cell: numbers stand below each other, and texts begin at one place."""
    is_number = isinstance(value, Number) and not isinstance(value, bool)
    text = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if is_number else str(value)
    return f'<td style="{NUMBER_LOOK if is_number else TEXT_LOOK}">{escape(clip(text, LONGEST_CELL))}</td>'
