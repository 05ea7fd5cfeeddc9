"""Watches over what rows do at each place of an order.

All rows tell it for nothing, and there are many more of them than profile rows: a change shows here first, and what an
operator does to the rows that others have passed is known here best. What none of them shows, that an operator has
become better than those before it, only profile rows do.

What an operator makes of rows depends on which others have seen them before, and not on their order. So counts are kept
by an operator and a set of others, also while the order is another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.contracts import Counts
from eddy.observe.statistics import fading
from eddy.policies.shared.legality import bits
from eddy.tuples.arrays import Floats, Numbers

Place = tuple[int, int]
"""The operators before, as bits, and an operator."""

HALF_LIVES = (500, 5_000)
"""Rows after which older ones count half: one for what changes at once, one for what changes slowly."""

KNOWN_HALF_LIFE = 50_000
"""Rows of the stream after which what is known of a place counts half: what was long ago may be tried again."""

MOST_KEPT = 64
"""Places of former orders that are kept, the newest ones."""

SURE_OF_CHANGE = 4.5
"""Standard errors beyond which a difference is not chance: there are some ten tests for each thousand rows."""

LEAST_CHANGE = 0.03
"""Outputs per input by which an operator must differ: less hardly makes another order better."""

ROWS_TO_NOTICE = 100.0
"""Rows that have come to a place before anything is said about it."""

EVENTS = 10.0
"""Rows that pass, and rows that do not, without which no test counts on averages."""

ROWS, OUT, SQUARES = range(3)
NO_COUNTS = (0.0, 0.0, 0.0)
"""The counts of a place that nobody has seen."""

NEW, KNOWN, RECENT = range(3)
"""The round's counts; those that fade slowly, against which the newest are held; the newest, by half-life."""


class Watch:
    """Rows in, tuples out and their squares at each place of the present order, and of former ones."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._follow(places)
        self._counts = np.zeros((RECENT + len(HALF_LIVES), 3, len(places)))
        self._clock = 0.0
        self._former: dict[Place, list[float]] = {}

    def _follow(self, places: Sequence[Place]) -> None:
        self._places = list(places)
        self._numbers = {place: number for number, place in enumerate(places)}
        self._new = [list(NO_COUNTS) for _ in places]

    def begin(self) -> None:
        """Begin anew: the stream is another one."""
        self._counts[:] = 0.0
        self._new = [list(NO_COUNTS) for _ in self._places]
        self._former.clear()

    def switch(self, places: Sequence[Place]) -> None:
        """Watch over another order; of the places that it shares with former ones something is known."""
        for number, place in enumerate(self._places):
            self._former.pop(place, None)
            self._former[place] = [self._clock, *self._counts[KNOWN, :, number].tolist()]
        standing, counts = self._numbers, self._counts
        self._follow(places)
        self._counts = np.zeros_like(counts)
        for number, place in enumerate(places):
            if place in standing:
                self._counts[:, :, number] = counts[:, :, standing[place]]
            elif place in self._former:
                self._counts[KNOWN, :, number] = self._recall(place)
            self._former.pop(place, None)
        for place in list(self._former)[:-MOST_KEPT]:
            del self._former[place]

    def count(self, place: int, outcomes: Counts) -> None:
        """Count what came out at a place, tuple by tuple."""
        out = float(np.count_nonzero(outcomes))
        squares = out
        if outcomes.dtype != np.bool_:
            out, squares = float(outcomes.sum()), float((outcomes * outcomes).sum())
        # Lists, since this is done for every step of the stream: a cell of an array takes ten times as long.
        new = self._new[place]
        new[ROWS] += len(outcomes)
        new[OUT] += out
        new[SQUARES] += squares

    def look(self) -> int | None:
        """Count the round that is over; gives the place at which rows do otherwise than before, if there is one."""
        new = self._counts[NEW] = np.array(self._new).T
        self._new = [list(NO_COUNTS) for _ in self._places]
        rows = float(new[ROWS, 0])
        self._clock += rows
        kept = np.array([fading(rows, half_life) for half_life in HALF_LIVES])
        self._counts[RECENT:] = self._counts[RECENT:] * kept[:, None, None] + new
        known = self._counts[KNOWN]
        sure = _compare(self._counts[RECENT:], known).max(axis=0)
        self._counts[KNOWN] = known * fading(rows, KNOWN_HALF_LIFE) + new
        return int(sure.argmax()) if len(sure) and sure.max() > SURE_OF_CHANGE else None

    def known(self, place: Place) -> Sequence[float]:
        """Rows, tuples out and squares that an operator is known by, where some others have seen rows before it."""
        if place in self._former:
            return self._recall(place)
        number = self._numbers.get(place)
        found: Sequence[float] = NO_COUNTS if number is None else self._counts[KNOWN, :, number].tolist()
        return found

    def _recall(self, place: Place) -> Sequence[float]:
        """Give what is known of a place of a former order; it has faded since."""
        then, *known = self._former[place]
        kept = fading(self._clock - then, KNOWN_HALF_LIFE)
        return [count * kept for count in known]

    def price(self, costs: Floats) -> float:
        """Price a row by what was seen of the places recently; NaN where nothing was."""
        rows = self._counts[-1, ROWS]
        return float(rows @ costs / rows[0]) if len(rows) and rows[0] else float("nan")

    def snapshot(self) -> tuple[list[Any], dict[str, Numbers]]:
        """Plain values, and former places as arrays of one size: state must not grow."""
        operators = len(self._places)
        sets = np.zeros((MOST_KEPT, operators), np.bool_)
        former = np.zeros((MOST_KEPT, 2 + len(NO_COUNTS)))
        former[:, 0] = -1
        for row, ((before, operator), known) in enumerate(self._former.items()):
            sets[row] = [before >> number & 1 for number in range(operators)]
            former[row] = operator, *known
        self._counts[NEW] = np.array(self._new).T
        plain = [self._clock, [list(place) for place in self._places]]
        return plain, {"counts": self._counts.copy(), "sets": np.packbits(sets), "former": former}

    def restore(self, plain: Sequence[Any], arrays: Mapping[str, Numbers]) -> None:
        """Go on from a snapshot."""
        self._clock, places = plain
        self._follow([(before, operator) for before, operator in places])
        self._counts = arrays["counts"].copy()
        self._new = self._counts[NEW].T.tolist()
        shape = MOST_KEPT, len(self._places)
        sets = np.unpackbits(arrays["sets"], count=shape[0] * shape[1]).reshape(shape)
        for before, (operator, *known) in zip(sets, arrays["former"].tolist(), strict=True):
            if operator >= 0:
                self._former[bits(np.flatnonzero(before).tolist()), int(operator)] = known


def _compare(recent: Floats, known: Floats) -> Floats:
    """Hold recent rows against earlier ones; gives standard errors, by place, where the difference is worth it."""
    rows, before = np.maximum(recent[:, ROWS], 1.0), np.maximum(known[ROWS], 1.0)
    apart = np.abs(recent[:, OUT] / rows - known[OUT] / before)
    whole = recent + known
    all_rows = np.maximum(whole[:, ROWS], 1.0)
    mean = whole[:, OUT] / all_rows
    # A filter that has passed all, or none, has no spread: the next one that differs is no proof.
    spread = np.maximum(whole[:, SQUARES] / all_rows - mean**2, np.minimum(EVENTS / all_rows, 0.25))
    enough = (rows >= ROWS_TO_NOTICE) & (before >= ROWS_TO_NOTICE) & (apart >= LEAST_CHANGE * np.maximum(mean, 1.0))
    return np.where(enough, apart / np.sqrt(spread * (1 / rows + 1 / before)), 0.0)
