"""An attribute's nature: discrete, continuous, or useless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.tuples.arrays import Integers
from eddy.tuples.codes import encode, is_exact

LONG_TEXT_BYTES = 64
"""Bytes of an average text above which looking at texts costs more than it can save."""

UNIQUE_SHARE = 0.9
"""Distinct values per row above which a discrete attribute tells nothing about the next row."""

ROWS_TO_JUDGE = 100
"""Rows that a judgement about an attribute needs."""

MONOTONE_MOVES = 10
"""Moves from one value to another, all up or all down, that make an attribute monotone: numbers in any order do that
once in twenty million times."""


class Nature:
    """Learns the nature of an attribute from its first rows.

    An attribute is judged once, from its first `ROWS_TO_JUDGE` rows, however many looks they take. Rows that come
    before its second value say nothing and do not count. It may prove monotone as long as it has moved one way only:
    one that stands still is not, and one that turns back never is again. Nulls take no part.
    """

    def __init__(self, data_type: pa.DataType, buckets: int) -> None:
        self._buckets = buckets
        self._is_text = pa.types.is_string(data_type) or pa.types.is_binary(data_type)
        self._is_integer = pa.types.is_integer(data_type)
        self.is_continuous = pa.types.is_floating(data_type) or pa.types.is_decimal(data_type) or is_time(data_type)
        self._is_judged = False
        self._is_useless = False
        self._distinct: list[int] = []
        self._seen = 0
        self._nbytes = 0.0
        self._last: int | None = None
        # The code of a text is a hash, which has no order.
        self._moves = [0, 0] if is_exact(data_type) else [1, 1]

    @property
    def tells(self) -> bool:
        """Its values can tell rows apart, as far as is known."""
        monotone = min(self._moves) == 0 and max(self._moves) >= MONOTONE_MOVES
        return self._is_judged and not self._is_useless and not monotone

    @property
    def is_settled(self) -> bool:
        """More rows would change nothing."""
        return self._is_judged and (self._is_useless or min(self._moves) > 0)

    def look(self, array: pa.Array) -> None:
        """Learn from some rows, in the order in which they came."""
        codes, valid = encode(array)
        present = codes if valid is None else codes[valid]
        if not len(present):
            return
        self._follow(present)
        if not self._is_judged:
            self._collect(present, array.nbytes / len(array))

    def snapshot(self) -> dict[str, Any]:
        """Plain values; no more codes than a judgement needs."""
        return {
            "flags": [self.is_continuous, self._is_judged, self._is_useless],
            "distinct": self._distinct,
            "seen": [self._seen, self._nbytes],
            "last": self._last,
            "moves": self._moves,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.is_continuous, self._is_judged, self._is_useless = state["flags"]
        self._distinct, self._last, self._moves = list(state["distinct"]), state["last"], list(state["moves"])
        self._seen, self._nbytes = state["seen"]

    def _follow(self, codes: Integers) -> None:
        """Count moves up and moves down, up to as many as decide."""
        # It has moved both ways, so it is not monotone, and never will be.
        if min(self._moves):
            return
        known = codes if self._last is None else np.append(self._last, codes)
        self._last = int(codes[-1])
        ups, downs = (known[1:] > known[:-1]).sum(), (known[1:] < known[:-1]).sum()
        self._moves = [
            min(before + int(more), MONOTONE_MOVES) for before, more in zip(self._moves, (ups, downs), strict=True)
        ]

    def _collect(self, codes: Integers, nbytes: float) -> None:
        """Gather rows until there are enough."""
        if len(self._distinct) < 2:
            self._distinct = self._distinct or codes[:1].tolist()
            # Rows before the second value are no evidence: a stream may begin with many of one default.
            others = np.flatnonzero(codes != self._distinct[0])
            codes = codes[others[0] :] if len(others) else codes[:0]
        self._distinct = np.union1d(self._distinct, codes).astype(np.int64).tolist()
        self._seen += len(codes)
        self._nbytes += nbytes * len(codes)
        if self._seen >= ROWS_TO_JUDGE:
            self._judge(len(self._distinct))

    def _judge(self, distinct: int) -> None:
        if self._is_integer:
            self.is_continuous = distinct > self._buckets
        elif not self.is_continuous:
            is_long = self._is_text and self._nbytes > LONG_TEXT_BYTES * self._seen
            self._is_useless = is_long or distinct > UNIQUE_SHARE * self._seen
        self._is_judged = True
        self._distinct = []


def is_time(data_type: pa.DataType) -> bool:
    """Tell whether a type is a moment, a day or a length of time."""
    return pa.types.is_timestamp(data_type) or pa.types.is_date32(data_type) or pa.types.is_duration(data_type)
