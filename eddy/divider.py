"""The values of one classifier attribute, divided into buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.codes import GOLDEN, Valid, encode
from eddy.errors import QueryError
from eddy.ranges import Integers
from eddy.sql import Column

Buckets = np.ndarray[Any, np.dtype[np.uint8]]

LONG = 64
"""Bytes of a text on average, from which on looking at it costs more than it can save."""

UNIQUE = 0.9
"""A discrete attribute with more distinct values than this, by row, tells nothing about the next row."""

ENOUGH = 100
"""Rows that a judgement about an attribute needs."""


@dataclass(frozen=True)
class Attribute:
    """A column by which rows are told apart; its values, where they are known beforehand."""

    column: Column
    values: tuple[Any, ...] = ()


class Divider:
    """Divides the values of one attribute into buckets."""

    def __init__(self, attribute: Attribute, data_type: pa.DataType, buckets: int) -> None:
        self._buckets = buckets
        continuous = pa.types.is_floating(data_type) or pa.types.is_decimal(data_type) or is_time(data_type)
        self._continuous = continuous and not attribute.values
        self._known: list[int] = []
        self._fixed = bool(attribute.values)
        if attribute.values:
            self._known = _codes(attribute, data_type)
        self._low, self._high = np.inf, -np.inf
        self._last: int | None = None
        self._seen = 0
        self._rising = not self._fixed
        self._useless = False

    def divide(self, array: pa.Array, *, judge: bool = True) -> Buckets:
        """The bucket of each value; `judge` says that these are the first rows seen of a micro-batch."""
        codes, valid = encode(array)
        if judge and not self._fixed:
            self._judge(array, codes if valid is None else codes[valid])
        if self._useless or self._rising:
            return np.zeros(len(array), np.uint8)
        found = self._range(array, codes, valid) if self._continuous else self._place(codes, valid)
        if valid is not None:
            found[~valid] = self._buckets
        return found

    def snapshot(self) -> dict[str, Any]:
        """What has been learned of the values."""
        return {
            "known": self._known,
            "range": [self._low, self._high],
            "last": self._last,
            "seen": self._seen,
            "flags": [self._continuous, self._rising, self._useless],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._known = list(state["known"])
        self._low, self._high = state["range"]
        self._last, self._seen = state["last"], state["seen"]
        self._continuous, self._rising, self._useless = state["flags"]

    def _judge(self, array: pa.Array, codes: Integers) -> None:
        """Learn what kind of attribute it is: from its first rows, and, while it only rises, from all."""
        if self._rising and len(codes):
            known = codes if self._last is None else np.append(self._last, codes)
            self._rising = len(codes) == len(array) and bool((known[1:] >= known[:-1]).all())
            self._last = int(codes[-1])
        if self._seen >= ENOUGH or not len(codes):
            return
        distinct = len(np.unique(codes))
        if not self._continuous and pa.types.is_integer(array.type):
            self._continuous = distinct > self._buckets
        elif not self._continuous and len(codes) >= ENOUGH:
            text = pa.types.is_string(array.type) or pa.types.is_binary(array.type)
            self._useless = distinct > UNIQUE * len(codes) or bool(text and array.nbytes > LONG * len(array))
        self._seen += len(codes)

    def _range(self, array: pa.Array, codes: Integers, valid: Valid) -> Buckets:
        """The place between the least and the largest number so far; NaN is beyond all."""
        numbers = _numbers(array) if _is_fractional(array.type) else codes.astype(np.float64)
        present = numbers if valid is None else numbers[valid]
        finite = present[np.isfinite(present)]
        low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        self._low, self._high = min(self._low, float(low)), max(self._high, float(high))
        width = self._high - self._low
        if not 0 < width < np.inf:
            return np.zeros(len(array), np.uint8)
        place = (numbers - self._low) * (self._buckets / width)
        place[np.isnan(place)] = self._buckets
        return np.clip(place, 0, self._buckets - 1).astype(np.uint8)

    def _place(self, codes: Integers, valid: Valid) -> Buckets:
        """A bucket of its own for each of the first values; the others share by their hash."""
        if not self._fixed and len(self._known) < self._buckets:
            fresh = np.setdiff1d(codes if valid is None else codes[valid], self._known)
            self._known += fresh[: self._buckets - len(self._known)].tolist()
        if not self._known:
            return np.zeros(len(codes), np.uint8)
        known = np.array(self._known, np.int64)
        order = np.argsort(known)
        at = np.minimum(np.searchsorted(known, codes, sorter=order), len(known) - 1)
        bucket = order.take(at)
        other = np.flatnonzero(known.take(bucket) != codes)
        if self._fixed:
            bucket[other] = self._buckets
        elif len(other):
            hashed = (codes[other].view(np.uint64) * GOLDEN) >> np.uint64(32)
            bucket[other] = (hashed % np.uint64(self._buckets)).astype(np.int64)
        return bucket.astype(np.uint8)


def _codes(attribute: Attribute, data_type: pa.DataType) -> list[int]:
    try:
        codes: list[int] = encode(pa.array(list(attribute.values)).cast(data_type))[0].tolist()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise QueryError(
            f'policy: values of "{attribute.column}": expected {data_type}, got {attribute.values!r}: {error}'
        ) from error
    return codes


def _is_fractional(data_type: pa.DataType) -> bool:
    return pa.types.is_floating(data_type) or pa.types.is_decimal(data_type)


def is_time(data_type: pa.DataType) -> bool:
    """Is it a moment, a day or a length of time."""
    return pa.types.is_timestamp(data_type) or pa.types.is_date32(data_type) or pa.types.is_duration(data_type)


def _numbers(array: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values as floats; a null is some number."""
    floats = array if pa.types.is_float64(array.type) else array.cast(pa.float64(), safe=False)
    return (pc.fill_null(floats, 0.0) if floats.null_count else floats).to_numpy(zero_copy_only=False)
