"""Plans a layout: what divides the streams, and how often.

    layout = plan_layout(binding, cells)                         cells: the user's number, or None
    layout = plan_layout(binding, None, default=4, sizes={"a": 1e6, "b": 1e3})

A key that all joins share divides all streams. Any other join graph is laid out over its join attributes, and a stream
that no equality connects with another may be divided by its rows. A key that divides fewer streams than another one
does is left out: the other one does the same without its copies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from numbers import Real
from typing import Any, NamedTuple

from eddy.errors import QueryError, check_whole, quote, unknown_name
from eddy.query import Rows
from eddy.query.binding import Binding
from eddy.spark.layout.dimension import Dimension, Heavy, find_heavy
from eddy.spark.layout.join_keys import JoinKey, find_join_keys
from eddy.spark.layout.layout import Layout

CELLS = 4
"""Cells if the user asks for no number: the cores of a small machine, and they cost little on a smaller one."""

MOST_CELLS = 1024
"""More cells than this have no cluster to run on, and every one costs a state and a call per micro-batch."""

Group = Sequence[JoinKey] | str
"""The divider of a dimension: attributes of the same streams, or the rows of one stream."""

ROUNDING = 1 - 1e-9
"""A bound is rounded down by more than its floating-point errors, so that it rules out no vector that is as good."""


def plan_layout(
    binding: Binding,
    cells: int | None,
    *,
    default: int = 1,
    sizes: Mapping[str, float] | None = None,
    heavy: Mapping[str, Sequence[Any]] | None = None,
) -> Layout:
    """Lay a query out over at most so many cells.

    `default` is their number if the user gives none. `sizes` are the rows of each stream, in any unit, times what one
    costs a cell. `heavy` has for a key such as "a.k" the values that many rows of that stream have.
    """
    wanted = check_whole(default if cells is None else cells, "cells", most=MOST_CELLS)
    weights = _read_sizes(binding, sizes or {})
    groups = _find_groups(binding)
    if not _allows_rows(binding, groups, cells):
        wanted, groups = 1, []
    _check_heavy(binding, heavy or {})
    divided = [_divided_streams(group) for group in groups]
    shares = best_shares(divided, weights, wanted)
    heavies = find_heavy([() if isinstance(group, str) else group for group in groups], heavy or {})
    dimensions = [_make_dimension(*parts) for parts in zip(groups, shares, heavies, strict=True) if parts[1] > 1]
    names = tuple(stream.name for stream in binding.query.streams)
    return Layout(streams=names, dimensions=tuple(dimensions), schemas=binding.schemas)


def best_shares(dimensions: Sequence[Set[str]], weights: Mapping[str, float], cells: int) -> tuple[int, ...]:
    """Find the best share of each dimension.

    A dimension is the set of streams that it divides.

    >>> best_shares([{"a", "b"}, {"b", "c"}, {"c", "a"}], {"a": 1, "b": 1, "c": 1}, 8)
    (2, 2, 2)
    >>> best_shares([{"a", "b"}, {"b", "c"}], {"a": 100, "b": 100, "c": 1}, 8)
    (8, 1)
    """
    return _search(dimensions, weights, cells, (), None).shares


def _read_sizes(binding: Binding, given: Mapping[str, float]) -> dict[str, float]:
    """Read a number for each stream; 1 where none is given."""
    names = [stream.name for stream in binding.query.streams]
    for name, number in given.items():
        if name not in names:
            raise unknown_name("stream", name, names, where="sizes")
        if not isinstance(number, Real) or not 0 <= float(number) < math.inf:
            raise QueryError(f'sizes: "{name}": expected a number of 0 or more, got {number!r}')
    return {name: float(given.get(name, 1)) for name in names}


def _find_groups(binding: Binding) -> list[Group]:
    """Find the best dividers of the streams.

    One that divides a part of another one's streams is left out.
    """
    together: dict[frozenset[str], list[JoinKey]] = {}
    for attribute in find_join_keys(binding):
        together.setdefault(frozenset(attribute.keys), []).append(attribute)
    # A key of a and b alone is left out beside one of a, b and c: that one divides both too, and copies less.
    largest = [streams for streams in together if not any(streams < others for others in together)]
    loose = [s.name for s in binding.query.streams if not any(s.name in streams for streams in largest)]
    return [*(together[streams] for streams in largest), *loose]


def _divided_streams(group: Group) -> frozenset[str]:
    return frozenset({group} if isinstance(group, str) else group[0].keys)


def _allows_rows(binding: Binding, groups: Sequence[Group], cells: int | None) -> bool:
    """Tell whether windows of rows allow more cells than one.

    Such a window must not depend on which cell a row is in.
    """
    windows = {s.name: s.window for s in binding.query.streams if isinstance(s.window, Rows)}
    # Rows of a lone stream are spread as they come, which is no key.
    shared = [group for group in groups if not isinstance(group, str)]
    is_shared = any(len(_divided_streams(group)) == len(binding.query.streams) for group in shared)
    split = [
        name
        for name, window in windows.items()
        if (any(not _keeps_together(name, window.by, group) for group in groups) if window.by else not is_shared)
    ]
    if not split:
        return True
    if cells is None or cells == 1:
        return False
    raise QueryError(
        f"cells: {quote(split)} with a window of rows needs one cell, a key that all streams' joins share, or a window "
        f"of the newest rows by its columns in the joins, got {cells} cells; ask for one cell, or use a window by time"
    )


def _keeps_together(stream: str, by: Sequence[str], group: Group) -> bool:
    """Tell whether a division leads all rows of a stream with the same values in some columns to the same cells."""
    if stream not in _divided_streams(group):
        return True
    return not isinstance(group, str) and all(attribute.reads[stream] <= {*by} for attribute in group)


def _check_heavy(binding: Binding, heavy: Mapping[str, Sequence[Any]]) -> None:
    """Refuse to divide the rows of a value where the newest of them are counted."""
    for stream in binding.query.streams:
        if isinstance(stream.window, Rows) and stream.window.by:
            for key in heavy:
                if key.partition(".")[0] == stream.name:
                    raise QueryError(
                        f'heavy: "{key}": rows of one value of "{stream.name}" stay together, since its window '
                        f"{stream.window} counts them; leave it out"
                    )


def _make_dimension(group: Group, share: int, heavy: tuple[Heavy, ...]) -> Dimension:
    if isinstance(group, str):
        return Dimension(text=f'the rows of "{group}"', share=share, keys={group: ()})
    return Dimension(
        text=" and ".join(attribute.text for attribute in group),
        share=share,
        keys={name: tuple(attribute.keys[name] for attribute in group) for name in group[0].keys},
        heavy=heavy,
    )


class _Cost(NamedTuple):
    """The cost of a vector of shares: rows of a cell, then of all."""

    rows: float
    copies: float
    shares: tuple[int, ...]


def _search(
    dimensions: Sequence[Set[str]], weights: Mapping[str, float], room: int, chosen: tuple[int, ...], best: _Cost | None
) -> _Cost:
    """Find the best vector that begins as chosen, or so far."""
    rest = dimensions[len(chosen) :]
    if not rest:
        found = _find_cost(dimensions, weights, chosen)
        return found if best is None or found < best else best
    # Large shares first: the common case, one key for all, is found at once and rules out nearly everything else.
    for share in range(room, 0, -1):
        longer = (*chosen, share)
        if best is None or _find_bound(dimensions, weights, longer, room // share) <= best.rows:
            best = _search(dimensions, weights, room // share, longer, best)
    assert best is not None
    return best


def _find_cost(dimensions: Sequence[Set[str]], weights: Mapping[str, float], shares: tuple[int, ...]) -> _Cost:
    rows = sum(weight / _count_parts(dimensions, shares, name) for name, weight in weights.items())
    return _Cost(rows, rows * math.prod(shares), shares)


def _find_bound(
    dimensions: Sequence[Set[str]], weights: Mapping[str, float], shares: tuple[int, ...], room: int
) -> float:
    """No vector that begins so sends fewer rows to a cell.

    At best each stream has all that is left to itself. And of the streams that what is left divides, the product is
    divided by at most `room` as often as a dimension has streams, while a sum is at least its number of terms times
    the root of their product.
    """
    rest = dimensions[len(shares) :]
    later = set().union(*rest)
    rows = {name: weight / _count_parts(dimensions, shares, name) for name, weight in weights.items()}
    free = [rows[name] for name in rows if name in later]
    fixed = sum(rows[name] for name in rows if name not in later)
    if not free:
        return fixed
    least = math.prod(part ** (1 / len(free)) for part in free) * room ** (-max(map(len, rest)) / len(free))
    bound: float = (fixed + max(sum(free) / room, len(free) * least)) * ROUNDING
    return bound


def _count_parts(dimensions: Sequence[Set[str]], shares: tuple[int, ...], name: str) -> int:
    """Count the parts that a stream is divided into."""
    return math.prod(share for streams, share in zip(dimensions, shares, strict=False) if name in streams)
