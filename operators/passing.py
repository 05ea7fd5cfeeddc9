"""Rows of a query over one stream, which are not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from eddy.operators.columns import Stored, make_column
from eddy.tuples.arrays import RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.packed import Packed


class Passing:
    """Holds rows for the micro-batch in which they arrive."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns: dict[str, Stored] = {}

    def __len__(self) -> int:
        return 0

    @property
    def nbytes(self) -> int:
        """Zero, since nothing stays."""
        return 0

    @property
    def row_bytes(self) -> int:
        """Zero as well."""
        return 0

    def append(self, rows: pa.RecordBatch, ticks: Ticks, arrivals: RowIds) -> RowIds:
        """Hold rows, and give their ids."""
        self._columns = {field.name: make_column(field.type) for field in self._schema}
        for name, held in self._columns.items():
            held.append(rows.column(name))
        return np.arange(rows.num_rows)

    def take(self, column: str, ids: RowIds) -> pa.Array:
        """The values of a column at some ids."""
        return self._columns[column].take(ids)

    def settle(self, watermark: float | None) -> None:
        """Let go of everything."""
        self._columns = {}

    def snapshot(self) -> tuple[dict[str, int], list[Packed]]:
        """Nothing."""
        return {}, []

    def restore(self, numbers: Mapping[str, int], packed: Sequence[Packed]) -> None:
        """Nothing to go on from."""
