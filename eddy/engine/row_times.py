"""Event times of rows, and the rows whose times do not count.

Everything here is a property of a row's own values. So it is the same in whichever micro-batch, cell or order a row
comes. Two places ask: the gate that admits rows, and the parcels that tell Spark's watermark of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eddy.errors import QueryError
from eddy.query import Stream
from eddy.tuples import event_time
from eddy.tuples.arrays import Mask
from eddy.tuples.event_time import Ticks


class Timed(NamedTuple):
    """The event times of rows, and which rows are bad.

    A row is bad in one way at most; a mask is None where no row is.
    """

    ticks: Ticks
    malformed: Mask | None
    untimed: Mask | None
    ahead: Mask | None

    @property
    def known(self) -> Mask | None:
        """The rows whose time counts; None for all of them."""
        bad = [mask for mask in (self.malformed, self.untimed, self.ahead) if mask is not None]
        return ~np.logical_or.reduce(bad) if bad else None


def read_times(stream: Stream, rows: pa.RecordBatch, dtype: Any) -> Timed:
    """Read the times of a stream's rows as ticks of a type.

    >>> stream = Stream("a", time="ts", max_ahead=10, arrived="at")
    >>> rows = pa.record_batch({"ts": [5, 25, 900], "at": [7, 15, 15]})
    >>> read_times(stream, rows, np.int64).ahead.tolist()
    [False, False, True]
    """
    ticks, timed = _read_ticks(stream, "time", stream.time, rows, dtype)
    read = None if stream.malformed is None else _find_empty(rows.column(stream.malformed))
    return Timed(
        ticks=ticks,
        malformed=None if read is None else ~read,
        untimed=None if timed is None else _keep_among(~timed, read),
        ahead=_keep_among(_find_ahead(stream, rows), read),
    )


def _find_ahead(stream: Stream, rows: pa.RecordBatch) -> Mask | None:
    """Find the rows whose time is too far after their arrival.

    The limit is `max_ahead`. A row with one of the two times missing is not ahead. The types of the two columns
    alone decide how they are compared, not those of other streams.
    """
    if stream.time is None or stream.arrived is None or stream.ahead_ticks is None:
        return None
    # The query's type may be a float because of another stream's column, and would round these two.
    dtype = event_time.dtype(*(rows.schema.field(name).type for name in (stream.time, stream.arrived)))
    ticks, timed = _read_ticks(stream, "time", stream.time, rows, dtype)
    arrived, known = _read_ticks(stream, "arrived", stream.arrived, rows, dtype)
    # Whole times are more than a length apart if they are more than its whole part apart: nothing is rounded.
    limit = math.floor(stream.ahead_ticks) if dtype is np.int64 else stream.ahead_ticks
    # `age` is 0 where the row is not after its arrival, so a time of long ago is never ahead.
    return _keep_among(_keep_among(event_time.age(ticks, arrived) > limit, timed), known)


def _keep_among(mask: Mask | None, others: Mask | None) -> Mask | None:
    """Keep the rows of a mask that are also in the other one.

    Another mask of None has all rows. Gives None where no row is left.
    """
    if mask is not None and others is not None:
        mask = mask & others
    return mask if mask is not None and mask.any() else None


def _find_empty(column: pa.Array) -> Mask | None:
    """Find the rows without a value; None if no row has one."""
    if column.null_count == len(column):
        return None
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def _read_ticks(
    stream: Stream, place: str, name: str | None, rows: pa.RecordBatch, dtype: Any
) -> tuple[Ticks, Mask | None]:
    """Read one of the columns with times, `time` or `arrived`.

    Without one, rows are in the order of their source.
    """
    if name is None:
        return np.zeros(rows.num_rows, np.int64), None
    try:
        return event_time.read_ticks(rows.column(name), dtype)
    except pa.ArrowInvalid as error:
        raise QueryError(
            f'stream "{stream.name}": {place} "{name}": expected times that fit into 64 bits of microseconds or units, '
            f"got {error}"
        ) from error
