"""Which layout fits a query: what divides its streams, and into how many parts.

    layout = plan_layout(binding, cells)                         cells: the user's number, or None
    layout = plan_layout(binding, None, default=4, sizes={"a": 1e6, "b": 1e3}, costs={"a": 20.0})

A key that all joins share divides all streams. Any other join graph is laid out over its join attributes, and a stream
that no equality connects with another may be divided by its rows. A key that divides fewer streams than another one
does is left out: the other one does the same without its copies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from eddy.binding import Binding
from eddy.errors import QueryError, quoted, unknown
from eddy.spark.attributes import Attribute, attributes
from eddy.spark.dimension import Dimension, Heavy
from eddy.spark.heavy import heavy_values
from eddy.spark.layout import Layout
from eddy.spark.shares import best_shares
from eddy.window import Rows

CELLS = 4
"""Cells where the user asks for no number: the cores of a small machine, and they cost little on a smaller one."""

MOST_CELLS = 1024
"""More cells than this have no cluster to run on, and every one costs a state and a call per micro-batch."""

Group = Sequence[Attribute] | str
"""What a dimension divides by: attributes of the same streams, or the rows of one stream."""


def plan_layout(
    binding: Binding,
    cells: int | None,
    *,
    default: int = 1,
    sizes: Mapping[str, float] | None = None,
    costs: Mapping[str, float] | None = None,
    heavy: Mapping[str, Sequence[Any]] | None = None,
) -> Layout:
    """Lay a query out over at most so many cells; `default` of them where the user gave no number.

    `sizes` are the rows of each stream, in any unit, and `costs` what a row of it costs a cell, its filters included:
    those of a stream that is copied run once per copy. `heavy` has for a key such as "a.k" the values that many rows
    of that stream have.
    """
    wanted = _checked(cells, default)
    weights = _weights(binding, "sizes", sizes)
    for name, cost in _weights(binding, "costs", costs).items():
        weights[name] *= cost
    groups = _groups(binding)
    if not _allows_rows(binding, groups, cells):
        wanted, groups = 1, []
    divided = [_streams(group) for group in groups]
    shares = best_shares(divided, weights, wanted)
    heavies = heavy_values([() if isinstance(group, str) else group for group in groups], heavy or {})
    dimensions = [_dimension(*parts) for parts in zip(groups, shares, heavies, strict=True) if parts[1] > 1]
    names = tuple(stream.name for stream in binding.query.streams)
    return Layout(streams=names, dimensions=tuple(dimensions), schemas=binding.schemas)


def _checked(cells: object, default: int) -> int:
    number = default if cells is None else cells
    if not isinstance(number, Integral) or isinstance(number, bool) or not 1 <= int(number) <= MOST_CELLS:
        raise QueryError(f"cells: expected a whole number from 1 to {MOST_CELLS:,}, got {number!r}")
    return int(number)


def _weights(binding: Binding, what: str, given: Mapping[str, float] | None) -> dict[str, float]:
    """A number for each stream; 1 where none is given."""
    names = [stream.name for stream in binding.query.streams]
    for name, number in (given or {}).items():
        if name not in names:
            raise unknown("stream", name, names, where=what)
        if not isinstance(number, Real) or not 0 <= float(number) < math.inf:
            raise QueryError(f'{what}: "{name}": expected a number of 0 or more, got {number!r}')
    return {name: float((given or {}).get(name, 1)) for name in names}


def _groups(binding: Binding) -> list[Group]:
    """What may divide the streams, the best of those that divide the same ones or fewer."""
    together: dict[frozenset[str], list[Attribute]] = {}
    for attribute in attributes(binding):
        together.setdefault(frozenset(attribute.keys), []).append(attribute)
    largest = [streams for streams in together if not any(streams < others for others in together)]
    loose = [s.name for s in binding.query.streams if not any(s.name in streams for streams in largest)]
    return [*(together[streams] for streams in largest), *loose]


def _streams(group: Group) -> frozenset[str]:
    return frozenset({group} if isinstance(group, str) else group[0].keys)


def _allows_rows(binding: Binding, groups: Sequence[Group], cells: int | None) -> bool:
    """May there be more cells than one; windows of rows must not depend on which cell a row is in."""
    by_rows = [stream.name for stream in binding.query.streams if isinstance(stream.window, Rows)]
    if not by_rows or any(len(_streams(group)) == len(binding.query.streams) for group in groups):
        return True
    if cells is None or cells == 1:
        return False
    raise QueryError(
        f"cells: {quoted(by_rows)} with a window of rows needs one cell, or a key that all streams' joins share, "
        f"got {cells} cells; ask for one cell, or use a window by time"
    )


def _dimension(group: Group, share: int, heavy: tuple[Heavy, ...]) -> Dimension:
    if isinstance(group, str):
        return Dimension(text=f'the rows of "{group}"', share=share, keys={group: ()})
    return Dimension(
        text=" and ".join(attribute.text for attribute in group),
        share=share,
        keys={name: tuple(attribute.keys[name] for attribute in group) for name in group[0].keys},
        heavy=heavy,
    )
