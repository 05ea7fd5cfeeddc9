"""The layout of a query's work: the cells of each row.

Every combination of joining rows must meet in exactly one cell. The cells form a grid: each `Dimension` divides some
streams by the values that their joins compare, or one stream by its rows, and a stream is copied along the dimensions
that do not divide it (HyperCube; Afrati and Ullman, "Optimizing joins in a map-reduce environment", 2010). Rows that
join agree on the values, so along every dimension they meet in one place. One dimension that divides all streams is
the common case of a key that all joins share, and then nothing is copied. Lookup tables are in every cell.

A row with no value for a comparison joins nothing. It still goes to one cell, chosen by the whole row: how far its
stream has come, and how many rows were late or had no time, is counted there.

    layout = plan_layout(binding, cells)          eddy.spark.layout.planning; cells may be None
    layout.place("a", batch) -> [Placed]          cells in rising order, rows in the order of their source
    layout.describe() -> plain values             for the state; check_layout(saved, layout.describe()) compares
    layout.replication() -> {"a": 1, "b": 4}      in how many cells a row is
    layout.text() -> str                          for people
    label(cell), cell_of(label)                   eddy.spark.layout.hashing; the parcels' column `cell` holds labels
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eddy import sql
from eddy.errors import CheckpointError, EngineError, RowError
from eddy.observe.text import plural
from eddy.predicates.row_errors import ask_by_halves
from eddy.spark.layout.dimension import Dimension
from eddy.spark.layout.placement import PlacedKeys, Placement
from eddy.sql import Bound, Column
from eddy.tuples.arrays import Integers, Mask, Valid
from eddy.tuples.codes import encode

VERSION = 1
"""The version of the way from a row to its cell; a change of it needs a new one, since stored rows do not move."""


class Placed(NamedTuple):
    """Rows of one cell, and which are copies; None for none.

    Another cell counts the row of which a copy was made.
    """

    cell: int
    rows: pa.RecordBatch
    copied: Mask | None


Way = tuple[tuple[int, tuple[str, ...] | None, str], ...]
"""For each dimension its parts, the keys by which rows are divided among them, and the heavy values of others: no key
where it is by the whole row, None where rows are copied to all of them."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The grid of cells, and the way of every row to its own.

    `schemas` are those of all streams and tables: what an SQL text means depends on the time zones in them.
    """

    streams: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    schemas: Mapping[str, pa.Schema]

    @cached_property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(dimension.share for dimension in self.dimensions)

    def place(self, stream: str, batch: pa.RecordBatch) -> list[Placed]:
        """Give the rows of each cell; cells without any are left out.

        One of all copies of a row is no copy.
        """
        if batch.schema.types != self.schemas[stream].types or batch.schema.names != self.schemas[stream].names:
            raise EngineError(
                f'layout: rows of "{stream}": expected the columns {self.schemas[stream].to_string()}, '
                f"got {batch.schema.to_string()}; hand over the batches that the layout was planned for"
            )
        return self.divide(stream, batch)

    def divide(self, stream: str, batch: pa.RecordBatch) -> list[Placed]:
        """Give the rows of each cell; they may have more columns, which other queries read."""
        if self.cells == 1 or not batch.num_rows:
            return [Placed(0, batch, None)] if batch.num_rows else []
        rows, cells, copied = self.find_targets(stream, batch)
        moved = batch.take(pa.array(rows))
        return [
            Placed(cell, moved.slice(at.start, at.stop - at.start), copied[at] if copied[at].any() else None)
            for cell, at in divide_cells(cells)
        ]

    def find_way(self, stream: str) -> Way | None:
        """Find what decides to which cells a stream's rows go, without its name; None where nobody else goes that way.

        Rows of one source go to the same cells under names that have one way, whatever query they are of.
        """
        if any(heavy.stream == stream for dimension in self.dimensions for heavy in dimension.heavy):
            return None
        return tuple(
            (one.share, tuple(map(_leave_out_input, one.keys[stream])), repr(one.heavy))
            if stream in one.keys
            else (one.share, None, "")
            for one in self.dimensions
        )

    def replication(self) -> dict[str, int]:
        """Count the cells that a row of each stream goes to.

        A row with a missing or a heavy value may go to others.
        """
        return {
            name: math.prod(dimension.share for dimension in self.dimensions if name not in dimension.keys)
            for name in self.streams
        }

    def describe(self) -> dict[str, Any]:
        """Give what must not change for the life of a checkpoint."""
        return {
            "version": VERSION,
            "cells": self.cells,
            "dimensions": [
                {
                    "by": dimension.text,
                    "share": dimension.share,
                    "keys": {name: list(keys) for name, keys in dimension.keys.items()},
                    "heavy": [[h.stream, h.position, list(h.codes)] for h in dimension.heavy],
                }
                for dimension in self.dimensions
            ],
        }

    def text(self) -> str:
        """Write for people how cells are divided.

        It says what divides them, and how often rows are copied.
        """
        head = plural(self.cells, "cell")
        by = [f"{dimension.share} by {dimension.text}" for dimension in self.dimensions]
        copies = [f"  {name}: {n} copies of each row" for name, n in self.replication().items() if n > 1]
        heavy = [
            f"  {h.stream}: rows with {plural(len(h.codes), 'heavy value')} of {d.text} "
            "are divided by the row, and the rows that they join are copied"
            for d in self.dimensions
            for h in d.heavy
        ]
        return "\n".join([f"{head}: {', '.join(by)}" if by else head, *copies, *heavy])

    @cached_property
    def _bounds(self) -> dict[str, Bound]:
        """Every key, ready to be evaluated."""
        types = {Column(name, f.name): f.type for name, schema in self.schemas.items() for f in schema}
        texts = (text for dimension in self.dimensions for keys in dimension.keys.values() for text in keys)
        return {text: sql.parse(text, where=f'key "{text}"').bind(types) for text in texts}

    def find_targets(self, stream: str, batch: pa.RecordBatch) -> tuple[Integers, Integers, Mask]:
        """Place the rows, as `Placement.finish` gives them."""
        placement = Placement(stream, batch)
        stride = 1
        for salt, dimension in enumerate(self.dimensions):
            keys = dimension.keys.get(stream)
            if keys is None:
                placement.copy(stride, dimension.share)
            elif keys:
                placement.divide(dimension, [self._encode(batch, text) for text in keys], stride, salt)
            else:
                placement.scatter(dimension.share, stride, salt)
            stride *= dimension.share
        return placement.finish(self.cells)

    def _encode(self, batch: pa.RecordBatch, text: str) -> PlacedKeys:
        try:
            return (*self._codes(batch, text), None)
        except RowError:
            # A row whose key cannot be computed must not fail here: a filter may still drop it.
            found = ask_by_halves(lambda part: self._codes(batch.take(pa.array(part)), text), batch.num_rows)
        codes, valid = np.zeros(batch.num_rows, np.int64), np.ones(batch.num_rows, np.bool_)
        for part, (coded, known) in found.parts:
            codes[part] = coded
            valid[part] = True if known is None else known
        return codes, valid, np.isin(np.arange(batch.num_rows), found.faulty)

    def _codes(self, batch: pa.RecordBatch, text: str) -> tuple[Integers, Valid]:
        bound = self._bounds[text]
        return encode(bound.evaluate({column: batch.column(column.name) for column in bound.columns}, batch.num_rows))


def divide_cells(cells: Integers) -> Iterator[tuple[int, slice]]:
    """Give the place of each cell's rows, which stand by cell."""
    # A cell is a slice:   cells [0 0 2 2 2 5]  ->  starts [0 2 5], ends [2 5 6]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    ends = np.append(starts[1:], len(cells))[: len(starts)]
    for cell, start, end in zip(cells[starts].tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield cell, slice(start, end)


@cache
def _leave_out_input(key: str) -> str:
    """Write a key without the name of its input."""
    return sql.parse(key, where=f'key "{key}"').qualify(lambda column: Column("it", column.name)).write()


def check_layout(saved: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse state of another layout, and say where they differ."""
    old, new = _parts(saved), _parts(wanted)
    differences = [
        f"{part}: the checkpoint has {old.get(part, 'nothing')}, this start has {new.get(part, 'nothing')}"
        for part in dict.fromkeys((*old, *new))
        if old.get(part) != new.get(part)
    ]
    if differences:
        raise CheckpointError(
            "checkpoint: its rows are laid out over other cells; " + "; ".join(differences) + "; "
            "go back to the cells, sizes and heavy values that it was begun with, or begin a new checkpoint"
        )


def _parts(described: Mapping[str, Any]) -> dict[str, str]:
    """Each part of a description, by a name for people."""
    parts = {"version": str(described["version"]), "cells": str(described["cells"])}
    for dimension in described["dimensions"]:
        place = f'divided by "{dimension["by"]}"'
        parts[place] = f"{dimension['share']} parts"
        parts |= {f'{place}: stream "{name}"': ", ".join(keys) for name, keys in dimension["keys"].items()}
        parts |= {
            f'{place}: heavy values of "{name}", key {position}': ", ".join(map(str, codes))
            for name, position, codes in dimension["heavy"]
        }
    if len(described["dimensions"]) > 1:
        parts["divided in the order"] = ", ".join(f'"{dimension["by"]}"' for dimension in described["dimensions"])
    return parts
