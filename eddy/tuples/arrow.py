"""Small things that pyarrow leaves to its users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import QueryError, read_message


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Make a batch without rows, of any types at all."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def one_batch(name: str, table: pa.Table) -> pa.RecordBatch:
    """Make a table in one piece."""
    try:
        batches = table.combine_chunks().to_batches()
    except pa.ArrowInvalid as error:
        raise QueryError(
            f'data "{name}": its chunks cannot be made one, {read_message(error)}; cast the column first'
        ) from error
    return batches[0] if batches else no_rows(table.schema)


def merge_fields(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Make one schema of several: the columns of the first, and those of the others that it has not.

    >>> merge_fields([pa.schema({"k": pa.int64()}), pa.schema({"v": pa.string(), "k": pa.int64()})]).names
    ['k', 'v']
    """
    fields: dict[str, pa.Field] = {}
    for schema in schemas:
        for one in schema:
            fields.setdefault(one.name, one)
    return pa.schema(list(fields.values()))


def read_raw(array: pa.Array, dtype: Any) -> np.ndarray[Any, Any]:
    """The bytes of an Arrow array of a fixed width, as numbers."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), dtype)
    values: np.ndarray[Any, Any] = np.frombuffer(
        memoryview(data), dtype, len(array), array.offset * np.dtype(dtype).itemsize
    )
    return values
