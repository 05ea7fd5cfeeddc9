"""The clocks of zones in the years from 2037 on, where Arrow's tables end.

From 2100 on every 400 years are alike: they have the same days of the week, and no zone has a rule of its own for
any of them. So a table of some hundred changes for each zone serves all years.
"""

from __future__ import annotations

import datetime
import functools
import zoneinfo
from typing import Any

import numpy as np

Micros = np.ndarray[Any, np.dtype[np.int64]]
_SECOND = 1_000_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# No change of the clocks is undone within a week.
_STRIDE = 7 * 86_400
_CYCLE = 146_097 * 86_400 * _SECOND


def _start(year: int) -> int:
    return int((datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) - _EPOCH).total_seconds())


# A day early, so that local times are on the same side of it as the instants that they mean.
HORIZON = (_start(2037) - 86_400) * _SECOND
_REPEATED, _LAST = _start(2100) * _SECOND, _start(2510)


def local(instants: Micros, zone: str) -> Micros:
    """Give the local times of instants behind the horizon."""
    changes, _, offsets = _table(zone)
    return instants + offsets[np.searchsorted(changes, _folded(instants), side="right")]


def instants(local: Micros, zone: str) -> Micros:
    """Give the instants of local times behind the horizon.

    A time that comes twice is the earlier; one that is skipped moves on: both keep the offset from before the change.
    """
    _, walls, offsets = _table(zone)
    return local - offsets[np.searchsorted(walls, _folded(local), side="right")]


def _folded(micros: Micros) -> Micros:
    late = micros >= _REPEATED + _CYCLE
    return np.where(late, (micros - _REPEATED) % _CYCLE + _REPEATED, micros)


@functools.lru_cache(maxsize=64)
def _table(zone: str) -> tuple[Micros, Micros, Micros]:
    """Find the changes, the local times that follow them, and the offsets around them."""
    known = zoneinfo.ZoneInfo(zone)

    def offset(at: int) -> int:
        moment = (_EPOCH + datetime.timedelta(seconds=at)).astimezone(known)
        return int((moment.utcoffset() or datetime.timedelta()).total_seconds())

    changes: list[int] = []
    first = HORIZON // _SECOND
    offsets, low = [offset(first)], first
    for high in range(first + _STRIDE, _LAST, _STRIDE):
        if offset(high) != offsets[-1]:
            changes.append(_change(offset, low, high))
            offsets.append(offset(high))
        low = high
    at, around = np.array(changes, np.int64), np.array(offsets, np.int64)
    walls = at + np.maximum(around[:-1], around[1:])
    return at * _SECOND, walls * _SECOND, around * _SECOND


def _change(offset: Any, low: int, high: int) -> int:
    """Find the second of the change between two, by halves."""
    before = offset(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle) == before else (low, middle)
    return high
