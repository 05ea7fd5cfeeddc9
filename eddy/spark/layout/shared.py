"""The cells of the rows of a source that has several names, each with a layout: of one query, or of several.

A row goes once to each cell that needs it under any of its names, with a mark for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from eddy.spark.layout.layout import Layout, divide_cells
from eddy.tuples.arrays import Integers, Mask


class PlacedShared(NamedTuple):
    """Rows of one cell, which it needs under several names.

    `wanted` are those that it needs under each, and `copied` those that are copies under it; a name that is not there
    needs all rows, and has no copies.
    """

    cell: int
    rows: pa.RecordBatch
    wanted: Mapping[str, Mask]
    copied: Mapping[str, Mask]


class StreamLayout(NamedTuple):
    """The layout of a query, and what it calls the stream."""

    layout: Layout
    stream: str


@dataclass(frozen=True)
class SharedLayout:
    """The way of a source's rows to the cells of all its names."""

    names: Mapping[str, StreamLayout]

    @classmethod
    def of(cls, layout: Layout, streams: Iterable[str]) -> SharedLayout:
        """Make that of the streams of one query."""
        return cls({stream: StreamLayout(layout, stream) for stream in streams})

    @cached_property
    def groups(self) -> Sequence[Sequence[str]]:
        """The names under which rows go the same way."""
        found: dict[object, list[str]] = {}
        for name, (layout, stream) in self.names.items():
            way = layout.find_way(stream)
            # The way to a lone cell is an empty one.
            found.setdefault((name, stream) if way is None else way, []).append(name)
        return list(found.values())

    def place(self, batch: pa.RecordBatch, wanted: Mapping[str, Mask]) -> list[PlacedShared]:
        """Give the rows of each cell, each row once.

        `wanted` are the rows that are some name's, where not all are.
        """
        if not batch.num_rows:
            return []
        if len(self.groups) == 1 and not wanted:
            layout, stream = next(iter(self.names.values()))
            return [
                PlacedShared(cell, rows, {}, {} if copied is None else dict.fromkeys(self.names, copied))
                for cell, rows, copied in layout.divide(stream, batch)
            ]
        # A row in a cell is one number, so that those of all names are merged by a sort:
        #
        #     a   rows [0 1 2]  cells [0 1 1]      numbers (of 3 rows)  [0 4 5]
        #     b   rows [0 1 2]  cells [1 1 0]                           [3 4 2]      all  [0 2 3 4 5]
        placed = {name: own for group in self.groups for name, own in _number_rows(self, group, batch, wanted).items()}
        found = np.unique(np.concatenate([numbers for numbers, _ in placed.values()]))
        masks = {name: np.isin(found, numbers) for name, (numbers, _) in placed.items()}
        copies = {name: np.isin(found, numbers[copied]) for name, (numbers, copied) in placed.items()}
        moved = batch.take(pa.array(found % batch.num_rows))
        return [
            PlacedShared(cell, moved.slice(at.start, at.stop - at.start), _cut(masks, at), _cut(copies, at))
            for cell, at in divide_cells(found // batch.num_rows)
        ]


def _number_rows(
    shared: SharedLayout, group: Sequence[str], batch: pa.RecordBatch, wanted: Mapping[str, Mask]
) -> dict[str, tuple[Integers, Mask]]:
    """Number the rows in cells that each name of a group wants, and tell which are copies."""
    layout, stream = shared.names[group[0]]
    rows, cells, copied = layout.find_targets(stream, batch)
    numbers = cells * batch.num_rows + rows
    found = {}
    for name in group:
        own = wanted[name][rows] if name in wanted else slice(None)
        found[name] = (numbers[own], copied[own])
    return found


def _cut(masks: Mapping[str, Mask], at: slice) -> dict[str, Mask]:
    return {name: mask[at] for name, mask in masks.items()}
