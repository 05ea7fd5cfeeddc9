"""Texts for people: columns of one width, numbers with nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def align_columns(rows: Iterable[Sequence[str]], sides: str) -> Iterator[str]:
    """Pad rows of texts to columns of one width each.

    Each column is on the left or the right side, as `sides` says.

    >>> list(align_columns([["a", "1"], ["bcd", "23"]], "<>"))
    ['  a     1', '  bcd  23']
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()


def plural(number: int, one: str, many: str = "") -> str:
    """Write a number and its noun.

    >>> plural(1, "stream"), plural(2_000, "row"), plural(0, "micro-batch", "micro-batches")
    ('1 stream', '2,000 rows', '0 micro-batches')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
