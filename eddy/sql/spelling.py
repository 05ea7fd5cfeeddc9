"""From any of Arrow's spellings of a type to the one that expressions know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import types
from eddy.sql.arrays import build, nulls, physical
from eddy.sql.place import Place
from eddy.sql.tree import Column, Span

_NANOS = 1_000


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """A column to be converted, and where the text names it."""

    column: Column
    type: pa.DataType
    span: Span
    place: Place

    def convert(self, array: pa.Array) -> pa.Array:
        """Convert the column; finer times are floored."""
        try:
            return _converted(array, self.type)
        except pa.ArrowInvalid:
            held = f'the column "{self.column}" of type "{array.type}" holds a value that does not fit "{self.type}"'
            message = (
                f"{held}, the type that expressions know; cast the column, or leave out such rows, before the query"
            )
            raise self.place.fault(message, self.span.start, self.span.end) from None


def _converted(array: pa.Array, type: pa.DataType) -> pa.Array:
    inner = types.stored(array.type)
    if inner is not None:
        return _converted(array.cast(inner), type)
    if isinstance(array, pa.DictionaryArray):
        return _converted(array.dictionary_decode(), type)
    if isinstance(array.type, pa.TimestampType) and array.type.unit == "ns":
        return build(np.floor_divide(physical(array), _NANOS), nulls(array), pa.timestamp("us", array.type.tz)).cast(
            type
        )
    if isinstance(array.type, pa.DurationType) and array.type.unit == "ns":
        return pc.cast(array, type, safe=False)
    return array.cast(type)
