"""Event times as numbers, and the columns that may hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.errors import QueryError

Ticks = np.ndarray[Any, np.dtype[np.int64]] | np.ndarray[Any, np.dtype[np.float64]]

ZONED, UNZONED, NUMBER = "a timestamp", "a timestamp without a time zone", "a number"


def find_kind(data_type: pa.DataType, *, where: str) -> str:
    """Find the kind of clock that a time column is read from."""
    if pa.types.is_timestamp(data_type):
        return ZONED if data_type.tz else UNZONED
    if pa.types.is_integer(data_type) or pa.types.is_floating(data_type):
        return NUMBER
    raise QueryError(
        f"{where}: expected a time column that is a timestamp, an integer or a float, got {data_type}; "
        "cast it, for example to timestamp, in a job's file by select of the source"
    )


def read_ticks(column: pa.Array, dtype: Any) -> tuple[Ticks, Any]:
    """Give a time column as numbers, and which rows have a time.

    Timestamps are in microseconds, numbers in their own unit. Finer timestamps are floored to microseconds, as Spark
    does when it reads them.
    """
    values = column
    if pa.types.is_timestamp(column.type):
        values = _micros(column, column.type)
    elif not are_ticks(column.type):
        values = column.cast(pa.int64() if pa.types.is_integer(column.type) else pa.float64())
    valid = None if column.null_count == 0 else column.is_valid().to_numpy(zero_copy_only=False)
    numbers = (values if valid is None else values.fill_null(0)).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(column.type):
        # NaN compares with nothing, so a row with it would be neither late nor on time.
        real = ~np.isnan(numbers)
        if not real.all():
            valid = real if valid is None else valid & real
    return numbers.astype(dtype, copy=False), valid


def are_ticks(data_type: pa.DataType) -> bool:
    """Tell whether a column of this type holds ticks as they are."""
    if pa.types.is_timestamp(data_type):
        return bool(data_type.unit == "us")
    return pa.types.is_int64(data_type) or pa.types.is_float64(data_type)


def dtype(*data_types: pa.DataType) -> type[np.int64] | type[np.float64]:
    """Choose one type for the ticks of columns that are compared."""
    return np.float64 if any(map(pa.types.is_floating, data_types)) else np.int64


def age(now: Ticks, then: Ticks) -> np.ndarray[Any, Any]:
    """Give how much later one time is than another, at least 0.

    The difference of two 64-bit integers needs 64 bits and a sign, so it is taken without one.
    """
    if now.dtype == np.float64:
        # Two infinite times are equally late, and their difference would be no number. That of two finite ones may
        # be too large for one: then it is infinite.
        with np.errstate(over="ignore"):
            return np.subtract(now, then, out=np.zeros(len(now)), where=now > then)
    return np.where(now > then, now.view(np.uint64) - then.view(np.uint64), np.uint64(0))


def _micros(column: pa.Array, data_type: pa.TimestampType) -> pa.Array:
    if data_type.unit != "ns":
        return column.cast(pa.timestamp("us", data_type.tz)).cast(pa.int64())
    numbers = column.cast(pa.int64())
    # Arrow divides towards zero, and a time before 1970 is negative: one less, unless it came out even.
    whole = pc.divide(numbers, 1_000)
    below = pc.less(numbers, pc.multiply(whole, 1_000))
    return pc.subtract(whole, below.cast(pa.int64()))
