"""Searches by equality among the sorted hashes of keys.

Each segment has its own, and a table of where to look among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.contracts import Keys
from eddy.operators.index.sorted_runs import SortedRun, SortedRuns
from eddy.tuples.arrays import Integers, KeyCodes
from eddy.tuples.runs import Ranges, Reach, Segment, find_probes
from eddy.tuples.splitmix import GOLDEN

ShortHashes = np.ndarray[Any, np.dtype[np.uint16]]

HASH_BITS = 16
"""Bits of a hash. Sixteen bits sort ten times as fast as 32 (radix), and among the few thousand rows of a segment
they bring together less than one row in ten that does not match; the probe compares the keys themselves anyway."""


class SortedIndex:
    """Finds the rows whose keys all equal those of a probe."""

    def __init__(self) -> None:
        self._parts = SortedRuns(mix)
        self._tables: dict[int, np.ndarray[Any, Any]] = {}

    @property
    def nbytes(self) -> int:
        """The bytes that are kept between micro-batches."""
        return self._parts.nbytes + sum(table.nbytes for table in self._tables.values())

    def refresh(self, segments: Sequence[Segment], keys: Keys) -> None:
        """Follow the segments."""
        before = {id(part) for part in self._parts}
        self._parts.refresh(segments, keys)
        self._tables = {
            part.serial: self._tables[part.serial] if id(part) in before else _table(part) for part in self._parts
        }

    def rest(self) -> None:
        """Forget everything that the next refresh makes anyway."""
        self._parts.rest()

    def search(self, bounds: Sequence[tuple[str, KeyCodes]], reach: Reach | None = None) -> Ranges:
        """Find the rows with each probe's keys; `op` is = throughout."""
        wanted = mix([codes for _, codes in bounds])
        starts = np.zeros((len(self._parts) if reach is None else reach.width, len(wanted)), np.int64)
        counts = np.zeros_like(starts)
        offset = 0
        for number, part in enumerate(self._parts):
            if len(part.keys):
                slot, probes = find_probes(reach, number)
                place, found = _look_up(part.keys, self._tables[part.serial], wanted[probes])
                begins = part.begins.take(place).astype(np.int64)
                starts[slot, probes] = begins + offset
                counts[slot, probes] = (part.begins.take(place + 1) - begins) * found
            offset += len(part.order)
        return Ranges(starts.T, counts.T, self._parts.rows)


def mix(codes: Sequence[KeyCodes]) -> ShortHashes:
    """One hash for the codes of several keys."""
    mixed = np.zeros(len(codes[0]), np.uint64)
    for code in codes:
        # Only the top bits are kept in the end, so every bit of a code has to reach them.
        mixed ^= code.view(np.uint64)
        mixed *= GOLDEN
        mixed ^= mixed >> np.uint64(32)
    mixed *= GOLDEN
    return (mixed >> np.uint64(64 - HASH_BITS)).astype(np.uint16)


def _table(part: SortedRun) -> np.ndarray[Any, Any]:
    """Note where the keys with each leading bits begin.

    There are one or two entries for each key: with more, the index of a table would not fit beside its rows, and would
    be built anew for every micro-batch.
    """
    bits = min(max(len(part.keys) - 1, 1).bit_length(), HASH_BITS)
    leading = part.keys >> np.uint16(HASH_BITS - bits)
    counts = np.bincount(leading, minlength=1 << bits)
    return np.concatenate(([0], np.cumsum(counts))).astype(np.min_scalar_type(len(part.keys)))


def _look_up(
    keys: ShortHashes, table: np.ndarray[Any, Any], wanted: ShortHashes
) -> tuple[Integers, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Find the place of each wanted key, and whether it is there."""
    bits = len(table).bit_length() - 1
    leading = wanted >> np.uint16(HASH_BITS - bits)
    # The table leads to the first key with the same leading bits; from there it is a walk of a step or two:
    #
    #     keys    0001 0011 0110 1100      table by two bits  [0 2 3 3 4]
    #     wanted  0011 -> bits 00 -> place 0 -> next: 0011 found
    place = table.take(leading).astype(np.int64)
    np.minimum(place, len(keys) - 1, out=place)
    found = keys.take(place) == wanted
    # All probes take their next step together; those that found their key, or left their bits, stop.
    last = table.take(leading.astype(np.int64) + 1)
    left = np.flatnonzero(~found & (place + 1 < last))
    while len(left):
        place[left] += 1
        hit = keys.take(place[left]) == wanted[left]
        found[left[hit]] = True
        left = left[~hit]
        left = left[place[left] + 1 < last[left]]
    return place, found
