"""The columns of a frame that an engine reads, whatever the frame is: of Arrow, of pandas, or beside others.

What nobody reads is never made an Arrow array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.errors import QueryError, read_message, unknown_name
from eddy.query.binding import can_pick
from eddy.sql import describe_ambiguous
from eddy.sql.values.name_case import fold_case

if TYPE_CHECKING:
    import pandas as pd

SAMPLE_ROWS = 1_000
"""Rows of a pandas frame by which the types of columns are known that nothing has asked for yet: enough to see what an
object column holds, and nothing beside the work."""


class Columns(Protocol):
    """The columns of a frame: their types, and those of them that are needed."""

    @property
    def schema(self) -> pa.Schema:
        """The columns that the engine could read."""

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some of them."""


@dataclass(frozen=True)
class ArrowColumns:
    """Those of a table."""

    table: pa.Table
    needed: frozenset[str]

    @property
    def schema(self) -> pa.Schema:
        """All but those of a type that cannot be picked out by position, unless a filter reads them."""
        return pa.schema([f for f in self.table.schema if f.name in self.needed or can_pick(f.type)])

    def read(self, names: Sequence[str]) -> pa.Table:
        """They are there already."""
        return self.table.select(list(names))


@dataclass(frozen=True)
class PandasColumns:
    """Those of a DataFrame: what nobody reads is never made an Arrow array."""

    frame: pd.DataFrame
    names: Sequence[str]
    needed: frozenset[str]

    @property
    def schema(self) -> pa.Schema:
        """The columns that fit into Arrow, by their first rows; those that a filter reads must."""
        first = self.frame.head(SAMPLE_ROWS)
        found = ((name, _to_arrow(first, name, must=name in self.needed)) for name in self.names)
        return pa.schema([(name, array.type) for name, array in found if array is not None])

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns as Arrow has them."""
        return pa.table({name: _to_arrow(self.frame, name, must=True) for name in names})


@dataclass(frozen=True)
class PlacedColumns:
    """Those of a joined table, and the place of each row under a name that no column has."""

    columns: Columns
    rows: int
    place: str

    @property
    def schema(self) -> pa.Schema:
        """The columns that the engine could read, and the places."""
        return self.columns.schema.append(pa.field(self.place, pa.int64()))

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns, and the places."""
        own = self.columns.read([name for name in names if name != self.place])
        return pa.table({**dict(zip(own.column_names, own.columns, strict=True)), self.place: np.arange(self.rows)})


@dataclass(frozen=True)
class FieldColumns:
    """Those of a frame, and fields of its structs: each has the whole way to it as its name."""

    columns: Columns
    ways: Mapping[str, Sequence[str]]

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that the engine could read, and the fields."""
        own = self.columns.schema
        types = {name: _follow(own, name, way).type for name, way in self.ways.items()}
        return pa.schema([*own, *types.items()])

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns, and some fields; a field of a struct that is null is null."""
        roots = [self.ways[name][0] for name in names if name in self.ways]
        own = self.columns.read([*dict.fromkeys([*(name for name in names if name not in self.ways), *roots])])
        found = {name: own[name] for name in names if name not in self.ways}
        for name in names:
            if way := self.ways.get(name):
                found[name] = pc.struct_field(own[way[0]], _follow(own.schema, name, way).places)
        return pa.table({name: found[name] for name in names})


class Followed(NamedTuple):
    """Where a field stands in the structs around it, and what it holds."""

    places: Sequence[int]
    type: pa.DataType


def _follow(schema: pa.Schema, name: str, way: Sequence[str]) -> Followed:
    """Follow the way to a field, in any case of letters."""
    root, *rest = way
    kind, places = schema.field(root).type, list[int]()
    for part in rest:
        if not pa.types.is_struct(kind):
            raise QueryError(f'where: column "{name}": expected a struct to find "{part}" in, got {kind}')
        fields = [field.name for field in kind]
        found = [at for at, own in enumerate(fields) if fold_case(own) == fold_case(part)]
        if not found:
            raise unknown_name("field", part, fields, where=f'where: column "{name}"')
        if len(found) > 1:
            raise QueryError(f"where: {describe_ambiguous(name, [fields[at] for at in found])}")
        places.append(found[0])
        kind = kind.field(found[0]).type
    return Followed(places, kind)


def _to_arrow(frame: pd.DataFrame, name: str, *, must: bool) -> pa.Array | None:
    column = frame[name]
    try:
        # Arrow knows no sparse columns.
        values: Any = np.asarray(column) if str(column.dtype).startswith("Sparse") else column
        return pa.Array.from_pandas(values)
    except (pa.ArrowException, ValueError, TypeError) as error:
        if not must:
            return None
        raise QueryError(
            f'where: column "{name}" does not fit into an Arrow array: {read_message(error)}; make its values of one '
            "type"
        ) from error
