"""Small things that pyarrow leaves to its users."""

from __future__ import annotations

import pyarrow as pa

from eddy.errors import QueryError


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows, of any types at all."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def one_batch(name: str, table: pa.Table) -> pa.RecordBatch:
    """A table in one piece."""
    try:
        batches = table.combine_chunks().to_batches()
    except pa.ArrowInvalid as error:
        raise QueryError(f'data "{name}": its chunks cannot be made one, {error}; cast the column first') from error
    return batches[0] if batches else no_rows(table.schema)
