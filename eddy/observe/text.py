"""Texts for people: columns of one width, numbers with nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

SECOND_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
"""Units of a time, the largest first."""

LEAST_WHOLE = 100
"""From here on a time is written without decimals."""


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


def write_seconds(seconds: float) -> str:
    """Write a time with three digits, in the unit in which they can be read.

    >>> [write_seconds(seconds) for seconds in (1234.5, 41.26, 0.0123, -0.0000051, 0.0)]
    ['1,234 s', '41.3 s', '12.3 ms', '-5.1 µs', '0 s']
    """
    unit, name = next(((u, n) for u, n in SECOND_UNITS if abs(seconds) >= u), SECOND_UNITS[-1] if seconds else (1, "s"))
    value = seconds / unit
    return f"{value:,.0f} {name}" if abs(value) >= LEAST_WHOLE else f"{value:.3g} {name}"


def plural(number: int, one: str, many: str = "") -> str:
    """Write a number and its noun.

    >>> plural(1, "stream"), plural(2_000, "row"), plural(0, "micro-batch", "micro-batches")
    ('1 stream', '2,000 rows', '0 micro-batches')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
