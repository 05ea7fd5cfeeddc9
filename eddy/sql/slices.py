"""Substrings by Spark's positions.

Positions count characters from 1, from the end when negative, and 0 means 1. A start before the string still counts:
`substring('abc', -5, 3)` covers two places before it, and gives 'a'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql import types
from eddy.sql.arrays import buffer, nulls, on_arrays, physical
from eddy.sql.value import Kernel, Value

Numbers = np.ndarray[Any, Any]
# The length that stands for all the rest, as in Spark: the largest int.
TO_THE_END = (1 << 31) - 1


def fixed(start: int | None, size: int | None) -> Kernel:
    """Give the kernel for a start and a length that are constants."""
    if start is None or size is None:
        return _unknown
    if size <= 0:
        return lambda value: pc.utf8_slice_codeunits(value, start=0, stop=0)
    first = start - 1 if start > 0 else start
    last: int | None = first + size
    if first < 0 <= first + size or size == TO_THE_END:
        last = None
    return lambda value: pc.utf8_slice_codeunits(value, start=first, stop=last)


def _unknown(value: Value) -> Value:
    return pa.scalar(None, types.STRING) if isinstance(value, pa.Scalar) else pa.nulls(len(value), types.STRING)


@on_arrays
def by_row(texts: pa.Array, starts: pa.Array, sizes: pa.Array) -> pa.Array:
    """Cut each string at its own place, on the bytes of all at once."""
    mask = nulls(texts, starts, sizes)
    texts = pc.fill_null(texts, "")
    edges = buffer(texts, 1, np.dtype(np.int32), more=1)
    data = np.frombuffer(memoryview(texts.buffers()[2] or b""), np.uint8)
    # Where each character begins, and one place past the last: characters are whatever is no continuation byte.
    places = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
    first = np.searchsorted(places, edges)
    low, high = _range(physical(starts).astype(np.int64), physical(sizes).astype(np.int64), np.diff(first))
    return _gathered(data, places[first[:-1] + low], places[first[:-1] + high], mask)


def _range(starts: Numbers, sizes: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    begin = np.where(starts > 0, starts - 1, np.where(starts < 0, lengths + starts, 0))
    low = np.clip(begin, 0, lengths)
    return low, np.clip(begin + sizes, low, lengths)


def _gathered(data: Numbers, begins: Numbers, ends: Numbers, mask: Numbers | None) -> pa.Array:
    sizes = ends - begins
    edges = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=edges[1:])
    taken = data[np.repeat(begins - edges[:-1], sizes) + np.arange(edges[-1])]
    valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    buffers = [valid, pa.py_buffer(edges), pa.py_buffer(taken)]
    return pa.Array.from_buffers(types.STRING, len(sizes), buffers)
