"""Kernels in numpy: they are always there, and say what the compiled ones must do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from eddy.kernels.arguments import (
    NO_BOUNDS,
    GiveHashes,
    Kernels,
    Lookup,
    Lookups,
    Narrowing,
    Places,
    Proposed,
    Screen,
    Screened,
    Sieve,
    Term,
)
from eddy.kernels.narrowing import narrow
from eddy.tuples.arrays import Integers, Mask, Numbers, RowIds
from eddy.tuples.runs import Lots, Ranges, find_probes

SHORT = 16
"""Bits of a number that radix sort takes in one pass, ten times as fast as a sort that compares."""

COMPARE = {"=": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def sort_codes(codes: Numbers, bits: int) -> tuple[Integers, Numbers]:
    """Put codes in order, those that are alike as they stand; says also where each begins.

    >>> [part.tolist() for part in sort_codes(np.array([2, 0, 3, 0], np.uint16), 2)]
    [[1, 3, 0, 2], [0, 2, 2, 3, 4]]
    """
    begins = np.zeros((1 << bits) + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=1 << bits), out=begins[1:])
    return order_codes(codes, bits), begins


def order_codes(codes: Numbers, bits: int) -> Integers:
    """Put codes in order; those that are alike stay as they stand."""
    if bits <= SHORT:
        return np.argsort(codes.astype(np.uint16, copy=False), kind="stable")
    # By the last bits first, and then by the first ones: of those that are alike in these, the order stays.
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    return order.take(np.argsort((codes >> SHORT).astype(np.uint16).take(order), kind="stable"))


def look_up(lookups: Lookups, give_hashes: GiveHashes, within: Narrowing, places: Places) -> list[int]:
    """Write down the runs of each probe in each part; counts those with rows, by part."""
    return [_look_into(part, give_hashes, within, places) for part in lookups.parts]


def _look_into(part: Lookup, give_hashes: GiveHashes, within: Narrowing, places: Places) -> int:
    slot, some, _ = find_probes(places.reach, part.number, len(places.starts))
    begins, _, bits, free = part.table
    codes = [(give_hashes(keys)[some] >> np.uint64(drop)).view(np.int64) << shift for keys, drop, shift in bits]
    wanted = reduce(np.bitwise_or, codes)
    first = begins.take(wanted).astype(np.int64)
    counts = begins[1 << free :].take(wanted) - first
    narrow_part(part, within, some, first, counts)
    first += part.begin
    places.starts[some, slot], places.counts[some, slot] = first, counts
    return int(np.count_nonzero(counts))


def narrow_part(part: Lookup, within: Narrowing, some: slice | Integers, first: Integers, counts: Integers) -> None:
    """Leave out of the runs of some probes, in a part, what is out of their bounds."""
    if part.rising is None or within.bounds is NO_BOUNDS:
        return
    long = np.flatnonzero(counts >= within.least_saved)
    if len(long):
        times, least, newest = part.rising
        order, bounds = part.table.order, within.bounds.take(some)
        narrow(first, counts, long, bounds, times, order, (least, newest), within.least_saved)


def screen(ranges: Ranges, asked: Screen, first: int, most: int) -> Screened:
    """Spell out the candidates of tuples from a first one on, and keep those that pass."""
    stop = ranges.find_stop(first, most)
    at, rows = ranges.expand(first, stop)
    candidates = len(at)
    for term in asked.terms:
        at, rows = _keep(at, rows, _mask_term(term, at, rows))
    # Most that agree in their codes pass the rest too, so what is left is taken once.
    living = None if asked.alive is None else asked.alive.take(rows)
    masks = [m for m in (_mask_stood(asked, at, rows), _mask_timely(asked, at, rows), living) if m is not None]
    at, rows = _keep(at, rows, reduce(np.logical_and, masks) if masks else None)
    return Screened(at, rows, stop, candidates)


def _mask_term(term: Term, at: RowIds, rows: RowIds) -> Mask:
    """Mask the pairs of a tuple and a row whose codes compare as asked."""
    mask: Mask = COMPARE[term.op](term.own.take(rows), term.wanted.take(at))
    if term.valid is not None:
        mask &= term.valid.take(rows)
    if term.known is not None:
        mask &= term.known.take(at)
    return mask


def _keep(at: RowIds, rows: RowIds, mask: Mask | None) -> tuple[RowIds, RowIds]:
    if mask is None or mask.all():
        return at, rows
    kept = np.flatnonzero(mask)
    return at.take(kept), rows.take(kept)


def _mask_stood(asked: Screen, at: RowIds, rows: RowIds) -> Mask | None:
    """Mask the rows that stood there when the tuples arrived; a window of rows may have let go of them."""
    if asked.before is None:
        return None
    before = asked.before.take(at)
    mask: Mask = rows < before
    if asked.ranked is not None:
        mask &= asked.ranked.ranks.take(rows) >= before + asked.ranked.shift
    return mask


def _mask_timely(asked: Screen, at: RowIds, rows: RowIds) -> Mask | None:
    if asked.times is None:
        return None
    (earliest, latest), times = asked.bounds, asked.times.take(rows)
    mask = np.ones(len(at), np.bool_) if earliest is None else times >= earliest.take(at)
    return mask if latest is None else mask & (times <= latest.take(at))


def propose(ranges: Ranges, asked: Sieve, first: int, most: int) -> Proposed:
    """Spell out the combinations of tuples from a first one on, and keep those that pass."""
    stop = ranges.find_stop(first, most)
    at, places = ranges.expand(first, stop)
    newest, deadline = [part.newest for part in asked.parts], [part.deadline for part in asked.parts]
    at, places = _keep(at, places, _mask_held(newest, np.less_equal, asked.deadline, at, places))
    at, places = _keep(at, places, _mask_held(deadline, np.greater_equal, asked.newest, at, places))
    ids: list[RowIds] = []
    for number, gone in enumerate(asked.gone):
        rows = _take_held([part.rows[number] for part in asked.parts], places) - gone
        mask = _mask_there(asked, number, at, rows)
        if not mask.all():
            kept = np.flatnonzero(mask)
            at, places, rows, *ids = (column.take(kept) for column in (at, places, rows, *ids))
        ids.append(rows)
    return Proposed(at, places, ids, stop)


def _mask_held(
    columns: Sequence[Integers | None], compare: np.ufunc, wanted: Integers | None, at: RowIds, places: RowIds
) -> Mask | None:
    """Mask the combinations whose times compare with those of their tuples as asked; None where nothing is asked."""
    times = [column for column in columns if column is not None]
    if wanted is None or not times:
        return None
    mask: Mask = compare(_take_held(times, places), wanted.take(at))
    return mask


def _take_held(columns: Sequence[Integers], places: RowIds) -> Integers:
    """Take from the columns of parts as if they stood one behind the other."""
    lots = Lots()
    for column in columns:
        lots.add(column, 0, len(column))
    return lots.take(places)


def _mask_there(asked: Sieve, number: int, at: RowIds, rows: RowIds) -> Mask:
    """Mask the rows of an input that have not left, had come before their tuples, and that no filter has failed."""
    before, alive = asked.before[number], asked.alive[number]
    mask = rows >= 0
    if before is not None:
        mask &= rows < before.take(at)
    if alive is not None:
        # A row that has left is no longer asked about, whatever stands in its place.
        mask &= alive.take(rows, mode="clip")
    return mask


PLAIN = Kernels(
    name="numpy",
    sort_codes=sort_codes,
    look_up=look_up,
    screen=screen,
    propose=propose,
)
