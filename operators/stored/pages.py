"""Stored rows as they are written down, a page at a time.

A row's values never change, so a page of rows is written once, and its bytes are in every state that is saved while its
rows are stored. What a page costs is paid when its rows come, however long they stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.tuples.arrays import Integers, RowIds
from eddy.tuples.arrow import one_batch, read_raw
from eddy.tuples.packed import Packed, pack_rows
from eddy.tuples.runs import Kept

PAGE_BYTES = 256 << 10
"""Bytes of rows in a full page: the last one is written again with each state until it is full, in 1 ms, and pages have
enough rows to compress well."""

LONG = 64
"""Bits of the values that are written as steps."""

STEPS, COLUMN = "steps ", "column "
"""What the names of a page's columns begin with: differences from row to row, and values."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Rows that are written down.

    `start` and `stop` are their ids. The first page may have rows that are gone, so many at its beginning are `gone`.
    """

    start: int
    stop: int
    packed: Packed
    gone: int = 0
    full: bool = True


class Pages:
    """The pages of one input's rows, in their order."""

    def __init__(self) -> None:
        self._pages: list[Page] = []

    def write(self, rows: int, size: int, gather: Callable[[RowIds], pa.RecordBatch]) -> tuple[int, list[Packed]]:
        """Write the rows that stand on no page yet, or on a last one that is not full.

        All rows have so many bytes. Gives all pages, and how many rows of the first are gone.
        """
        step = max(PAGE_BYTES * rows // max(size, 1), 1)
        kept = [page for page in self._pages if page.full]
        made: list[Page] = []
        # Rows between pages had neighbours that are gone; they are written again, and their pages do not grow:
        #
        #     ids    0      3      6  7      10
        #     kept   [0   3)[3   6)   [7  10)
        #     made                 [6)        [10 ..      the last one is full once it has `step` rows
        for page in [*kept, None]:
            edge = rows if page is None else page.start
            for first in range(made[-1].stop if made else 0, edge, step):
                stop = min(first + step, edge)
                full = page is not None or stop - first == step
                made.append(Page(start=first, stop=stop, packed=pack_rows(gather(np.arange(first, stop))), full=full))
            made += [page] if page else []
        self._pages = made
        return (made[0].gone if made else 0), [page.packed for page in made]

    def adopt(self, gone: int, packed: Sequence[Packed], counts: Sequence[int]) -> None:
        """Take the pages of a state, each with so many rows."""
        if not 0 <= gone <= sum(counts[:1]):
            raise ValueError(f"expected up to {sum(counts[:1])} rows to be gone from the first page, got {gone}")
        start = 0
        for number, (one, rows) in enumerate(zip(packed, counts, strict=True)):
            left = rows if number else rows - gone
            self._pages.append(Page(start=start, stop=start + left, packed=one, gone=rows - left))
            start += left
        # Nobody knows whether the last one was full, or could take what comes.
        self._pages[-1:] = [replace(page, full=False) for page in self._pages[-1:]]

    def retain(self, kept: Kept) -> None:
        """Follow the rows when only some are kept."""
        moved = (_move(page, kept) for page in self._pages)
        self._pages = [page for page in moved if page is not None]


def _move(page: Page, kept: Kept) -> Page | None:
    """Give a page its new place; None if rows are gone from it, unless they are the oldest of all."""
    start, stop = kept.place(page.start), kept.place(page.stop)
    gone = (page.stop - page.start) - (stop - start)
    if start == stop or (gone and kept.place(page.start + gone)):
        return None
    return replace(page, start=start, stop=stop, gone=page.gone + gone)


def make_page(columns: Sequence[tuple[str, pa.Array]]) -> pa.RecordBatch:
    """Make the rows of a page.

    Whole numbers and times that never fall are written as the steps between them, which compress better.
    """
    made: dict[str, pa.Array] = {}
    for name, values in columns:
        steps = _find_steps(values)
        made |= {COLUMN + name: values} if steps is None else {STEPS + name: pa.array(steps)}
    return pa.RecordBatch.from_arrays(list(made.values()), names=list(made))


def read_pages(pages: Sequence[pa.RecordBatch], schema: pa.Schema, gone: int) -> pa.RecordBatch:
    """Read the rows of pages, of which so many at the beginning are gone; columns that a page lacks are null."""
    read = [_read_page(page, schema) for page in pages]
    return one_batch("state", pa.Table.from_batches(read, schema=schema)).slice(gone)


def has_column(page: pa.RecordBatch, name: str) -> bool:
    """Tell whether the rows of a page have a column."""
    return STEPS + name in page.schema.names or COLUMN + name in page.schema.names


def count_values(page: pa.RecordBatch, name: str) -> Mapping[Any, int]:
    """Count the values of a column of a page, if they are whole numbers, texts, true or false."""
    if STEPS + name in page.schema.names:
        values, counts = np.unique(np.cumsum(page.column(STEPS + name).to_numpy()), return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))
    column = page.column(COLUMN + name)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)):
        return {}
    return {one["values"]: one["counts"] for one in column.drop_null().value_counts().to_pylist()}


def _read_page(page: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field in schema:
        if STEPS + field.name in page.schema.names:
            values = np.cumsum(page.column(STEPS + field.name).to_numpy())
            columns.append(pa.Array.from_buffers(field.type, len(values), [None, pa.py_buffer(values)]))
        elif COLUMN + field.name in page.schema.names:
            columns.append(page.column(COLUMN + field.name))
        else:
            columns.append(pa.nulls(page.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _find_steps(values: pa.Array) -> Integers | None:
    """Give the differences between values and the ones before them; None if any falls, or they are of another kind."""
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) or kind.bit_width != LONG or values.null_count:
        return None
    # A step that 64 bits do not hold is another one, and so is the sum of it: the values come out as they were.
    steps: Integers = np.diff(read_raw(values, np.int64), prepend=np.int64(0))
    return steps if bool((steps[1:] >= 0).all()) else None
