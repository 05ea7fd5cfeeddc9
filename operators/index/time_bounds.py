"""When a candidate must have happened, so that it and the rows of a tuple are inside their windows.

A stored row may be older than the tuple's latest row by its own window, and younger than each of the tuple's rows by
the window of that one:

    tuple: a at 50 (window 20), b at 45 (window 30)      stored row with a window of 10: from 40 up to 70

Bounds may only err outwards: what is found is verified, and what is not found is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from eddy.tuples.arrays import Floats
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import TimeBounds

FIRST_TICK, LAST_TICK = np.iinfo(np.int64).min, np.iinfo(np.int64).max

ROUNDING = 2.0**-50
"""By how much of a float's size a difference may be off, with some to spare: a float has 53 bits."""

LEAST_SAVED = 6
"""Candidates that a bound has to spare a probe: a step by halves costs as much as a fraction of one, but a long run
takes up to sixteen."""

MOST_NEWER = 50
"""Rows that a chain may lead a tuple past since they are too new for it. A chain begins with the newest row, and steps
by halves through rows in the order of their time take as long as some ten of it."""

ROWS_COMPARED, TUPLES_COMPARED = 256, 16
"""Rows and tuples whose times tell how many are too new: comparing them takes ten microseconds."""


def leads_past(times: Ticks, latest: Ticks | None, tuples: int, alike: float) -> bool:
    """Tell whether chains lead past many rows that are too new, where a row has a tuple's keys with some chance.

    One stream may be far ahead of another: then a tuple passes all that has come since. Few tuples do so all the same,
    since rows would have to be put in order for them.

    >>> latest = np.full(1_000, 10)
    >>> leads_past(np.arange(1_000), latest, 1_000, 0.5), leads_past(np.arange(20), latest, 1_000, 0.5)
    (True, False)
    """
    if latest is None or alike * len(times) < MOST_NEWER or alike * tuples < 1:
        return False
    rows, some = times[:: -(-len(times) // ROWS_COMPARED)], latest[:: -(-tuples // TUPLES_COMPARED)]
    passed = alike * len(times) * float((rows[:, None] > some).mean())
    return passed > MOST_NEWER and passed * tuples > len(times)


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


def are_exact(ticks: Ticks, spans: Iterable[float | None]) -> bool:
    """Tell whether rows are inside their windows if, and only if, they are inside the bounds.

    Times that are fractions are not, nor are they where a whole number is held against a fraction so long that its own
    kind has no room for all whole numbers.
    """
    exact = (span is None or (isinstance(span, int) and span <= LAST_TICK) or span < 2**53 for span in spans)
    return ticks.dtype == np.int64 and all(exact)


def _earlier(times: Ticks, span: float) -> Ticks:
    if times.dtype == np.float64:
        return _outwards(times, span, -1.0)
    whole = _whole(span)
    return np.maximum(times, FIRST_TICK + whole) - whole


def _later(times: Ticks, span: float) -> Ticks:
    if times.dtype == np.float64:
        return _outwards(times, span, 1.0)
    whole = _whole(span)
    return np.minimum(times, LAST_TICK - whole) + whole


def _whole(span: float) -> int:
    return min(math.floor(span), LAST_TICK)


def _outwards(times: Ticks, span: float, sign: float) -> Floats:
    """Add a span to some times, or take it away, and what that may be off by; infinite times stay as they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = times + sign * span
        off = (np.abs(times) + span) * ROUNDING
        widened: Floats = np.where(np.isfinite(moved), moved + sign * off, moved)
    return widened
