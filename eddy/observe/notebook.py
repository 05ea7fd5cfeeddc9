"""HTML for notebooks: escaped, small, self-contained."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from eddy.errors import clip

if TYPE_CHECKING:
    import pandas as pd

MOST_NOTE_ROWS = 10
"""Rows of a table: what fits beside other cells; the value itself has all of them."""

LONGEST_CELL = 80
"""Characters of a value that are shown."""


def heading(text: str) -> str:
    """Make a line above a table.

    >>> heading("1 < 2")
    '<p><b>1 &lt; 2</b></p>'
    """
    return f"<p><b>{escape(text)}</b></p>"


def table(frame: pd.DataFrame, rows: int = MOST_NOTE_ROWS) -> str:
    """Make a table of a frame's first rows, and count the others."""
    lines = [[_text(value) for value in row] for row in frame.head(rows).itertuples(index=False, name=None)]
    left = len(frame) - len(lines)
    more = f"<p>{left:,} more</p>" if left > 0 else ""
    return f"{_lines(map(str, frame.columns), lines)}{more}"


def _lines(titles: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    text = f"{value:,.4g}" if isinstance(value, float) else str(value)
    return clip(text, LONGEST_CELL)
