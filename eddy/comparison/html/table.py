"""Tables for pages; every text of data is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is shown, what it sorts by, and what is said besides in small."""

    text: str
    value: float | str | None = None
    small: str = ""
    badge: str = ""
    look: str = ""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of a table; `look` says what is special about it."""

    cells: Sequence[Cell]
    look: str = ""


def table(titles: Sequence[str], lines: Sequence[Line], *, texts: int = 1, sorts: bool = True) -> str:
    """A table whose first columns are texts; its titles sort it.

    >>> print(table(["a"], [Line(cells=[Cell(text="<b>")])], sorts=False))
    <div class="scroll"><table><thead><tr><th class="text">a</th></tr></thead>
    <tbody><tr><td class="text">&lt;b&gt;</td></tr></tbody></table></div>
    """
    looks = ["text" if number < texts else "" for number in range(len(titles))]
    head = "".join(_head(title, look, sorts) for title, look in zip(titles, looks, strict=True))
    body = "\n".join(_line(line, looks) for line in lines)
    kind = ' class="sorts"' if sorts else ""
    return f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _head(title: str, look: str, sorts: bool) -> str:
    inner = f'<button type="button">{escape(title)}</button>' if sorts else escape(title)
    return f"<th{_class(look)}>{inner}</th>"


def _line(line: Line, looks: Sequence[str]) -> str:
    cells = "".join(_cell(cell, look) for cell, look in zip(line.cells, looks, strict=True))
    return f"<tr{_class(line.look)}>{cells}</tr>"


def _cell(cell: Cell, look: str) -> str:
    value = "" if cell.value is None else f' data-value="{escape(str(cell.value))}"'
    badge = f' <span class="badge">{escape(cell.badge)}</span>' if cell.badge else ""
    small = f'<br><span class="small">{escape(cell.small)}</span>' if cell.small else ""
    return f"<td{_class(f'{look} {cell.look}'.strip())}{value}>{escape(cell.text)}{badge}{small}</td>"


def _class(look: str) -> str:
    return f' class="{escape(look)}"' if look else ""
