"""Runs of rows that stand in order of time, without those that are out of bounds."""

from __future__ import annotations

import math

import numpy as np

from eddy.tuples.arrays import Floats, Integers, Numbers
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import TimeBounds


def narrow(
    starts: Integers,
    counts: Integers,
    long: Integers,
    bounds: TimeBounds,
    times: Ticks,
    rows: Numbers,
    extent: tuple[float, float],
    least_saved: float,
) -> None:
    """Leave out of runs of rows, which rise in time, those that are out of bounds.

    `long` are the probes whose runs may be worth it; the others stay as they are. `times` are those of the part's
    rows, `rows` is the order in which they stand, and `extent` the least and the newest of them. A bound is looked for
    where it is to spare a probe `least_saved` rows.
    """
    worth = long[counts.take(long) * _estimate_outside(bounds.take(long), *extent) >= least_saved]
    if not len(worth):
        return
    first = starts.take(worth)
    last = first + counts.take(worth)
    begin, end = first, last
    if bounds.earliest is not None:
        begin = _bisect(first, last, bounds.earliest.take(worth), times, rows, after=False)
    if bounds.latest is not None:
        end = _bisect(begin, last, bounds.latest.take(worth), times, rows, after=True)
    starts[worth] = begin
    counts[worth] = end - begin


def _estimate_outside(bounds: TimeBounds, least: float, newest: float) -> Floats | float:
    """Estimate the share of a part's rows that is out of bounds, by its times."""
    length = float(newest) - float(least)
    if not 0 < length < math.inf:
        return 1.0
    share: Floats | float = 0.0
    if bounds.earliest is not None:
        share = share + np.clip((bounds.earliest.astype(np.float64) - least) / length, 0.0, 1.0)
    if bounds.latest is not None:
        share = share + np.clip((newest - bounds.latest.astype(np.float64)) / length, 0.0, 1.0)
    return share


def _bisect(low: Integers, high: Integers, bounds: Ticks, times: Ticks, rows: Numbers, *, after: bool) -> Integers:
    """Find where each run reaches its bound, or is past it: all runs at once, by halves."""
    # times of a run  1 3 3 7     bound 3     at 1, or past it at 3
    low, high = low.copy(), high.copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        found = times.take(rows.take(middle, mode="clip"), mode="clip")
        below = (found <= bounds) if after else (found < bounds)
        below &= low < high
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, middle)
    return low
