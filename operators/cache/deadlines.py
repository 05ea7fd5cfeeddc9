"""Windows of combinations: the newest time of each, and the last at which all its rows are inside.

Two of them are inside of each other's windows if neither is newer than the other's deadline:

    a at 50 (window 20), b at 45 (window 30)    ->   newest 50, deadline 70
    c at 68 (window 10)                         ->   newest 68, deadline 78    68 <= 70 and 50 <= 78: all are inside
    c at 39 (window 10)                         ->   newest 39, deadline 49    50 > 49: c is past
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eddy.operators.index.time_bounds import are_exact, make_bounds
from eddy.operators.stem import Stem
from eddy.query import Range
from eddy.tuples.arrays import Integers, RowIds


class Times(NamedTuple):
    """The newest time of each combination, and its deadline; None where nothing has such a time."""

    newest: Integers | None
    deadline: Integers | None

    @property
    def nbytes(self) -> int:
        """The bytes that they occupy."""
        return sum(array.nbytes for array in self if array is not None)

    def take(self, places: RowIds) -> Times:
        """Give the times at some places."""
        return Times(*(None if array is None else array.take(places) for array in self))


NO_TIMES = Times(None, None)


def join_times(parts: Sequence[Times]) -> Times:
    """Put times one behind the other; all parts have the same kinds of them."""
    return Times(*(None if columns[0] is None else np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Deadlines:
    """Finds the times of combinations, where whole numbers say all about windows."""

    def __init__(self, stems: Mapping[str, Stem]) -> None:
        self._stems = {name: stem for name, stem in stems.items() if stem.timed}
        self._spans = {n: s.window.ticks if isinstance(s.window, Range) else None for n, s in self._stems.items()}
        self._are_asked = any(span is not None for span in self._spans.values())
        are_whole = all(are_exact(stem.ticks, self._spans.values()) for stem in self._stems.values())
        self.are_exact = are_whole or not self._are_asked

    def find(self, ids: Mapping[str, RowIds]) -> Times:
        """Find the times of combinations, given by the rows of each input."""
        timed = [name for name in ids if name in self._stems]
        if not (timed and self._are_asked and self.are_exact):
            return NO_TIMES
        ticks = [self._stems[name].ticks.take(ids[name]) for name in timed]
        # A stream with a window of no length would have to come last: from the newest time on.
        found = make_bounds(ticks, [self._spans[name] for name in timed], 0)
        return Times(*(None if times is None else times.view(np.int64) for times in found))
