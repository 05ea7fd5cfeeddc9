"""The loops that are compiled. Each must do what the function of its name in `plain` does.

They are compiled as they are imported, for one kind of arguments each, or read from where they were kept the last time.
A place that is outside of its array ends a loop, which then says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from eddy.kernels.addresses import read_byte, read_signed, read_unsigned, read_whole

OUTSIDE = -1
"""What a loop gives that would have read behind the end of an array."""

EQUAL, LESS, AT_MOST, GREATER, AT_LEAST = range(5)
"""How a row's code is to compare with that of a tuple."""

COLUMN, TABLE = types.int64[::1], types.int64[:, ::1]


def _compiled(signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a loop, and keep it on disk where there is a place for that."""

    def compile_loop(loop: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return njit(signature, cache=True)(loop)
        except RuntimeError:  # no folder that can be written to
            return njit(signature)(loop)

    return compile_loop


@_compiled(types.boolean(types.uint32[::1], types.uint32[::1], types.uint32[::1]))
def sort_codes(codes: Any, order: Any, begins: Any) -> bool:
    """Write the order of codes, and where each begins."""
    #     codes 2 0 3 0      counted, one place further     [0 2 0 1 1]   added up   [0 2 2 3 4]
    #                        rows put where those of their code go, which moves it   [2 2 3 4 4]
    for place in range(len(codes)):
        if codes[place] + 1 >= len(begins):
            return False
        begins[codes[place] + 1] += 1
    for code in range(1, len(begins)):
        begins[code] += begins[code - 1]
    for place in range(len(codes)):
        order[begins[codes[place]]] = place
        begins[codes[place]] += 1
    for code in range(len(begins) - 1, 0, -1):
        begins[code] = begins[code - 1]
    begins[0] = 0
    return True


# The columns of a part in `look_up`; behind them stand three for each field.
NUMBER, BEGIN, FREE, FIELDS, BEGINS, BEGINS_SIZE, BEGINS_COUNT, ORDER, ORDER_SIZE, ORDER_COUNT, TIMES, TIMES_COUNT = (
    range(12)
)
FIRST_FIELD = 12


# Numbers are taken from tables one by one: a row of a table that is taken as an array costs as much as ten of them.
@njit(inline="always")
def _find_time(parts: Any, part: int, low: int, high: int, bound: int, after: int) -> int:
    """Find where a run reaches a time, or is past it: by halves."""
    order, size, times, count = (
        parts[part, ORDER],
        parts[part, ORDER_SIZE],
        parts[part, TIMES],
        parts[part, TIMES_COUNT],
    )
    while low < high:
        middle = (low + high) >> 1
        row = read_unsigned(order, size, middle)
        if row >= count:
            return OUTSIDE
        time = read_whole(times, row)
        if time < bound or (after and time == bound):
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _estimate_outside(least: float, newest: float, earliest: Any, latest: Any, probe: int) -> float:
    """Estimate the share of a part's rows that is out of a probe's bounds."""
    length = newest - least
    if not 0.0 < length < np.inf:
        return 1.0
    share = 0.0
    if len(earliest):
        share += min(max((np.float64(earliest[probe]) - least) / length, 0.0), 1.0)
    if len(latest):
        share += min(max((newest - np.float64(latest[probe])) / length, 0.0), 1.0)
    return share


_EXTENTS = types.float64[:, ::1]


@_compiled(types.boolean(TABLE, _EXTENTS, COLUMN, COLUMN, types.float64, COLUMN, COLUMN, TABLE, TABLE, COLUMN))
def look_up(
    parts: Any,
    extents: Any,
    earliest: Any,
    latest: Any,
    least_saved: float,
    first_part: Any,
    last_part: Any,
    starts: Any,
    counts: Any,
    found: Any,
) -> bool:
    """Write where each probe's run starts in each part, and how many rows it has; count those with rows."""
    for part in range(len(parts)):
        begins, size, places = parts[part, BEGINS], parts[part, BEGINS_SIZE], parts[part, BEGINS_COUNT]
        rows, rising, ahead = parts[part, ORDER_COUNT], parts[part, TIMES] != 0, 1 << parts[part, FREE]
        for probe in range(len(starts)):
            slot = parts[part, NUMBER]
            if len(first_part):
                if not first_part[probe] <= slot < last_part[probe]:
                    continue
                slot -= first_part[probe]
            code = 0
            for field in range(FIRST_FIELD, FIRST_FIELD + 3 * parts[part, FIELDS], 3):
                kept = np.uint64(read_whole(parts[part, field], probe)) >> np.uint64(parts[part, field + 1])
                code |= np.int64(kept) << parts[part, field + 2]
            if slot >= starts.shape[1] or not 0 <= code < code + ahead < places:
                return False
            start, stop = read_unsigned(begins, size, code), read_unsigned(begins, size, code + ahead)
            if not start <= stop <= rows:
                return False
            if rising and stop - start >= least_saved:
                share = _estimate_outside(extents[part, 0], extents[part, 1], earliest, latest, probe)
                if (stop - start) * share >= least_saved:
                    if len(earliest):
                        start = _find_time(parts, part, start, stop, earliest[probe], 0)
                    if len(latest) and start != OUTSIDE:
                        stop = _find_time(parts, part, start, stop, latest[probe], 1)
                    if start == OUTSIDE or stop == OUTSIDE:
                        return False
            starts[probe, slot] = start + parts[part, BEGIN]
            counts[probe, slot] = stop - start
            found[part] += stop > start
    return True


# The columns of a lot, and of a term, in `screen`.
LOT_BEGIN, LOT_FIRST, LOT_ROWS, LOT_SIZE, LOT_COUNT = range(5)
OP, OWN, OWN_SIZE, VALID, WANTED = range(5)


@njit(inline="always")
def _count_taken(counts: Any, most: int) -> tuple[int, int]:
    """Count the first tuples that have few enough candidates together, but at least one, and those candidates."""
    taken = total = 0
    for probe in range(len(counts)):
        own = 0
        for slot in range(counts.shape[1]):
            own += counts[probe, slot]
        if taken and total + own > most:
            break
        taken += 1
        total += own
    return taken, total


@njit(inline="always")
def _agrees(terms: Any, row: int, probe: int) -> bool:
    """Tell whether a row's codes compare with those of a tuple as asked."""
    for number in range(len(terms)):
        own = read_signed(terms[number, OWN], terms[number, OWN_SIZE], row)
        other = read_whole(terms[number, WANTED], probe)
        op, valid = terms[number, OP], terms[number, VALID]
        if op == EQUAL:
            holds = own == other
        elif op == LESS:
            holds = own < other
        elif op == AT_MOST:
            holds = own <= other
        elif op == GREATER:
            holds = own > other
        else:
            holds = own >= other
        if not holds or (valid and not read_byte(valid, row)):
            return False
    return True


_RESULT = types.Tuple((COLUMN, COLUMN, types.int64, types.int64))


@_compiled(_RESULT(TABLE, TABLE, types.int64, TABLE, TABLE, types.boolean[::1], *[COLUMN] * 3, *[types.int64] * 5))
def screen(
    starts: Any,
    counts: Any,
    most: int,
    lots: Any,
    terms: Any,
    known: Any,
    before: Any,
    earliest: Any,
    latest: Any,
    ranks: int,
    shift: int,
    times: int,
    alive: int,
    stored: int,
) -> tuple[Any, Any, int, int]:
    """Spell out the candidates of the first tuples, and keep those that pass."""
    taken, total = _count_taken(counts, most)
    at, rows = np.empty(total, np.int64), np.empty(total, np.int64)
    kept = 0
    for probe in range(taken):
        for slot in range(counts.shape[1]):
            count = counts[probe, slot]
            if not count:
                continue
            number = len(lots) - 1
            while number > 0 and lots[number, LOT_BEGIN] > starts[probe, slot]:
                number -= 1
            first, held, size = lots[number, LOT_FIRST], lots[number, LOT_ROWS], lots[number, LOT_SIZE]
            start = starts[probe, slot] - lots[number, LOT_BEGIN]
            if start < 0 or start + count > lots[number, LOT_COUNT]:
                return at[:0], rows[:0], taken, OUTSIDE
            if len(known) and not known[probe]:
                continue
            for place in range(start, start + count):
                row = first + (read_unsigned(held, size, place) if held else place)
                if not 0 <= row < stored:
                    return at[:0], rows[:0], taken, OUTSIDE
                if not _agrees(terms, row, probe):
                    continue
                if len(before):
                    if row >= before[probe] or (ranks and read_whole(ranks, row) < before[probe] + shift):
                        continue
                if times:
                    time = read_whole(times, row)
                    if (len(earliest) and time < earliest[probe]) or (len(latest) and time > latest[probe]):
                        continue
                if alive and not read_byte(alive, row):
                    continue
                at[kept] = probe
                rows[kept] = row
                kept += 1
    return at[:kept], rows[:kept], taken, total
