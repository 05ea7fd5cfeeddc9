"""The rows of one input."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eddy.tuples import RowIds
from operators.columns import Column, column


class Stem:
    """Keeps the rows of one input while tuples refer to them.

    Nothing joins with a row of a query over one stream, so it is kept for its own micro-batch.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns: dict[str, Column] = {}

    def append(self, rows: pa.RecordBatch) -> RowIds:
        """Keep rows; says under which ids."""
        self._columns = {field.name: column(field.type) for field in self._schema}
        for name, array in zip(rows.schema.names, rows.columns, strict=True):
            self._columns[name].append(array)
        return np.arange(rows.num_rows)

    def take(self, column: str, ids: RowIds) -> pa.Array:
        """The values of a column at some ids."""
        return self._columns[column].take(ids)

    def evict(self) -> None:
        """Let go of the rows that nothing can meet any more."""
        self._columns = {}
