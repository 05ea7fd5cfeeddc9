"""What the first hop of each way does to rows, by their buckets.

All rows of a way come to its first operator, so its ordinary outcomes say without bias what it does to each class: they
cost nothing but a look at the buckets of a few rows. Totals may stay while classes appear, and then only this shows.

Recent rows are held against those before them, for each attribute: a block of new ones is judged when it has 100, 200
and 400 rows, and then becomes part of the old ones, which fade. The reference to begin with is the sample that the mesh
was made from. A change that all buckets share is no matter here: `promise` sees it in the totals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.tuples.arrays import Floats, Integers

LOOKS = (100, 200, 400)
"""Rows of a block at which it is judged: a large change shows soon, and a small one is worth waiting for."""

OLDEST = 2_000.0
"""Rows that the old ones count as at most; beyond that they fade."""

SURE_OF_CLASSES = 5.0
"""Standard errors beyond which buckets have changed: there are some looks at many attributes for each thousand rows."""

FEWEST_EVENTS = 10.0
"""Rows that pass, and rows that do not, without which no test counts on averages."""


ROWS_OF_A_LOOK, LOOKED_AT, MOST_LOOKED_AT = 1_000, 200, 1_000
"""Rows that come between two looks at least, those of them that are looked at, and those of a look at most: where
rounds are large, one look must say as much as several."""

LOOKING_SHARE = 0.005
"""The share of the operators' seconds that may go into looking at the buckets of rows that took their first hop."""

LARGEST_SAVED = 5e-3
"""Seconds that may be saved up for looks: some looks."""


class Looks:
    """Says when rows are looked at: rarely enough that it is hardly noticed.

    Where only calls count it costs nothing.
    """

    def __init__(self, *, is_free: bool) -> None:
        self._is_free = is_free
        self._rows = self._seconds = 0.0

    def count(self, rows: int, *, is_noted: bool = True) -> int:
        """Say how many of a round's rows to look at once they have taken their first hop, if steps are noted."""
        self._rows += rows
        if not is_noted or self._rows < ROWS_OF_A_LOOK or (self._seconds < 0 and not self._is_free):
            return 0
        looked, self._rows = int(self._rows / ROWS_OF_A_LOOK) * LOOKED_AT, 0.0
        return min(looked, MOST_LOOKED_AT)

    def earn(self, seconds: float) -> None:
        """Operators took so long."""
        self._seconds = min(self._seconds + LOOKING_SHARE * seconds, LARGEST_SAVED)

    def pay(self, seconds: float) -> None:
        """A look took so long: the next one waits until its share of the operators' seconds is as much."""
        self._seconds -= seconds

    def snapshot(self) -> list[float]:
        """Plain values."""
        return [self._rows, self._seconds]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a snapshot."""
        self._rows, self._seconds = state


class Change(NamedTuple):
    """An attribute whose buckets an operator treats otherwise than before, and how certain that is."""

    operator: int
    attribute: int
    sure: float


class FirstHops:
    """Counts of rows and of those that passed, for each way and operator that came first.

    Each table has a row for each attribute and a column for each bucket.
    """

    def __init__(self, attributes: int, cells: int) -> None:
        self._shape = (attributes, cells)
        self._old: dict[tuple[int, int], Floats] = {}
        self._new: dict[tuple[int, int], Floats] = {}

    def expect(self, ways: Sequence[int], operator: int, given: Integers, buckets: Buckets, passed: Floats) -> None:
        """Take what an operator made of the sample's rows for the reference, where it comes first on some ways.

        `given` is the way of each row.
        """
        attributes, cells = self._shape
        known = ~np.isnan(passed)
        # A table for each way: the attributes of the second stand behind those of the first.
        code = (given[known, None] * attributes + np.arange(attributes)) * cells + buckets[known]
        weight = np.repeat(np.minimum(passed[known], 1.0), attributes)
        shape = max(ways) + 1, attributes, cells
        kept = code.ravel() < math.prod(shape)
        code, weight = code.ravel()[kept], weight[kept]
        counts = [np.bincount(code, minlength=math.prod(shape)), np.bincount(code, weight, math.prod(shape))]
        tables = np.stack([count.astype(np.float64).reshape(shape) for count in counts], axis=1)
        self._old.update({(way, operator): tables[way] for way in ways})

    def add(self, way: int, operator: int, buckets: Buckets, outcomes: Floats) -> Change | None:
        """Count some rows that took their first hop; gives the change that shows, if any."""
        key = way, operator
        before = 0.0 if key not in self._new else _rows(self._new[key])
        new = self._new[key] = self._new.get(key, 0.0) + count_rows(buckets, outcomes, self._shape[1])
        rows = _rows(new)
        change = None
        if key in self._old and any(before < look <= rows for look in LOOKS):
            sure = compare([(self._old[key], new)])
            if len(sure) and sure.max() > SURE_OF_CLASSES:
                change = Change(operator, int(sure.argmax()), float(sure.max()))
        if rows >= LOOKS[-1]:
            old = self._old.get(key, np.zeros_like(new)) + self._new.pop(key)
            self._old[key] = old * min(1.0, OLDEST / max(_rows(old), 1.0))
        return change

    def snapshot(self) -> dict[str, Any]:
        """Plain values: tables are mostly zeros."""
        return {name: [_pack(key, table) for key, table in tables.items()] for name, tables in self._tables()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for name, tables in self._tables():
            tables.update(_unpack(row, self._shape) for row in state[name])

    def _tables(self) -> tuple[tuple[str, dict[tuple[int, int], Floats]], ...]:
        return ("old", self._old), ("new", self._new)


def count_rows(buckets: Buckets, outcomes: Floats, cells: int) -> Floats:
    """Count rows, and rows of which anything came out, by attribute and bucket.

    >>> count_rows(np.array([[1], [1], [0]], np.uint8), np.array([1.0, 0.0, 2.0]), 2).tolist()
    [[[1.0, 2.0]], [[1.0, 1.0]]]
    """
    attributes = buckets.shape[1]
    code = (buckets + np.arange(attributes) * cells).ravel()
    passed = np.repeat(np.minimum(outcomes, 1.0), attributes)
    counts = [np.bincount(code, minlength=attributes * cells), np.bincount(code, passed, attributes * cells)]
    return np.stack(counts).astype(np.float64).reshape(2, attributes, cells)


def compare(pairs: Sequence[tuple[Floats, Floats]], *, totals: bool = False) -> Floats:
    """Compare tables of old rows with tables of new ones.

    All pairs count together. Gives standard errors by attribute.

    Without `totals` only that counts which buckets do not share. The sum of squares follows the chi-squared
    distribution, whose cube root is nearly normal (Wilson and Hilferty).
    """
    squares, freedom = np.zeros(pairs[0][0].shape[1]), np.zeros(pairs[0][0].shape[1])
    for old, new in pairs:
        found, degrees = _explain(old, new, totals=totals)
        squares, freedom = squares + found, freedom + degrees
    known = np.maximum(freedom, 1.0)
    spread = 2 / (9 * known)
    sure: Floats = (np.cbrt(squares / known) - (1 - spread)) / np.sqrt(spread)
    return np.where(freedom > 0, sure, -np.inf)


def _explain(old: Floats, new: Floats, *, totals: bool) -> tuple[Floats, Floats]:
    """Square the differences between old and new buckets.

    They are in standard errors. Gives their sums and degrees of freedom, by attribute.
    """
    rows, passed = old[0] + new[0], old[1] + new[1]
    whole = np.maximum(rows.sum(axis=1), 1.0)
    share = passed.sum(axis=1) / whole
    weight = old[0] * new[0] / np.maximum(rows, 1.0)
    apart = new[1] / np.maximum(new[0], 1.0) - old[1] / np.maximum(old[0], 1.0)
    if not totals:
        shift = (weight * apart).sum(axis=1) / np.maximum(weight.sum(axis=1), np.finfo(np.float64).tiny)
        apart = apart - shift[:, None]
    freedom = np.maximum((weight > 0).sum(axis=1) - (not totals), 0.0)
    events = np.minimum(share, 1 - share) * whole
    known = (freedom > 0) & (events >= FEWEST_EVENTS)
    squares = (weight * apart**2).sum(axis=1) / np.where(known, share * (1 - share), 1.0)
    return np.where(known, squares, 0.0), np.where(known, freedom, 0.0)


def _rows(table: Floats) -> float:
    """The rows that a table counts: every attribute has all of them."""
    return float(table[0, 0].sum()) if table.shape[1] else 0.0


def _pack(key: tuple[int, int], table: Floats) -> list[Any]:
    places = np.flatnonzero(table[0].ravel())
    return [*key, places.tolist(), table[0].ravel()[places].tolist(), table[1].ravel()[places].tolist()]


def _unpack(row: Sequence[Any], shape: tuple[int, int]) -> tuple[tuple[int, int], Floats]:
    way, operator, places, rows, passed = row
    table = np.zeros((2, *shape))
    table.reshape(2, -1)[:, places] = rows, passed
    return (way, operator), table
