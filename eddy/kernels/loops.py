"""The loops that are compiled. Each must do what the function of its name in `plain` does.

They are compiled as they are imported, for one kind of arguments each, or read from where they were kept the last time.
A place that is outside of its array ends a loop, which then says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit, types

from eddy.kernels.addresses import prefetch, read_byte, read_signed, read_unsigned, read_whole

AHEAD = 16
"""Probes before its turn at which memory is asked for what one will read."""

OUTSIDE = -1
"""What a loop gives that would have read behind the end of an array."""

OPS = {"=": 0b010, "<": 0b001, "<=": 0b011, ">": 0b100, ">=": 0b110}
"""How a row's code may compare with that of a tuple: a bit each for less, equal and more."""

COLUMN, TABLE = types.int64[::1], types.int64[:, ::1]


def read_only(kind: Any, dimensions: int = 1) -> Any:
    """Stand for arrays that a loop does not write to, and that may be Arrow's own memory."""
    return types.Array(kind, dimensions, "C", readonly=True)


INTEGERS, FLAGS, LINES = read_only(types.int64), read_only(types.boolean), read_only(types.int64, 2)


SOURCES = ("addresses.py", "loops.py", "chain_loops.py")
"""The files that loops are made of: what is kept of a loop knows its own file only, and calls what is in the others."""


def name_sources() -> str:
    """Name the sources as they are, so that what was kept of others is not used."""
    try:
        texts = [Path(__file__).with_name(name).read_bytes() for name in SOURCES]
    except OSError:  # in a zip, where nothing is kept either
        return ""
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]


NAME = name_sources()


def compile_for(signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a loop, and keep it on disk where there is a place for that."""

    def compile_loop(loop: Callable[..., Any]) -> Callable[..., Any]:
        loop.__qualname__ += f"_{NAME}"
        try:
            return njit(signature, cache=True)(loop)
        except RuntimeError:  # no folder that can be written to
            return njit(signature)(loop)

    return compile_loop


@compile_for(types.boolean(types.uint32[::1], types.uint32[::1], types.uint32[::1]))
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


# The columns of a part in `look_up`.
NUMBER, BEGIN, FREE, FIELDS, BEGINS, BEGINS_SIZE, BEGINS_COUNT, ORDER, ORDER_SIZE, ORDER_COUNT, TIMES, TIMES_COUNT = (
    range(12)
)
FIELD = 12
"""The first column of the first field; each has three."""


# Numbers are taken from tables one by one: a row of a table that is taken as an array costs as much as ten of them.
@njit()
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


@njit()
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


@njit()
def _add_bits(parts: Any, part: int, hashes: Any, probe: int, code: int) -> int:
    """Add the bits of the second field and the next ones to a probe's code."""
    for field in range(1, parts[part, FIELDS]):
        place = FIELD + 3 * field
        kept = hashes[parts[part, place], probe] >> np.uint64(parts[part, place + 1])
        code |= np.int64(kept) << parts[part, place + 2]
    return code


@njit()
def _narrow(parts: Any, part: int, within: Any, earliest: Any, latest: Any, probe: int, run: Any) -> Any:
    """Leave out of a run what is out of a probe's bounds, if that is to spare it enough rows."""
    start, stop = run
    least, newest, least_saved = within
    if (stop - start) * _estimate_outside(least, newest, earliest, latest, probe) < least_saved:
        return start, stop
    if len(earliest):
        start = _find_time(parts, part, start, stop, earliest[probe], 0)
    if len(latest) and start != OUTSIDE:
        stop = _find_time(parts, part, start, stop, latest[probe], 1)
    return start, stop


_EXTENTS, _HASHES = read_only(types.float64, 2), read_only(types.uint64, 2)
_BY_PROBE = types.Tuple((INTEGERS,) * 4)


@compile_for(types.boolean(LINES, _EXTENTS, _HASHES, _BY_PROBE, types.float64, TABLE, TABLE, COLUMN))
def look_up(  # noqa: C901, PLR0915  one pass
    parts: Any, extents: Any, hashes: Any, by_probe: Any, least_saved: float, starts: Any, counts: Any, found: Any
) -> bool:
    """Write where each probe's run starts in each part, and how many rows it has; count those with rows."""
    earliest, latest, first_part, last_part = by_probe
    # Numbers that are read from a table inside of a loop that writes are read again each time: so they are read before.
    for part in range(len(parts)):
        number, begin, ahead = parts[part, NUMBER], parts[part, BEGIN], 1 << parts[part, FREE]
        order, wide = parts[part, ORDER], parts[part, ORDER_SIZE]
        several, rising, rows = parts[part, FIELDS] > 1, parts[part, TIMES] != 0, parts[part, ORDER_COUNT]
        begins, size, places = parts[part, BEGINS], parts[part, BEGINS_SIZE], parts[part, BEGINS_COUNT]
        field, drop, shift = parts[part, FIELD], np.uint64(parts[part, FIELD + 1]), parts[part, FIELD + 2]
        within, some = (extents[part, 0], extents[part, 1], least_saved), 0
        for probe in range(len(starts)):
            slot = number
            if len(first_part):
                if not first_part[probe] <= number < last_part[probe]:
                    continue
                slot -= first_part[probe]
            code = np.int64(hashes[field, probe] >> drop) << shift
            later = hashes[field, min(probe + AHEAD, len(starts) - 1)]
            prefetch(begins, size * (np.int64(later >> drop) << shift))
            if several:
                code = _add_bits(parts, part, hashes, probe, code)
            if slot >= starts.shape[1] or not 0 <= code < code + ahead < places:
                return False
            start, stop = read_unsigned(begins, size, code), read_unsigned(begins, size, code + ahead)
            if not start <= stop <= rows:
                return False
            if rising and stop - start >= least_saved:
                start, stop = _narrow(parts, part, within, earliest, latest, probe, (start, stop))
                if not 0 <= start <= stop:
                    return False
            starts[probe, slot], counts[probe, slot] = start + begin, stop - start
            some += stop > start
            prefetch(order, wide * start)
        found[part] = some
    return True


# The columns of a lot, and of a term, in `screen`.
LOT_BEGIN, LOT_FIRST, LOT_ROWS, LOT_SIZE, LOT_COUNT = range(5)
OP, OWN, OWN_SIZE, VALID, WANTED = range(5)


@njit()
def _find_stop(counts: Any, first: int, most: int) -> Any:
    """Find up to which tuple, from a first one on, there are so many candidates, and how many; one tuple at least."""
    stop, total = first, 0
    while stop < len(counts):
        own = 0
        for slot in range(counts.shape[1]):
            own += counts[stop, slot]
        if stop > first and total + own > most:
            break
        stop, total = stop + 1, total + own
    return stop, total


@njit()
def _find_lot(lots: Any, start: int) -> int:
    """Find the lot in which a run is."""
    lot = len(lots) - 1
    while lot > 0 and lots[lot, LOT_BEGIN] > start:
        lot -= 1
    return lot


@njit(inline="always")
def agrees(terms: Any, row: int, probe: int) -> int:
    """Tell whether a row's codes compare with those of a tuple as asked."""
    agrees = 1
    for term in range(len(terms)):
        own, wanted = read_signed(terms[term, OWN], terms[term, OWN_SIZE], row), read_whole(terms[term, WANTED], probe)
        agrees &= terms[term, OP] >> (1 + (own > wanted) - (own < wanted))
        if terms[term, VALID]:
            agrees &= read_byte(terms[term, VALID], row)
    return agrees


@njit()
def _expand(starts: Any, counts: Any, lots: Any, known: Any, part: Any, at: Any, rows: Any) -> int:
    """Spell out the candidates of tuples that have a code, and count them."""
    (begun, stop, stored), listed = part, 0
    for probe in range(begun, stop):
        if len(known) and not known[probe]:
            continue
        for slot in range(counts.shape[1]):
            count, start = counts[probe, slot], starts[probe, slot]
            lot = _find_lot(lots, start)
            first, held, size = lots[lot, LOT_FIRST], lots[lot, LOT_ROWS], lots[lot, LOT_SIZE]
            start -= lots[lot, LOT_BEGIN]
            if count and (start < 0 or start + count > lots[lot, LOT_COUNT]):
                return OUTSIDE
            for place in range(start, start + count):
                row = first + (read_unsigned(held, size, place) if held else place)
                if not 0 <= row < stored:
                    return OUTSIDE
                at[listed], rows[listed] = probe, row
                listed += 1
    return listed


_RESULT = types.Tuple((COLUMN, COLUMN, types.int64, types.int64))
BY_TUPLE = types.Tuple((FLAGS, INTEGERS, INTEGERS, INTEGERS))
BY_ROW = types.Tuple((INTEGERS, INTEGERS, FLAGS))


@compile_for(_RESULT(LINES, LINES, LINES, LINES, BY_TUPLE, BY_ROW, types.UniTuple(types.int64, 4)))
def screen(starts: Any, counts: Any, lots: Any, terms: Any, by_tuple: Any, by_row: Any, numbers: Any) -> Any:
    """Spell out the candidates of tuples from a first one on, and keep those that pass.

    An array of no length stands for what need not be asked.
    """
    (known, before, earliest, latest), (times, ranks, alive), (shift, stored, begun, most) = by_tuple, by_row, numbers
    stop, total = _find_stop(counts, begun, most)
    at, rows = np.empty(total, np.int64), np.empty(total, np.int64)
    listed, kept = _expand(starts, counts, lots, known, (begun, stop, stored), at, rows), 0
    # Whether a candidate passes is as good as chance, so there is no jump: each is written down, and the next one over
    # it unless it has passed.
    for place in range(listed):
        probe, row, ahead = at[place], rows[place], rows[min(place + AHEAD, listed - 1)]
        for term in range(len(terms)):
            prefetch(terms[term, OWN], terms[term, OWN_SIZE] * ahead)
        passes = agrees(terms, row, probe) & (row < before[probe] if len(before) else 1)
        if len(times):
            prefetch(times.ctypes.data, 8 * ahead)
            passes &= not len(earliest) or times[row] >= earliest[probe]
            passes &= not len(latest) or times[row] <= latest[probe]
        if len(ranks):
            passes &= ranks[row] >= before[probe] + shift
        if len(alive):
            passes &= alive[row]
        at[kept], rows[kept] = probe, row
        kept += passes
    return at[:kept], rows[:kept], stop, total if listed >= 0 else OUTSIDE


# The columns of a part of a cache, and of one of its inputs, in `propose`.
PART_BEGIN, PART_COUNT, NEWEST, DEADLINE, ROWS = range(5)
GONE, STORED, BEFORE, ALIVE = range(4)


_PROPOSED = types.Tuple((COLUMN, COLUMN, TABLE, types.int64, types.int64))


# As in `screen` there is no jump: each combination is written down, and the next one over it unless it has passed.
@compile_for(_PROPOSED(LINES, LINES, LINES, LINES, types.Tuple((INTEGERS, INTEGERS)), types.UniTuple(types.int64, 2)))
def propose(  # noqa: C901  one pass
    starts: Any, counts: Any, parts: Any, inputs: Any, by_tuple: Any, numbers: Any
) -> Any:
    """Spell out the combinations of tuples from a first one on, and keep those that pass."""
    (newest, deadline), (begun, most), kept = by_tuple, numbers, 0
    stop, total = _find_stop(counts, begun, most)
    at, places, ids = np.empty(total, np.int64), np.empty(total, np.int64), np.empty((len(inputs), total), np.int64)
    for probe in range(begun, stop):
        for part in range(len(parts)):
            begin, count = parts[part, PART_BEGIN], counts[probe, part]
            newests, deadlines = parts[part, NEWEST], parts[part, DEADLINE]
            first = starts[probe, part] - begin
            if count and (first < 0 or first + count > parts[part, PART_COUNT]):
                return at, places, ids, stop, OUTSIDE
            for place in range(first, first + count):
                passes = 1
                if newests:
                    passes &= read_whole(newests, place) <= deadline[probe]
                if deadlines:
                    passes &= read_whole(deadlines, place) >= newest[probe]
                for n in range(len(inputs)):
                    row, before = read_whole(parts[part, ROWS + n], place) - inputs[n, GONE], inputs[n, BEFORE]
                    if row >= inputs[n, STORED]:
                        return at, places, ids, stop, OUTSIDE
                    passes &= row >= 0
                    if before:
                        passes &= row < read_whole(before, probe)
                    if inputs[n, ALIVE] and row >= 0:
                        passes &= read_byte(inputs[n, ALIVE], row)
                    ids[n, kept] = row
                at[kept], places[kept] = probe, begin + place
                kept += passes
    return at, places, ids, stop, kept
