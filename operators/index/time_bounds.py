"""When a candidate must have happened, so that it and the rows of a tuple are inside their windows.

A stored row may be older than the tuple's latest row by its own window, and younger than each of the tuple's rows by
the window of that one:

    tuple: a at 50 (window 20), b at 45 (window 30)      stored row with a window of 10: from 40 up to 70

Bounds may only err outwards: what is found is verified, and what is not found is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from eddy.tuples.arrays import Floats, Integers, Numbers
from eddy.tuples.event_time import Ticks

FIRST_TICK, LAST_TICK = np.iinfo(np.int64).min, np.iinfo(np.int64).max

ROUNDING = 2.0**-50
"""By how much of a float's size a difference may be off, with some to spare: a float has 53 bits."""

LEAST_SAVED = 6
"""Candidates that a bound has to spare a probe: a step by halves costs as much as a fraction of one, but a long run
takes up to sixteen."""


Read = Callable[[Numbers], Numbers]
"""Gives the numbers in whose order rows stand, by the places of the rows in their part."""


class TimeBounds(NamedTuple):
    """The earliest and the latest time for each tuple; None where there is no bound."""

    earliest: Ticks | None
    latest: Ticks | None

    def take(self, probes: slice | Integers) -> TimeBounds:
        """Give the bounds of some tuples."""
        return TimeBounds(
            None if self.earliest is None else self.earliest[probes],
            None if self.latest is None else self.latest[probes],
        )


def make_bounds(ticks: Sequence[Ticks], spans: Sequence[float | None], own: float | None) -> TimeBounds:
    """Find the bounds for tuples whose rows have some event times and windows, beside the own window.

    >>> make_bounds([np.array([50]), np.array([45])], [20, 30], 10)
    TimeBounds(earliest=array([40]), latest=array([70]))
    """
    latest: Ticks | None = None
    for times, span in zip(ticks, spans, strict=True):
        if span is not None:
            end = _later(times, span)
            latest = end if latest is None else np.minimum(latest, end)
    return TimeBounds(None if own is None else _earlier(reduce(np.maximum, ticks), own), latest)


def _earlier(times: Ticks, span: float) -> Ticks:
    if times.dtype == np.float64:
        return _outwards(times, span, -1.0)
    whole = min(math.ceil(span), LAST_TICK)
    return np.maximum(times, FIRST_TICK + whole) - whole


def _later(times: Ticks, span: float) -> Ticks:
    if times.dtype == np.float64:
        return _outwards(times, span, 1.0)
    whole = min(math.ceil(span), LAST_TICK)
    return np.minimum(times, LAST_TICK - whole) + whole


def _outwards(times: Ticks, span: float, sign: float) -> Floats:
    """Add a span to some times, or take it away, and what that may be off by; infinite times stay as they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = times + sign * span
        off = (np.abs(times) + span) * ROUNDING
        widened: Floats = np.where(np.isfinite(moved), moved + sign * off, moved)
    return widened


def narrow(
    starts: Integers,
    counts: Integers,
    long: Integers,
    bounds: TimeBounds,
    read: Read,
    rows: Numbers,
    extent: tuple[float, float],
) -> None:
    """Leave out of runs of rows, which rise in time, those that are out of bounds.

    `long` are the probes whose runs may be worth it; the others stay as they are. `read` gives the times of the part's
    rows, `rows` is the order in which they stand, and `extent` the least and the newest of them.
    """
    worth = long[counts.take(long) * _estimate_outside(bounds.take(long), *extent) >= LEAST_SAVED]
    if not len(worth):
        return
    first = starts.take(worth)
    last = first + counts.take(worth)
    begin, end = first, last
    if bounds.earliest is not None:
        begin = _bisect(first, last, bounds.earliest.take(worth), read, rows, after=False)
    if bounds.latest is not None:
        end = _bisect(begin, last, bounds.latest.take(worth), read, rows, after=True)
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


def narrow_order(
    starts: Integers,
    counts: Integers,
    long: Integers,
    orders: Sequence[tuple[str, Numbers]],
    read: Read,
    rows: Numbers,
) -> None:
    """Leave out of runs of rows, which rise in a key, those that do not compare with the probe's as asked."""
    begin = starts.take(long)
    end = begin + counts.take(long)
    for op, codes in orders:
        # Rows with the key itself are before the bound for `>` and `<=`, and behind it for `>=` and `<`.
        edge = _bisect(begin, end, codes.take(long), read, rows, after=op in (">", "<="))
        begin, end = (edge, end) if op in (">", ">=") else (begin, edge)
    starts[long] = begin
    counts[long] = end - begin


def _bisect(low: Integers, high: Integers, bounds: Numbers, read: Read, rows: Numbers, *, after: bool) -> Integers:
    """Find where each run reaches its bound, or is past it: all runs at once, by halves."""
    # times of a run  1 3 3 7     bound 3     at 1, or past it at 3
    low, high = low.copy(), high.copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        found = read(rows.take(middle, mode="clip"))
        below = (found <= bounds) if after else (found < bounds)
        below &= low < high
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, middle)
    return low
