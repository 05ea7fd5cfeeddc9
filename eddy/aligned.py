"""Rows of texts in columns, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def aligned(rows: Iterable[Sequence[str]], sides: str) -> Iterator[str]:
    """Rows as columns of one width each, on the left or the right side of it.

    >>> list(aligned([["a", "1"], ["bcd", "23"]], "<>"))
    ['  a     1', '  bcd  23']
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
