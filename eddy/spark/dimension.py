"""One direction of the grid of cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Heavy:
    """Values that so many rows of a stream have that they are divided by the row.

    The other streams' rows with such a value are copied along the dimension. `position` says which of the dimension's
    keys it is; the values stand as codes.
    """

    stream: str
    position: int
    codes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One direction of the grid of cells, and what divides each stream along it.

    `keys` has for a stream that is divided the SQL of its values, each converted to the type in which they are
    compared; without any, it is divided by its rows. Streams that are not in it are copied. Of several `heavy` that a
    row matches, the first counts.
    """

    text: str
    share: int
    keys: Mapping[str, tuple[str, ...]]
    heavy: tuple[Heavy, ...] = ()
