"""The common part of all indexes: one sorted run per segment.

A run is kept as long as its segment does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.contracts import Keys
from eddy.tuples.arrays import KeyCodes, Valid
from eddy.tuples.runs import Segment

Combine = Callable[[Sequence[KeyCodes]], KeyCodes]
"""Makes one key of the codes of several."""


@dataclass(frozen=True, slots=True)
class SortedRun:
    """One segment's distinct keys in order, and its rows by key.

    `begins` says where the run of each key begins in `order`; it has one entry more than there are keys.
    """

    serial: int
    rows: int
    keys: KeyCodes
    begins: np.ndarray[Any, Any]
    order: np.ndarray[Any, Any]


class SortedRuns:
    """The sorted runs of all segments, built where one changes.

    Row numbers count from the segment's start, in as few bytes as they need, so that an index takes less than ten
    bytes a row and stays as it is when older segments go.
    """

    def __init__(self, combine: Combine) -> None:
        self._combine = combine
        self._parts: list[SortedRun] = []
        self.rows: np.ndarray[Any, Any] = np.empty(0, np.int64)

    def __iter__(self) -> Iterator[SortedRun]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def nbytes(self) -> int:
        """The bytes that are kept between micro-batches."""
        return self.rows.nbytes + sum(p.keys.nbytes + p.begins.nbytes + p.order.nbytes for p in self._parts)

    def refresh(self, segments: Sequence[Segment], keys: Keys) -> None:
        """Follow the segments: forget old runs, build new ones."""
        known = {(part.serial, part.rows): part for part in self._parts}
        self._parts = [known.get((s.serial, s.rows)) or self._build(s, *keys(s.start, s.stop)) for s in segments]
        if len(segments) == 1 and not segments[0].start:
            self.rows = self._parts[0].order
            return
        # Parts count rows from their segment's start. The sum is the only array that changes when old segments go.
        placed = [part.order + np.int64(s.start) for part, s in zip(self._parts, segments, strict=True)]
        self.rows = np.concatenate(placed) if placed else np.empty(0, np.int64)

    def rest(self) -> None:
        """Forget the rows of all parts in one; each part has its own."""
        self.rows = np.empty(0, np.int64)

    def _build(self, segment: Segment, codes: Sequence[KeyCodes], valid: Valid) -> SortedRun:
        keys = self._combine(codes)
        # codes [7 3 7 3]  ->  order [1 3 0 2]   keys [3 7]   begins [0 2 4]: the rows with 7 are order[2:4] = 0 and 2
        order = np.argsort(keys, kind="stable")
        if valid is not None:
            order = order[valid.take(order)]
        ordered = keys.take(order)
        first = np.flatnonzero(np.concatenate((np.ones(min(len(ordered), 1), np.bool_), ordered[1:] != ordered[:-1])))
        narrow = np.min_scalar_type(segment.rows)
        begins = np.append(first, len(ordered)).astype(narrow)
        return SortedRun(segment.serial, segment.rows, ordered.take(first), begins, order.astype(narrow))
