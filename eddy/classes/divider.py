"""Divides the values of one attribute into buckets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.classes.nature import Nature
from eddy.classes.value_names import ANY, NULL, OTHERS, range_text, value_text
from eddy.errors import QueryError
from eddy.sql import Column
from eddy.tuples.arrays import Integers, Valid
from eddy.tuples.codes import encode
from eddy.tuples.splitmix import GOLDEN

Buckets = np.ndarray[Any, np.dtype[np.uint8]]

Shared = np.ndarray[Any, np.dtype[np.bool_]]

BucketName = tuple[str, str]
"""A bucket's or a class's identity, the same in every micro-batch, and its text in this one."""

NameClasses = Callable[[str, Sequence[int], Sequence[Sequence[int]]], Sequence[BucketName]]
"""Names classes by their stream, its attributes, and the buckets of each class."""


@dataclass(frozen=True)
class Attribute:
    """A column by which rows are told apart.

    `values` are its values, if they are known beforehand.
    """

    column: Column
    values: tuple[Any, ...] = ()


class Divider:
    """Divides the values of one attribute, and names the buckets.

    As long as its values cannot tell rows apart, or too few have been seen to say so, all but the nulls share a bucket.
    When that changes, so does what is in that bucket; what a policy has learned of it fades like all it has learned.
    """

    def __init__(self, attribute: Attribute, data_type: pa.DataType, buckets: int) -> None:
        self._buckets = buckets
        self._type = data_type
        self._nature = Nature(data_type, buckets)
        self._fixed = bool(attribute.values)
        self._known = _codes(attribute, data_type) if self._fixed else []
        self._texts = [value_text(value) for value in attribute.values]
        self._shared: Shared = np.zeros(buckets, np.bool_)
        self._low, self._high = np.inf, -np.inf
        self._column = attribute.column.name
        self._names: dict[int, BucketName] = {}
        self.edition = 0

    @property
    def is_settled(self) -> bool:
        """No more rows need to be judged."""
        return self._fixed or self._nature.is_settled

    @property
    def is_blind(self) -> bool:
        """All values but the nulls share a bucket."""
        return not self._fixed and not self._nature.tells

    def judge(self, array: pa.Array) -> None:
        """Learn the attribute's nature from the first rows."""
        before = self._nature.tells, self._nature.is_continuous
        self._nature.look(array)
        self.edition += before != (self._nature.tells, self._nature.is_continuous)
        self._names.clear()

    def divide(self, array: pa.Array) -> Buckets:
        """Give the bucket of each value."""
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        if self.is_blind:
            found = np.zeros(len(array), np.uint8)
        else:
            found = self._range(array, valid) if self._is_continuous else self._place(array, valid)
        if valid is not None:
            found[~valid] = self._buckets
        return found

    def name(self, bucket: int) -> BucketName:
        """Name a bucket by its value, its range as it is now, or ANY.

        Buckets are named in every micro-batch, and rarely change: their names are kept until they do.
        """
        named = self._names.get(bucket)
        if named is None:
            text = self._text(bucket)
            part = text if text == ANY else bucket
            named = self._names[bucket] = (f"{self._column}#{part}", f"{self._column}={text}")
        return named

    def snapshot(self) -> dict[str, Any]:
        """Give what has been learned of the values."""
        return {
            "nature": self._nature.snapshot(),
            "known": self._known,
            "texts": self._texts,
            "shared": self._shared.tolist(),
            "range": [self._low, self._high],
            "edition": self.edition,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._nature.restore(state["nature"])
        self._known, self._texts = list(state["known"]), list(state["texts"])
        self._shared = np.array(state["shared"], np.bool_)
        self._low, self._high = state["range"]
        self.edition = state.get("edition", 0)
        self._names.clear()

    @property
    def _is_continuous(self) -> bool:
        return self._nature.is_continuous and not self._fixed

    def _text(self, bucket: int) -> str:
        if bucket == self._buckets:
            return OTHERS if self._fixed else NULL
        if self.is_blind:
            return ANY
        if self._is_continuous:
            return self._range_text(bucket)
        if bucket >= len(self._texts):
            return OTHERS
        return f"{self._texts[bucket]} & {OTHERS}" if self._shared[bucket] else self._texts[bucket]

    def _range_text(self, bucket: int) -> str:
        """The last range holds its end too."""
        width = self._high - self._low
        if not 0 <= width < np.inf:
            return ANY
        low, high = (self._low + width * (place / self._buckets) for place in (bucket, bucket + 1))
        return range_text(low, high if high < self._high else float(np.nextafter(self._high, np.inf)), self._type)

    def _range(self, array: pa.Array, valid: Valid) -> Buckets:
        """Place numbers between the least and the largest one so far.

        NaN is beyond all.
        """
        numbers = encode(array)[0].astype(np.float64) if _is_whole(array.type) else _numbers(array)
        present = numbers if valid is None else numbers[valid]
        # One infinite number would make all other ranges empty.
        finite = present[np.isfinite(present)]
        low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        if low < self._low or high > self._high:
            self._low, self._high = min(self._low, float(low)), max(self._high, float(high))
            self._names.clear()
        width = self._high - self._low
        if not 0 < width < np.inf:
            return np.zeros(len(array), np.uint8)
        # Equal ranges, and the largest number belongs to the last of them:
        #
        #     low 0, high 100, 4 buckets      0..25 -> 0    25..50 -> 1    50..75 -> 2    75..100 -> 3
        place = (numbers - self._low) * (self._buckets / width)
        place[np.isnan(place)] = self._buckets
        return np.clip(place, 0, self._buckets - 1).astype(np.uint8)

    def _place(self, array: pa.Array, valid: Valid) -> Buckets:
        """Give each of the first values a bucket; hash the others."""
        codes, _ = encode(array)
        bucket, strange = self._find(codes, valid)
        # New values get buckets as long as there are any; beyond that they share, and the shared buckets say so.
        if len(strange) and not self._fixed and len(self._known) < self._buckets:
            self._meet(array, codes, strange)
            bucket, strange = self._find(codes, valid)
        if self._fixed:
            bucket[strange] = self._buckets
        elif len(strange):
            hashed = (codes[strange].view(np.uint64) * GOLDEN) >> np.uint64(32)
            bucket[strange] = (hashed % np.uint64(self._buckets)).astype(np.int64)
            self._share(bucket[strange])
        return bucket.astype(np.uint8)

    def _share(self, buckets: Integers) -> None:
        if not self._shared[buckets].all():
            self._shared[buckets] = True
            self._names.clear()

    def _find(self, codes: Integers, valid: Valid) -> tuple[Integers, Integers]:
        """Find the buckets of values, and the rows with unknown ones."""
        known = np.array(self._known, np.int64)
        if not len(known):
            return np.zeros(len(codes), np.int64), np.flatnonzero(np.ones(len(codes)) if valid is None else valid)
        order = np.argsort(known)
        # A value's bucket is its place among the known ones, in the order in which they were met:
        #
        #     known   [70 10 40]   order [1 2 0]   codes [40 70 99] -> at [1 2 2] -> bucket [2 0 0], 99 is strange
        at = np.minimum(np.searchsorted(known, codes, sorter=order), len(known) - 1)
        bucket = order.take(at)
        strange = known.take(bucket) != codes
        return bucket, np.flatnonzero(strange if valid is None else strange & valid)

    def _meet(self, array: pa.Array, codes: Integers, strange: Integers) -> None:
        """Give new values a bucket each, as long as there are any."""
        fresh, first = np.unique(codes[strange], return_index=True)
        free = self._buckets - len(self._known)
        self._names.clear()
        self._known += fresh[:free].tolist()
        self._texts += map(value_text, array.take(pa.array(strange[first[:free]])).to_pylist())


def _codes(attribute: Attribute, data_type: pa.DataType) -> list[int]:
    try:
        # Numbers of 64 bits without a sign are the one type that Arrow does not find by itself.
        values = pa.array(attribute.values, data_type if pa.types.is_uint64(data_type) else None)
        codes: list[int] = encode(values.cast(data_type))[0].tolist()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise QueryError(
            f'policy: values of "{attribute.column}": expected {data_type}, got {attribute.values!r}: {error}'
        ) from error
    return codes


def _is_whole(data_type: pa.DataType) -> bool:
    """Tell whether a type's codes are its numbers.

    They are for integers and times, except for 64 bits without a sign.
    """
    fractional = pa.types.is_floating(data_type) or pa.types.is_decimal(data_type)
    return not fractional and not pa.types.is_uint64(data_type)


def _numbers(array: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values as floats; a null is some number."""
    floats = array if pa.types.is_float64(array.type) else array.cast(pa.float64(), safe=False)
    return (pc.fill_null(floats, 0.0) if floats.null_count else floats).to_numpy(zero_copy_only=False)
