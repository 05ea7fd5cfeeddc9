"""The loops over chains: what `ChainKernels` says of them, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from eddy.kernels.addresses import prefetch
from eddy.kernels.loops import (
    AHEAD,
    BY_ROW,
    BY_TUPLE,
    COLUMN,
    LINES,
    OUTSIDE,
    OWN,
    OWN_SIZE,
    agrees,
    compile_for,
    read_only,
)

FULL = -2
"""What a loop gives that has no room for what the first tuple finds."""

HEADS, LINKS, TAGS = types.uint32[::1], types.uint32[::1], read_only(types.uint32)
HASHES = read_only(types.uint64)

TAG_BITS, TAG, IN_CHAIN = np.uint64(32), np.int64(0xFFFFFFFF), np.int64(1)


@compile_for(types.boolean(HEADS, LINKS, types.int64, types.int64, TAGS, types.int64, types.int64))
def link(heads: Any, links: Any, first: int, reach: int, tags: Any, begin: int, shift: int) -> bool:
    """Put rows into chains from an id on."""
    far = (np.int64(1) << reach) - 1
    if begin < 0 or begin + len(tags) > len(links) or len(links) > far:
        return False
    for place in range(len(tags)):
        tag, row = np.int64(tags[place]), begin + place
        distance = np.int64(0)
        if tag & IN_CHAIN:
            older = np.int64(heads[tag >> shift]) - first
            distance = np.int64(row - older if older >= 0 else 0)
            heads[tag >> shift] = first + row
        links[row] = (tag << (32 - shift)) & TAG & ~far | distance
        prefetch(heads.ctypes.data, int(tags[min(place + AHEAD, len(tags) - 1)] >> shift) << 2)
    return True


@compile_for(types.boolean(HEADS, LINKS, types.int64, types.int64, TAGS, types.int64, types.int64))
def unlink(heads: Any, links: Any, first: int, reach: int, tags: Any, begin: int, shift: int) -> bool:
    """Take rows out of chains from an id on, the newest first: each gives its head to the next older one."""
    if begin < 0 or begin + len(tags) != len(links):
        return False
    for place in range(len(tags) - 1, -1, -1):
        tag, row = np.int64(tags[place]), begin + place
        if tag & IN_CHAIN:
            distance = np.int64(links[row]) & ((np.int64(1) << reach) - 1)
            heads[tag >> shift] = first + row - distance if distance else 0
    return True


@njit()
def _find_addresses(heads: Any, links: Any, times: Any, terms: Any) -> Any:
    """Find addresses before a loop: inside of it, each would be found again."""
    own_at, own_size = (terms[0, OWN], terms[0, OWN_SIZE]) if len(terms) else (np.int64(0), np.int64(0))
    return heads.ctypes.data, links.ctypes.data, times.ctypes.data, own_at, own_size


@njit()
def _ask_memory(
    heads: Any, links: Any, hashes: Any, probe: int, behind: int, first: int, places: Any, timely: int
) -> None:
    """Ask memory for a head that will be read soon, for the row of one that is read sooner, and for the row behind."""
    heads_at, links_at, times_at, own_at, own_size, far = places
    last = len(hashes) - 1
    prefetch(heads_at, int(hashes[min(probe + 2 * AHEAD, last)] >> behind) << 2)
    row = np.int64(heads[np.int64(hashes[min(probe + AHEAD, last)] >> behind)]) - first
    prefetch(links_at, int(row) << 2)
    prefetch(own_at, own_size * row)
    if row < timely:
        prefetch(times_at, int(row) << 3)
    row = np.int64(heads[np.int64(hashes[min(probe + AHEAD // 2, last)] >> behind)]) - first
    if 0 <= row < len(links):
        row -= np.int64(links[row]) & far
        prefetch(links_at, int(row) << 2)
        prefetch(own_at, own_size * row)


@njit()
def _find_timely(times: Any, earliest: Any, latest: Any, begun: int) -> int:
    """Find the first row, of rows that rise, from which on all are inside of all windows: their times are not read."""
    low, high = 0, len(times)
    if not high or begun >= max(len(earliest), len(latest)):
        return 0
    for probe in range(begun, len(latest)):
        if latest[probe] < times[high - 1]:
            return high
    bound = earliest[begun] if len(earliest) else times[0]
    for probe in range(begun, len(earliest)):
        bound = max(bound, earliest[probe])
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@njit()
def _find_head(heads: Any, key: Any, shift: int, first: int) -> Any:
    """Find the rest of a hash's tag, as links have it, and the newest row of its chain."""
    tag = np.int64(key >> TAG_BITS) | IN_CHAIN
    return tag << (32 - shift) & TAG, np.int64(heads[tag >> shift]) - first


@njit()
def _turn(rows: Any, low: int, high: int) -> None:
    """Turn rows around: the newest came first."""
    while low < high:
        rows[low], rows[high] = rows[high], rows[low]
        low, high = low + 1, high - 1


_COUNTED = types.UniTuple(types.int64, 3)
_NUMBERS = types.UniTuple(types.int64, 10)
_FOUND = types.UniTuple(COLUMN, 2)
_HEADS = read_only(types.uint32)


@compile_for(_COUNTED(_HEADS, _HEADS, HASHES, LINES, BY_TUPLE, BY_ROW, _NUMBERS, _FOUND))
def walk(  # noqa: C901, PLR0915  one pass
    heads: Any, links: Any, hashes: Any, terms: Any, by_tuple: Any, by_row: Any, numbers: Any, found: Any
) -> Any:
    """Follow the chains of tuples from `begun` on; says how many rows pass, up to which tuple, and how many were seen.

    It ends before a tuple for which there is no room, or that has too many; `must` is the one that is taken anyway.
    """
    (known, before, earliest, latest), (times, ranks, alive), (at, rows) = by_tuple, by_row, found
    first, reach, shift, rank_shift, ranks_rise, rises, newest_only, begun, must, most = numbers
    kept, seen, behind, far = 0, 0, np.uint64(shift) + TAG_BITS, (np.int64(1) << reach) - 1
    places = (*_find_addresses(heads, links, times, terms), far)
    timely = _find_timely(times, earliest, latest, begun) if rises else min(len(times), len(links))
    for probe in range(begun, len(hashes)):
        _ask_memory(heads, links, hashes, probe, behind, first, places, timely)
        tag, row = _find_head(heads, hashes[probe], shift, first)
        kept_before, seen_before = kept, seen
        while row >= 0 and (known[probe] if len(known) else 1):
            if row >= len(links):
                return OUTSIDE, OUTSIDE, OUTSIDE
            own = np.int64(links[row])
            if (own ^ tag) <= far and (row < before[probe] if len(before) else 1):
                early = times[row] < earliest[probe] if row < timely and len(earliest) else False
                outranked = ranks[row] < before[probe] + rank_shift if len(ranks) else False
                if (outranked and ranks_rise) or (early and rises):
                    break
                late = times[row] > latest[probe] if row < timely and len(latest) else False
                inside = 1 - (outranked or early or late)
                if kept == len(at):
                    is_over = probe > begun or (seen > most and probe > must)
                    return (kept_before, probe, seen_before) if is_over else (FULL, FULL, FULL)
                at[kept], rows[kept] = probe, row
                passes = agrees(terms, row, probe) & (alive[row] if len(alive) else 1) & inside
                kept, seen = kept + passes, seen + inside
                if passes and newest_only:
                    break
            row = row - (own & far) if own & far else -1
        if seen > most and probe > must:
            return kept_before, probe, seen_before
        _turn(rows, kept_before, kept - 1)
    return kept, len(hashes), seen
