"""Into how many parts each dimension divides its streams.

All vectors of whole numbers whose product is at most the number of cells are looked at (but for those that a bound
rules out). The best one sends the fewest rows to each cell: a micro-batch takes as long as its fullest cell, and for a
given number of cells that is also the fewest copies in all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

ROUNDED = 1 - 1e-9
"""A bound is rounded down by more than its floating-point errors, so that it rules out no vector that is as good."""


class _Cost(NamedTuple):
    """What a vector of shares costs: the rows of a cell, then the rows of all cells."""

    rows: float
    copies: float
    shares: tuple[int, ...]


def best_shares(dimensions: Sequence[Set[str]], weights: Mapping[str, float], cells: int) -> tuple[int, ...]:
    """The share of each dimension; a dimension is the streams that it divides.

    >>> best_shares([{"a", "b"}, {"b", "c"}, {"c", "a"}], {"a": 1, "b": 1, "c": 1}, 8)
    (2, 2, 2)
    >>> best_shares([{"a", "b"}, {"b", "c"}], {"a": 100, "b": 100, "c": 1}, 8)
    (8, 1)
    """
    return _search(dimensions, weights, cells, (), None).shares


def _search(
    dimensions: Sequence[Set[str]], weights: Mapping[str, float], room: int, chosen: tuple[int, ...], best: _Cost | None
) -> _Cost:
    """The best of all vectors that begin as chosen, or the best so far."""
    rest = dimensions[len(chosen) :]
    if not rest:
        found = _cost(dimensions, weights, chosen)
        return found if best is None or found < best else best
    for share in range(room, 0, -1):
        longer = (*chosen, share)
        if best is None or _bound(dimensions, weights, longer, room // share) <= best.rows:
            best = _search(dimensions, weights, room // share, longer, best)
    assert best is not None
    return best


def _cost(dimensions: Sequence[Set[str]], weights: Mapping[str, float], shares: tuple[int, ...]) -> _Cost:
    rows = sum(weight / _parts(dimensions, shares, name) for name, weight in weights.items())
    return _Cost(rows, rows * math.prod(shares), shares)


def _bound(dimensions: Sequence[Set[str]], weights: Mapping[str, float], shares: tuple[int, ...], room: int) -> float:
    """No vector that begins so sends fewer rows to a cell.

    At best each stream has all that is left to itself. And of the streams that what is left divides, the product is
    divided by at most `room` as often as a dimension has streams, while a sum is at least its number of terms times
    the root of their product.
    """
    rest = dimensions[len(shares) :]
    later = set().union(*rest)
    rows = {name: weight / _parts(dimensions, shares, name) for name, weight in weights.items()}
    free = [rows[name] for name in rows if name in later]
    fixed = sum(rows[name] for name in rows if name not in later)
    if not free:
        return fixed
    least = math.prod(part ** (1 / len(free)) for part in free) * room ** (-max(map(len, rest)) / len(free))
    bound: float = (fixed + max(sum(free) / room, len(free) * least)) * ROUNDED
    return bound


def _parts(dimensions: Sequence[Set[str]], shares: tuple[int, ...], name: str) -> int:
    """In how many parts a stream is."""
    return math.prod(share for streams, share in zip(dimensions, shares, strict=False) if name in streams)
