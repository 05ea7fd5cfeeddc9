"""Cuts: how the values of an attribute are shared out among buckets.

Values are 64-bit codes, which sort as numbers and times do (`tuples.codes`). A cut stands until the attribute is cut
anew; then its buckets mean something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.tuples.arrays import Integers, Numbers
from eddy.tuples.codes import encode
from eddy.tuples.splitmix import GOLDEN

NAN = 0x7FF8 << 48
"""The code of what is no number: it is the largest of floats."""

FEWEST_WITH_NAN = 8
"""Buckets from which on one of them is for NaN; of fewer, none can be spared."""

HEAVY_SHARE, HEAVY_ROWS = 0.01, 5
"""The share of a sample, and the rows in it, that make a number heavy: it has a bucket of its own. A quarter of a usual
range is so much, and what is near such a number need not be like it: a default of 0, or what stands for "unknown"."""

MOST_HEAVY = 4
"""Heavy numbers may take no more than this part of the buckets: each takes its own, and cuts a range in two."""

MOST_COMPARED, FEWEST_COMPARED, ROWS_AT_A_TIME = 32, 4_096, 16_384
"""Edges up to which, and rows from which on, it is quicker to compare all rows with each edge than to search for each
row (10 nanoseconds a row and not 30, for 24 edges); and the rows that stay in the nearest cache meanwhile."""

MOST_MET, MOST_MET_BYTES = 1_024, 1 << 16
"""Texts whose buckets are held ready: to make a code of a text costs ten times as much as to find it among these."""

LONGEST_TABLE = 1 << 12
"""Codes between the least and the greatest for which a table of all of them is kept: it fits into the nearest cache."""


def read_numbers(array: pa.Array) -> Numbers:
    """Read values that have an order, as numbers that have it too; a null is some number.

    They are floats where there are fractions, and codes elsewhere.
    """
    if not has_fractions(array.type):
        return encode(array)[0]
    floats = array if pa.types.is_float64(array.type) else array.cast(pa.float64(), safe=False)
    return (pc.fill_null(floats, 0.0) if floats.null_count else floats).to_numpy(zero_copy_only=False)


def encode_values(array: pa.Array) -> Integers:
    """Give the codes of values.

    Codes have the order of the values where these have one. Decimals go by their float.
    """
    return encode(array.cast(pa.float64(), safe=False) if pa.types.is_decimal(array.type) else array)[0]


def has_fractions(data_type: pa.DataType) -> bool:
    """Tell whether a type's numbers are divided as floats."""
    return pa.types.is_floating(data_type) or pa.types.is_decimal(data_type)


def decode_floats(codes: Integers) -> Numbers:
    """Give the floats that have some codes."""
    return np.where(codes < 0, codes ^ np.int64(2**63 - 1), codes).view(np.float64)


@dataclass(frozen=True)
class Ranges:
    """Numbers or times between edges.

    A value belongs to the bucket of the last edge that it is not below.

    A heavy value is a range of its own: it is an edge, and so is the code that follows.
    """

    codes: Integers
    fractions: bool

    @staticmethod
    def cut(sample: Integers, ranges: int, buckets: int, *, fractions: bool) -> Ranges:
        """Cut at quantiles of a sample's codes."""
        present = np.sort(sample[sample != NAN] if fractions else sample)
        beyond = [NAN] if fractions and buckets >= FEWEST_WITH_NAN else []
        values, counts = np.unique(present, return_counts=True)
        order = np.argsort(-counts, kind="stable")[: buckets // MOST_HEAVY]
        heavy = values[order[counts[order] >= max(HEAVY_SHARE * len(sample), HEAVY_ROWS)]]
        # A heavy value is cut off from what is below it, and from what is above.
        own = np.concatenate([heavy[heavy > present[:1]], heavy[heavy < present[-1:]] + 1])
        rest = present[~np.isin(present, heavy)]
        parts = min(ranges, buckets - len(np.unique(own)) - len(beyond))
        # The first row of each part but the first is an edge:
        #
        #     rest   1 2 2 | 3 5 8 | 9 9 40        parts 3  ->  edges 3 9
        quantiles = rest[np.arange(1, parts) * len(rest) // max(parts, 1)] if len(rest) else rest
        return Ranges(np.unique(np.concatenate([quantiles, own, np.array(beyond, np.int64)])), fractions)

    @cached_property
    def _numbers(self) -> Numbers:
        return decode_floats(self.codes) if self.fractions else self.codes

    def divide(self, array: pa.Array) -> Numbers:
        """Give the bucket of each value."""
        numbers, edges = read_numbers(array), self._numbers
        if len(edges) > MOST_COMPARED or len(numbers) < FEWEST_COMPARED:
            return np.searchsorted(edges, numbers, side="right").astype(np.uint8)
        has_nan = bool(self.codes[-1:] == NAN) and self.fractions
        ends = edges[: len(edges) - has_nan].tolist()
        found = np.full(len(numbers), len(ends), np.uint8)
        is_below = np.empty(min(len(numbers), ROWS_AT_A_TIME), np.bool_)
        for begun in range(0, len(numbers), ROWS_AT_A_TIME):
            some, buckets = numbers[begun : begun + ROWS_AT_A_TIME], found[begun : begun + ROWS_AT_A_TIME]
            below = is_below[: len(some)]
            # NaN is below no edge, so it is in the bucket beyond all but its own.
            for end in ends:
                np.less(some, end, out=below)
                np.subtract(buckets, below.view(np.uint8), out=buckets)
            if has_nan:
                np.add(buckets, np.isnan(some, out=below).view(np.uint8), out=buckets)
        return found

    def count_largest(self, sample: Integers) -> int:
        """Count a sample's rows in the largest bucket.

        A bucket that one value has to itself does not count: it cannot be cut.
        """
        ordered = np.sort(sample)
        firsts = np.searchsorted(ordered, self.codes)
        ends = np.append(firsts, len(ordered))
        firsts = np.append(0, firsts)
        some = np.flatnonzero(ends > firsts)
        shared = ordered[firsts[some]] != ordered[ends[some] - 1]
        return int((ends - firsts)[some][shared].max(initial=0))


class Values:
    """Values with a bucket each, in the order of `codes`.

    The others are hashed into the buckets from `first` up to `end`.
    """

    room: ClassVar = MOST_MET
    room_bytes: ClassVar = MOST_MET_BYTES
    kind: ClassVar[type[np.unsignedinteger]] = np.uint8

    def __init__(self, codes: Integers, first: int, end: int) -> None:
        self.codes = codes
        self.first, self._end = first, end
        # Values are looked up in order; `_bucket` is the bucket of each.
        self._bucket = np.argsort(codes, kind="stable")
        self._sorted = codes[self._bucket]
        self._table = _tabulate(self._sorted, self._bucket)
        # Texts that have been met since, and the bucket of each; the last is that of none.
        self._met: pa.Array | None = None
        self._met_buckets = np.zeros(1, self.kind)

    def find(self, codes: Integers) -> Numbers:
        """Find the buckets of values; that of a value without one of its own is -1."""
        if not len(self._sorted):
            return np.full(len(codes), -1)
        if self._table is not None:
            # What is beyond an end of the table is at that end; so is a difference that is too large for an integer.
            found: Numbers = self._table.take(codes - (self._sorted[0] - 1), mode="clip")
            return found
        at = np.minimum(np.searchsorted(self._sorted, codes), len(self._sorted) - 1)
        return np.where(self._sorted.take(at) == codes, self._bucket.take(at), -1)

    def place(self, codes: Integers) -> Numbers:
        """Give the bucket of each value."""
        found = self.find(codes)
        if len(found) and found.min() < 0:
            strange = np.flatnonzero(found < 0)
            hashed = (codes[strange].view(np.uint64) * GOLDEN) >> np.uint64(32)
            found[strange] = self.first + (hashed % np.uint64(self._end - self.first)).astype(np.int64)
        return found.astype(np.uint8)

    def divide(self, array: pa.Array) -> Numbers:
        """Give the bucket of each value."""
        if not (pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
            codes = encode_values(array)
            if len(codes) <= ROWS_AT_A_TIME:
                return self.place(codes)
            parts = range(0, len(codes), ROWS_AT_A_TIME)
            return np.concatenate([self.place(codes[begun : begun + ROWS_AT_A_TIME]) for begun in parts])
        met = array.slice(0, 0) if self._met is None else self._met
        at = pc.index_in(array, value_set=met)
        places = (at.fill_null(len(met)) if at.null_count else at).to_numpy(zero_copy_only=False)
        found = self._met_buckets.take(places)
        if at.null_count > array.null_count:
            strange = np.flatnonzero(pc.and_(at.is_null(), array.is_valid()).to_numpy(zero_copy_only=False))
            told = array.take(pa.array(strange)).dictionary_encode()
            buckets = self.place(encode_values(told.dictionary))
            found[strange] = buckets.take(told.indices.to_numpy(zero_copy_only=False))
            self._meet(met, told.dictionary, buckets)
        return found

    def _meet(self, met: pa.Array, texts: pa.Array, buckets: Numbers) -> None:
        """Hold the buckets of more texts ready, as long as there is room for them."""
        fresh = texts.slice(0, max(self.room - len(met), 0))
        if len(fresh) and met.nbytes + fresh.nbytes <= self.room_bytes:
            self._met = pa.concat_arrays([met, fresh])
            held = np.concatenate([self._met_buckets[:-1], buckets[: len(fresh)], [0]])
            self._met_buckets = held.astype(self.kind)


def _tabulate(values: Integers, buckets: Integers) -> Numbers | None:
    """List the buckets of all codes, if they are few.

    They are the codes from the least to the greatest, with one more at either end.
    """
    span = int(values[-1]) - int(values[0]) if len(values) else LONGEST_TABLE
    if span >= LONGEST_TABLE or values[0] == np.iinfo(np.int64).min:
        return None
    table = np.full(span + 3, -1, np.int16)
    table[values - values[0] + 1] = buckets
    return table
