"""Kernels that are compiled: what they are given becomes tables of numbers and addresses, with the lengths of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.errors import EngineError
from eddy.kernels import loops, plain
from eddy.kernels.arguments import Kernels, Lookup, Narrowing, Places, Screen, Screened, Term
from eddy.tuples.arrays import Integers, Mask, Numbers
from eddy.tuples.runs import Lots, Ranges, find_probes

OPS = {"=": loops.EQUAL, "<": loops.LESS, "<=": loops.AT_MOST, ">": loops.GREATER, ">=": loops.AT_LEAST}

NONE: Integers = np.empty(0, np.int64)
ALL_KNOWN: Mask = np.empty(0, np.bool_)


def sort_codes(codes: Numbers, bits: int) -> tuple[Numbers, Numbers]:
    """Put codes in order, those that are alike as they stand; says also where each begins."""
    order = np.empty(len(codes), np.uint32)
    begins = np.zeros((1 << bits) + 1, np.uint32)
    if not loops.sort_codes(codes.astype(np.uint32, copy=False), order, begins):
        raise _outside("sort_codes")
    return order, begins


def look_up(parts: Sequence[Lookup], within: Narrowing, places: Places) -> list[int]:
    """Write down the runs of each probe in each part; counts those with rows, by part."""
    if not parts:
        return []
    extents = np.array([(0.0, 0.0) if p.rising is None else p.rising[1:] for p in parts], np.float64)
    found = np.zeros(len(parts), np.int64)
    reach = (NONE, NONE) if places.reach is None else (places.reach.first, places.reach.last)
    earliest, latest = (NONE if one is None or one.dtype != np.int64 else one for one in within.bounds)
    tuplewise = [bits.hashes for part in parts for bits in part.table.bits]
    tuplewise += [one for one in (earliest, latest, *reach) if one is not NONE]
    if len(places.starts) > min(map(len, tuplewise)):
        raise _outside("look_up")
    if not loops.look_up(
        _describe_parts(parts),
        extents,
        earliest,
        latest,
        within.least_saved,
        *reach,
        places.starts,
        places.counts,
        found,
    ):
        raise _outside("look_up")
    counted: list[int] = found.tolist()
    return [_narrow(part, within, places, some) for part, some in zip(parts, counted, strict=True)]


def _describe_parts(parts: Sequence[Lookup]) -> Integers:
    """Write a line for each part; those that have fewer hashes than others end sooner."""
    lines = [_describe_part(part) for part in parts]
    wide = max(map(len, lines))
    return np.array([line + [0] * (wide - len(line)) for line in lines], np.int64)


def _describe_part(part: Lookup) -> list[int]:
    begins, order, bits, free = part.table
    times, count = 0, 0
    if part.rising is not None and part.rising.times.dtype == np.int64:
        times, count = _find(part.rising.times), len(part.rising.times)
    return [
        *(part.number, part.begin, free, len(bits)),
        *(_find(begins), begins.itemsize, len(begins)),
        *(_find(order), order.itemsize, len(order)),
        *(times, count),
        *(number for hashes, drop, shift in bits for number in (_find(hashes), drop, shift)),
    ]


def _narrow(part: Lookup, within: Narrowing, places: Places, found: int) -> int:
    """Look for times that are fractions in numpy: few streams have such."""
    if part.rising is None or part.rising.times.dtype == np.int64:
        return found
    slot, some, _ = find_probes(places.reach, part.number, len(places.starts))
    first, counts = places.starts[some, slot] - part.begin, places.counts[some, slot].copy()
    plain.narrow_part(part, within, some, first, counts)
    places.starts[some, slot], places.counts[some, slot] = first + part.begin, counts
    return int(np.count_nonzero(counts))


def screen(ranges: Ranges, asked: Screen, most: int) -> Screened:
    """Spell out the candidates of the first tuples, and keep those that pass."""
    lots = ranges.rows if isinstance(ranges.rows, Lots) else Lots().followed_by(ranges.rows)
    ranked, times = asked.ranked, asked.times
    if len(ranges.starts) > min((len(array) for array in _list_tuplewise(asked)), default=len(ranges.starts)):
        raise _outside("screen")
    at, rows, taken, candidates = loops.screen(
        np.ascontiguousarray(ranges.starts),
        np.ascontiguousarray(ranges.counts),
        most,
        np.array([_describe_lot(*lot) for lot in lots.lots] or [[0] * 5], np.int64),
        np.array([_describe_term(term) for term in asked.terms] or [[0] * 5], np.int64)[: len(asked.terms)],
        _mask_known(asked.terms),
        NONE if asked.before is None else asked.before,
        NONE if times is None or asked.bounds.earliest is None else asked.bounds.earliest,
        NONE if times is None or asked.bounds.latest is None else asked.bounds.latest,
        0 if ranked is None else _find(ranked.ranks),
        0 if ranked is None else ranked.shift,
        0 if times is None else _find(times),
        0 if asked.alive is None else _find(asked.alive),
        min([asked.stored, *map(len, _list_rowwise(asked))]),
    )
    if candidates == loops.OUTSIDE:
        raise _outside("screen")
    if len(at) < candidates >> 1:
        # What is handed on holds all the room that the candidates might have taken.
        at, rows = at.copy(), rows.copy()
    return Screened(at, rows, taken, candidates)


def _list_rowwise(asked: Screen) -> list[Numbers]:
    """List the arrays that have something for every row."""
    own = [array for term in asked.terms for array in (term.own, term.valid)]
    others = (asked.times, asked.alive, None if asked.ranked is None else asked.ranked.ranks)
    return [array for array in (*own, *others) if array is not None]


def _list_tuplewise(asked: Screen) -> list[Numbers]:
    """List those that have something for every tuple."""
    own = [array for term in asked.terms for array in (term.wanted, term.known)]
    return [array for array in (*own, asked.before, *asked.bounds) if array is not None]


def _describe_lot(begin: int, rows: Numbers | None, first: int, count: int) -> tuple[int, ...]:
    if rows is None:
        return begin, first, 0, 0, count
    return begin, first, _find(rows), rows.itemsize, min(count, len(rows))


def _describe_term(term: Term) -> tuple[int, ...]:
    valid = 0 if term.valid is None else _find(term.valid)
    return OPS[term.op], _find(term.own), term.own.itemsize, valid, _find(term.wanted)


def _mask_known(terms: Sequence[Term]) -> Mask:
    """Mask the tuples that have a code in all comparisons; empty for all of them."""
    known = [term.known for term in terms if term.known is not None]
    return np.logical_and.reduce(known) if known else ALL_KNOWN


def _find(array: Numbers) -> int:
    """Find the address of an array whose numbers stand side by side."""
    if not array.flags.c_contiguous:
        raise EngineError(f"kernels: expected numbers that stand side by side, got steps of {array.strides[0]} bytes")
    address: int = array.__array_interface__["data"][0]
    return address


def _outside(kernel: str) -> EngineError:
    return EngineError(
        f"kernels: {kernel}: expected places inside of the arrays that it was given, got one behind their end; "
        "the rows and their indexes do not fit each other, so go on from the last snapshot"
    )


COMPILED = Kernels(name="numba", sort_codes=sort_codes, look_up=look_up, screen=screen)
