"""The profile window: what operators made of the newest profiled rows.

Section 4.3.1 of the thesis has one bit for each filter, and only rows that are dropped. Here rows are profiled as they
arrive, so those that pass are in the window too, and it tells what a row costs; an operator that has not seen a row is
told apart from one that passed it; and a probe has the number of its finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eddy.contracts import UNSEEN
from eddy.tuples.arrays import Floats, Integers, Numbers

MOST_FINDS = 1 << 14
"""Tuples out of a probe that are told apart: beyond, no order is for it."""

SURE_OF_BREAK = 4.5
"""Standard errors by which the newest rows must differ from the others to be of another stream."""

NEWEST = (32, 64, 128, 256)
"""Newest rows that are held against the older ones."""


class Window:
    """The newest profile rows, the oldest first.

    >>> window = Window(operators=2, room=2)
    >>> window.add(np.array([[1, 1], [0, 1], [1, UNSEEN]]))
    >>> window.outcomes()
    array([[ 0.,  1.],
           [ 1., nan]])
    """

    def __init__(self, operators: int, room: int) -> None:
        self._rows = np.zeros((0, operators), np.int16)
        self._room = room
        self.total = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, outcomes: Integers) -> None:
        """Keep some rows, in the place of the oldest: for each operator what came out, or `UNSEEN`."""
        newest = np.minimum(outcomes, MOST_FINDS).astype(np.int16)
        self._rows = np.concatenate((self._rows, newest))[-self._room :]
        self.total += len(outcomes)

    def cut(self, rows: int = 0) -> None:
        """Keep no more than the newest rows: the others are of a stream that is no more."""
        self._rows = self._rows[len(self._rows) - min(rows, len(self._rows)) :]

    def outcomes(self) -> Floats:
        """Give a row for each profiled row, a column for each operator; NaN where it has not seen the row."""
        return np.where(self._rows == UNSEEN, np.nan, self._rows.astype(np.float64))

    def find_break(self) -> int:
        """Count the newest rows that are unlike the older ones by more than chance; 0 for none."""
        # What was shown some rows only depends on the order they took.
        rows = self._rows[:, (self._rows != UNSEEN).all(axis=0)].astype(np.float64)
        for count in NEWEST:
            newest, older = rows[-count:], rows[:-count]
            if len(older) < count:
                break
            spread = rows.std(axis=0) * (1 / len(newest) + 1 / len(older)) ** 0.5
            if (np.abs(newest.mean(axis=0) - older.mean(axis=0)) > SURE_OF_BREAK * spread).any():
                return count
        return 0

    def snapshot(self) -> dict[str, Numbers]:
        """Give the rows as bits where operators drop or pass, as two bytes where they do more."""
        rows = {"shape": np.array([*self._rows.shape, self.total])}
        if self._rows.max(initial=0) > 1:
            return {**rows, "finds": self._rows.copy()}
        # As many bits as there is room for: state must not grow.
        bits = np.zeros((2, self._room, self._rows.shape[1]), np.bool_)
        bits[:, : len(self._rows)] = self._rows == 1, self._rows == UNSEEN
        return {**rows, "bits": np.packbits(bits)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        *shape, self.total = state["shape"].tolist()
        if "finds" in state:
            self._rows = state["finds"].copy()
            return
        rows, operators = shape
        bits = np.unpackbits(state["bits"], count=2 * self._room * operators).reshape(2, self._room, operators)
        passed, unseen = bits[:, :rows].astype(np.int16)
        self._rows = np.where(unseen == 1, UNSEEN, passed).astype(np.int16)
