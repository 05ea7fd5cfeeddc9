"""Comparisons, by binary search among the sorted keys of each segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from eddy.contracts import Codes, Keys
from eddy.ranges import Integers, Ranges, Segment
from operators.index.parts import Part, Parts

SIDES: dict[str, Literal["left", "right"]] = {"<": "left", "<=": "right", ">": "right", ">=": "left"}
"""On which side of equal keys a bound falls."""


class OrderedIndex:
    """Finds the rows whose one key is below, above or between bounds."""

    def __init__(self) -> None:
        self._parts = Parts(lambda codes: codes[0])

    @property
    def nbytes(self) -> int:
        """What is kept between micro-batches."""
        return self._parts.nbytes

    def refresh(self, segments: Sequence[Segment], keys: Keys) -> None:
        """Follow the segments."""
        self._parts.refresh(segments, keys)

    def rest(self) -> None:
        """Let go of what the next refresh makes anyway."""
        self._parts.rest()

    def search(self, bounds: Sequence[tuple[str, Codes]]) -> Ranges:
        """Where the rows are whose key compares with each probe's bounds as it should."""
        probes = len(bounds[0][1])
        starts = np.zeros((probes, len(self._parts)), np.int64)
        counts = np.zeros_like(starts)
        offset = 0
        for number, part in enumerate(self._parts):
            first, last = np.zeros(probes, np.int64), np.full(probes, len(part.order))
            for op, codes in bounds:
                edge = _edge(part, codes, op)
                first, last = (np.maximum(first, edge), last) if op in (">", ">=") else (first, np.minimum(last, edge))
            starts[:, number] = first + offset
            counts[:, number] = np.maximum(last - first, 0)
            offset += len(part.order)
        return Ranges(starts, counts, self._parts.rows)


def _edge(part: Part, codes: Codes, op: str) -> Integers:
    """How many rows lie before each bound."""
    return part.begins.take(np.searchsorted(part.keys, codes, side=SIDES[op])).astype(np.int64)
