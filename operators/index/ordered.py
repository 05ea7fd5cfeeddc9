"""Searches by comparisons among sorted keys.

Each segment has its own keys, and is searched by halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from eddy.contracts import Keys
from eddy.operators.index.sorted_runs import SortedRun, SortedRuns
from eddy.tuples.arrays import Integers, KeyCodes
from eddy.tuples.runs import Ranges, Reach, Segment, find_probes

SIDES: dict[str, Literal["left", "right"]] = {"<": "left", "<=": "right", ">": "right", ">=": "left"}
"""On which side of equal keys a bound falls."""


class OrderedIndex:
    """Finds rows whose key is below, above or between bounds."""

    def __init__(self) -> None:
        self._parts = SortedRuns(lambda codes: codes[0])

    @property
    def nbytes(self) -> int:
        """The bytes that are kept between micro-batches."""
        return self._parts.nbytes

    def refresh(self, segments: Sequence[Segment], keys: Keys) -> None:
        """Follow the segments."""
        self._parts.refresh(segments, keys)

    def rest(self) -> None:
        """Forget everything that the next refresh makes anyway."""
        self._parts.rest()

    def search(self, bounds: Sequence[tuple[str, KeyCodes]], reach: Reach | None = None) -> Ranges:
        """Find the rows whose key is within each probe's bounds."""
        width = len(self._parts) if reach is None else reach.width
        starts = np.zeros((width, len(bounds[0][1])), np.int64)
        counts = np.zeros_like(starts)
        offset = 0
        for number, part in enumerate(self._parts):
            slot, probes = find_probes(reach, number)
            first, last = _run(part, [(op, codes[probes]) for op, codes in bounds])
            starts[slot, probes] = first + offset
            counts[slot, probes] = np.maximum(last - first, 0)
            offset += len(part.order)
        return Ranges(starts.T, counts.T, self._parts.rows)


def _run(part: SortedRun, bounds: Sequence[tuple[str, KeyCodes]]) -> tuple[Integers, Integers]:
    """Find where each probe's run begins and ends in a segment."""
    probes = len(bounds[0][1])
    first, last = np.zeros(probes, np.int64), np.full(probes, len(part.order))
    for op, codes in bounds:
        edge = _edge(part, codes, op)
        # Several bounds on one key are one run:   keys [1 3 5 7], `> 1` and `<= 5`  ->  [1, 3)
        first, last = (np.maximum(first, edge), last) if op in (">", ">=") else (first, np.minimum(last, edge))
    return first, last


def _edge(part: SortedRun, codes: KeyCodes, op: str) -> Integers:
    """Count the rows before each bound."""
    return part.begins.take(np.searchsorted(part.keys, codes, side=SIDES[op])).astype(np.int64)
