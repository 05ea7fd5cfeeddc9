"""Tuples that stand side by side and search alike, as an earlier probe has left them.

    t, r    7,1  7,4  7,9 | 8,1 | 9,2  9,4      a probe asks a condition over t and s for three rows of t, not six

What such a lot finds differs by the times of its tuples alone. So it searches within the widest bounds of them, and if
all that it finds is inside of the narrowest too, that is what each of them finds.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from eddy.tuples.arrays import Integers, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import TimeBounds
from eddy.tuples.tuples import Tuples

FEWEST = 2
"""Tuples in a lot, on average, from which on lots are searched for: spelling out costs as much as a short search."""


class Alike(NamedTuple):
    """Lots of tuples that search alike: where each begins, and how many they are."""

    begins: RowIds
    lengths: Integers

    def spread(self, lots: int) -> RowIds:
        """Say for each tuple of the first lots to which of them it belongs."""
        return np.repeat(np.arange(lots), self.lengths[:lots])


def find_alike(tuples: Tuples, settles: Collection[str]) -> Alike | None:
    """Find the lots of tuples that have the same rows of all inputs that settle what they find; None where few do."""
    by = {tuples.lineage.origin, *settles}
    if len(by) == len(tuples.ids) or len(tuples) < FEWEST:
        return None
    new = np.zeros(len(tuples), np.bool_)
    new[0] = True
    for name in by:
        ids = tuples.ids[name]
        new[1:] |= ids[1:] != ids[:-1]
    begins = np.flatnonzero(new)
    if len(begins) * FEWEST > len(tuples):
        return None
    return Alike(begins, np.diff(begins, append=len(tuples)))


class Extremes(NamedTuple):
    """The widest and the narrowest bounds of each lot."""

    widest: TimeBounds
    narrowest: TimeBounds

    def rest(self, lots: int) -> Extremes:
        """Give those of all but the first lots."""
        behind = slice(lots, None)
        return Extremes(self.widest.take(behind), self.narrowest.take(behind))

    def hold(self, at: RowIds, times: Ticks) -> bool:
        """Tell whether all that some lots have found is inside of the bounds of each of their tuples."""
        earliest, latest = self.narrowest.take(at)
        return bool((earliest is None or (times >= earliest).all()) and (latest is None or (times <= latest).all()))


def find_extremes(bounds: TimeBounds, alike: Alike) -> Extremes:
    """Find the extremes of each lot, from the bounds of its tuples."""
    earliest, latest = bounds
    low, high = np.minimum.reduceat, np.maximum.reduceat
    return Extremes(
        *(
            TimeBounds(
                None if earliest is None else begin(earliest, alike.begins),
                None if latest is None else end(latest, alike.begins),
            )
            for begin, end in ((low, high), (high, low))
        )
    )
