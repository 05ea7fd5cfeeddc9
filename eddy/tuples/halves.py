"""Asks about ever fewer rows, until each raises alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from eddy.tuples.arrays import RowIds

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

MOST_SINGLE_ROWS = 8
"""Rows that are asked one by one: if all rows raise, there are a quarter more calls than rows, and not twice as many,
as there would be if every part were halved to its end."""


def ask_halves(
    ask: Callable[[RowIds], T], rows: int, errors: type[E] | tuple[type[E], ...], refuse: Callable[[int, E], None]
) -> list[tuple[RowIds, T]]:
    """Give the answers for parts of the rows, in their order.

    `refuse` is told of every row that raises alone.

    >>> ask = lambda rows: [6 // row for row in rows.tolist()]
    >>> ask_halves(ask, 3, ZeroDivisionError, lambda row, error: print(row))
    0
    [(array([1]), [6]), (array([2]), [3])]
    """
    waiting = _divide(np.arange(rows))
    parts: list[tuple[RowIds, T]] = []
    while waiting:
        part = waiting.pop()
        try:
            parts.append((part, ask(part)))
        except errors as error:
            if len(part) > 1:
                waiting += _divide(part)
            else:
                refuse(int(part[0]), error)
    return parts


def _divide(part: RowIds) -> list[RowIds]:
    """Divide rows into two halves, or single rows.

    The first one is last, since it is taken from there.
    """
    pieces = len(part) if len(part) <= MOST_SINGLE_ROWS else 2
    return [piece for piece in reversed(np.array_split(part, max(pieces, 1))) if len(piece)]
