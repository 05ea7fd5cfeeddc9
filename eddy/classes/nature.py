"""An attribute's nature: discrete, continuous, or of no use.

It is judged from a sample of its rows, and again with every lesson: a judgement may be revised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.tuples.arrays import Integers
from eddy.tuples.codes import is_exact

LONG_TEXT_BYTES = 64
"""Bytes of an average text above which looking at texts costs more than it can save."""

UNIQUE_SHARE = 0.9
"""The share of rows whose value came once, from which on a text tells nothing about the next row: about so large is the
share of the rows to come that have a value never seen (I. J. Good's estimate)."""

ROWS_TO_JUDGE = 100
"""Rows that a judgement about an attribute needs."""

SAMPLE_ROWS = 512
"""Rows of a sample: a usual range has twenty of them."""

ROWS_PER_RANGE = 8
"""Rows of a sample for each range, where somebody wants many."""

NEW_SHARE = 0.25
"""The share of a full sample that a lesson replaces: half of the sample is from the last three lessons, and a twentieth
from before the last ten, so that what comes back after a day is known again."""

MOST_CODES = 100
"""Different integers in a sample above which they are quantities, and no codes."""

PASSING_SHARE = 0.5
"""The share of the rows with values beyond all that came before, above which an attribute passes by: an id, or a time.
Its next values will be others again, and whatever is learned of them comes too late."""

PASSING_VALUES = 10
"""Different values beyond those that came before, at least: numbers in no order do not come like that, and one step up
is no rise."""

BEYOND = 0.02
"""The share of the earlier values at either end that does not count: one outlier hides no rise."""

GOLDEN_MEAN = 0.6180339887498949
"""Steps of this share of a whole, taken around it, lie nearly evenly and never fall in with a period of the rows."""


class Nature:
    """Learns the nature of an attribute, lesson by lesson.

    A lesson is codes of some rows in the order in which they came; nulls take no part. An attribute passes by while
    each lesson lies beyond the earlier ones. Order within a lesson does not matter, so that rows may come some places
    late, and a temperature that rose all morning counts again when it falls.
    """

    def __init__(self, data_type: pa.DataType, ranges: int, buckets: int) -> None:
        self._is_text = pa.types.is_string(data_type) or pa.types.is_binary(data_type)
        self._is_integer = pa.types.is_integer(data_type)
        # The code of a text is a hash, which has no order.
        self._has_order = is_exact(data_type) or pa.types.is_decimal(data_type)
        self._most_codes = min(MOST_CODES, buckets)
        self._room = max(SAMPLE_ROWS, ROWS_PER_RANGE * ranges)
        self.is_continuous = pa.types.is_floating(data_type) or pa.types.is_decimal(data_type) or is_time(data_type)
        self.sample: Integers = np.empty(0, np.int64)
        self._lessons = 0
        self._nbytes = 0.0
        # Lessons in a row that lay beyond what came before; and whether the attribute has ever been of use.
        self._passes = 0
        self.tells = self.is_useless = False

    @property
    def is_full(self) -> bool:
        """The sample has as many rows as it may have."""
        return len(self.sample) >= self._room

    def learn(self, codes: Integers, nbytes: float) -> None:
        """Learn from a lesson; `nbytes` is the size of its average value."""
        if not len(codes):
            return
        self._nbytes += (nbytes - self._nbytes) / min(self._lessons + 1, 4)
        # A lesson of few values, as where most are null, says nothing about a rise.
        if self._has_order and len(codes) >= 2 * PASSING_VALUES:
            self._passes = self._passes + 1 if _lies_beyond(self.sample, codes) else 0
        self._keep(codes)
        self._lessons += 1
        self._judge()

    def snapshot(self) -> dict[str, Any]:
        """Plain values; no more codes than a sample has."""
        return {
            "flags": [self.is_continuous, self.tells, self.is_useless],
            "numbers": [self._lessons, self._nbytes, self._passes],
            "sample": self.sample.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.is_continuous, self.tells, self.is_useless = state["flags"]
        self._lessons, self._nbytes, self._passes = state["numbers"]
        self.sample = np.array(state["sample"], np.int64)

    def _keep(self, codes: Integers) -> None:
        """Put a part of the lesson in the place of older rows.

        All of it is kept as long as there is room.
        """
        fresh = max(int(NEW_SHARE * self._room), self._room - len(self.sample))
        phase = self._lessons * GOLDEN_MEAN % 1
        fresh_codes = _thin(codes, fresh, phase)
        self.sample = np.concatenate([_thin(self.sample, self._room - len(fresh_codes), phase), fresh_codes])

    def _judge(self) -> None:
        ordered = np.sort(self.sample)
        news = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        different = int(news.sum())
        if self._is_integer:
            # Where it goes up and down about the limit, it stays what it is.
            self.is_continuous = different > (self._most_codes // 2 if self.is_continuous else self._most_codes)
        is_long = self._is_text and self._nbytes > LONG_TEXT_BYTES
        # A value came once if it is news, and so is the next.
        once = int((news & np.append(news[1:], True)).sum())
        self.is_useless = is_long or (not self._has_order and once >= UNIQUE_SHARE * len(ordered))
        # What has told rows apart does not stop at the first rise.
        passes_by = self._passes > self.tells
        self.tells = len(ordered) >= ROWS_TO_JUDGE and different > 1 and not (self.is_useless or passes_by)


def _lies_beyond(older: Integers, lesson: Integers) -> bool:
    """Tell whether most of a lesson lies beyond what came before.

    Of the first lesson the last quarter is held against the first half.
    """
    early, late = older, lesson
    if len(older) < ROWS_TO_JUDGE:
        both = np.concatenate([older, lesson])
        early, late = both[: len(both) // 2], both[len(both) * 3 // 4 :]
    if len(early) < 2:
        return False
    order = np.sort(early)
    least = int(BEYOND * len(order))
    above, below = late > order[-1 - least], late < order[least]
    new = late[above] if above.sum() >= below.sum() else late[below]
    return len(new) > PASSING_SHARE * len(late) and len(np.unique(new)) >= PASSING_VALUES


def _thin(codes: Integers, rows: int, phase: float) -> Integers:
    """Take so many rows from all over, in their order.

    `phase`, from 0 to below 1, says which.
    """
    if len(codes) <= rows:
        return codes
    return codes.take(((np.arange(rows) + phase) * (len(codes) / rows)).astype(np.int64))


def spread_evenly(rows: int, wanted: int) -> Integers:
    """List places from all over some rows.

    There are as many as are wanted, or as there are rows. They fall in with no period of the rows.

    >>> spread_evenly(10, 3).tolist()
    [0, 2, 6]
    """
    if rows <= wanted:
        return np.arange(rows)
    return np.unique((np.arange(wanted) * GOLDEN_MEAN % 1 * rows).astype(np.int64))


def is_time(data_type: pa.DataType) -> bool:
    """Tell whether a type is a moment, a day or a length of time."""
    return pa.types.is_timestamp(data_type) or pa.types.is_date32(data_type) or pa.types.is_duration(data_type)
