"""The values of one classifier attribute, divided into buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.codes import encode
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
        self._continuous = pa.types.is_floating(data_type) or pa.types.is_decimal(data_type) or is_time(data_type)
        self._known: list[int] = []
        self._fixed = bool(attribute.values)
        if attribute.values:
            self._known = encode(pa.array(list(attribute.values)).cast(data_type))[0].tolist()
        self._low, self._high = np.inf, -np.inf
        self._last: int | None = None
        self._seen = 0
        self._rising = not self._fixed
        self._useless = False

    def divide(self, array: pa.Array) -> Buckets:
        """The bucket of each value."""
        codes, valid = encode(array)
        if not self._fixed:
            self._judge(array, codes if valid is None else codes[valid])
        if self._useless or self._rising:
            return np.zeros(len(array), np.uint8)
        found = self._range(array) if self._continuous else self._place(codes, valid)
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
            steps = np.diff(codes)
            self._rising = bool((steps >= 0).all()) and (self._last is None or int(codes[0]) >= self._last)
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
        if distinct == 1:
            self._rising = self._rising and self._seen < ENOUGH

    def _range(self, array: pa.Array) -> Buckets:
        numbers = _numbers(array)
        finite = numbers[np.isfinite(numbers)]
        if len(finite):
            self._low, self._high = min(self._low, float(finite.min())), max(self._high, float(finite.max()))
        width = self._high - self._low
        if not 0 < width < np.inf:
            return np.zeros(len(array), np.uint8)
        share = np.clip(np.nan_to_num((numbers - self._low) / width, nan=1.0), 0.0, 1.0)
        return np.minimum(share * self._buckets, self._buckets - 1).astype(np.uint8)

    def _place(self, codes: Integers, valid: np.ndarray[Any, np.dtype[np.bool_]] | None) -> Buckets:
        if not self._fixed and len(self._known) < self._buckets:
            fresh = np.setdiff1d(codes if valid is None else codes[valid], self._known)
            self._known += fresh[: self._buckets - len(self._known)].tolist()
        known = np.array(self._known, np.int64)
        order = np.argsort(known)
        ordered = known[order]
        at = np.minimum(np.searchsorted(ordered, codes), max(len(known) - 1, 0))
        hashed = (codes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        placed = (hashed % np.uint64(self._buckets)).astype(np.uint8)
        if len(known):
            hit = ordered[at] == codes
            placed[hit] = (order[at[hit]] % self._buckets).astype(np.uint8)
        return placed


def is_time(data_type: pa.DataType) -> bool:
    """Is it a moment, a day or a length of time."""
    return pa.types.is_timestamp(data_type) or pa.types.is_date32(data_type) or pa.types.is_duration(data_type)


def _numbers(array: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values as floats, in their order; a null is some number."""
    if is_time(array.type):
        array = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array.cast(pa.int64())
    return pc.fill_null(array.cast(pa.float64(), safe=False), 0.0).to_numpy(zero_copy_only=False)
