"""Lessons of an attribute: the rows that it learns from, and when the next ones are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.tuples.arrays import Integers

SHARE_AFTER_NEWS, MOST_AFTER_NEWS, SHARE_BETWEEN, MOST_BETWEEN = 0.125, 8_000, 0.5, 64_000
"""Rows from one lesson to the next: a share of those that have come, and so many at most, fewer while lessons are news:
one costs as much as dividing ten thousand rows."""


class Lesson:
    """Rows that are gathered until there are enough to learn from, and when to begin.

    `due` counts all rows of the stream, `first` those that had come when the attribute was first looked at. `between`
    is the number of rows since the lesson before.
    """

    def __init__(self, first: int | None = None, due: int = 0, between: int = 0) -> None:
        self.first, self.due, self.between = first, due, between
        self.codes: Integers = np.empty(0, np.int64)
        self.rows = 0
        self.nbytes = 0.0

    def add(self, codes: Integers, nbytes: float, rows: int, begun: int) -> None:
        """Gather the values of so many rows."""
        self.first = begun if self.first is None else self.first
        self.codes = np.concatenate([self.codes, codes])
        self.rows += rows
        self.nbytes += nbytes

    def plan_next(self, end: int, *, is_news: bool) -> Lesson:
        """Plan the next one; this one ends after so many rows of the stream."""
        first = self.first or 0
        so_far = end - first
        # Where lessons are news again, they become frequent; and rare by and by when they are not.
        between = min(int(so_far * SHARE_AFTER_NEWS), MOST_AFTER_NEWS)
        if not is_news:
            between = min(int(so_far * SHARE_BETWEEN), max(2 * self.between, between), MOST_BETWEEN)
        return Lesson(first, end + between, between)

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [self.first, self.due, self.between, self.rows, self.nbytes, self.codes.tolist()]

    @staticmethod
    def restore(state: Sequence[Any]) -> Lesson:
        """From a snapshot."""
        lesson = Lesson(*state[:3])
        lesson.rows, lesson.nbytes, lesson.codes = *state[3:5], np.array(state[5], np.int64)
        return lesson
