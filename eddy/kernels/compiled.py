"""Kernels that are compiled: what they are given becomes tables of numbers and addresses, with the lengths of all."""

from __future__ import annotations

import numpy as np

from eddy.errors import EngineError
from eddy.kernels import chain_loops, loops, plain
from eddy.kernels.arguments import (
    NO_BOUNDS,
    Chain,
    ChainKernels,
    GiveHashes,
    Kernels,
    Lookup,
    Lookups,
    Narrowing,
    Places,
    Proposed,
    Ranked,
    Screen,
    Screened,
    Sieve,
    Term,
    Walk,
)
from eddy.tuples.arrays import Floats, Integers, Mask, Numbers, Tags
from eddy.tuples.event_time import Ticks
from eddy.tuples.runs import Lots, Ranges, find_probes

Keys = tuple[int, ...]

NONE: Integers = np.empty(0, np.int64)
ALL: Mask = np.empty(0, np.bool_)
NO_LOT = np.zeros((1, 5), np.int64)
NO_TERM = np.zeros((0, 5), np.int64)

FEWEST_FOUND, FOUND_BY_TUPLE = 64, 2
"""Room for rows that tuples find by chains: two each is what most joins find, and what is not used is never touched."""


def sort_codes(codes: Numbers, bits: int) -> tuple[Numbers, Numbers]:
    """Put codes in order, those that are alike as they stand; says also where each begins."""
    order = np.empty(len(codes), np.uint32)
    begins = np.zeros((1 << bits) + 1, np.uint32)
    if not loops.sort_codes(codes.astype(np.uint32, copy=False), order, begins):
        raise _outside("sort_codes")
    return order, begins


def look_up(lookups: Lookups, give_hashes: GiveHashes, within: Narrowing, places: Places) -> list[int]:
    """Write down the runs of each probe in each part; counts those with rows, by part."""
    if not lookups.parts:
        return []
    if lookups.memo is None:
        lookups.memo = _describe_parts(lookups)
    table, extents, keys = lookups.memo
    found = np.zeros(len(table), np.int64)
    hashes = give_hashes(keys[0])[None] if len(keys) == 1 else np.stack([give_hashes(one) for one in keys])
    reach = (NONE, NONE) if places.reach is None else (places.reach.first, places.reach.last)
    bounds = [_whole(one) for one in within.bounds]
    _check_lengths("look_up", len(places.starts), hashes[0], *bounds, *reach)
    if not loops.look_up(
        table, extents, hashes, (*bounds, *reach), within.least_saved, places.starts, places.counts, found
    ):
        raise _outside("look_up")
    counted: list[int] = found.tolist()
    if within.bounds is NO_BOUNDS:
        return counted
    return [_narrow(part, within, places, some) for part, some in zip(lookups.parts, counted, strict=True)]


def _describe_parts(lookups: Lookups) -> tuple[Integers, Floats, list[Keys]]:
    """Write a line for each part, the least and newest times of each, and by which keys there must be hashes."""
    keys = list(dict.fromkeys(bits.keys for part in lookups.parts for bits in part.table.bits))
    lines = [_describe_part(part, keys) for part in lookups.parts]
    # Parts that are searched by fewer hashes than others have shorter lines.
    wide = max(map(len, lines))
    extents = [(0.0, 0.0) if part.rising is None else part.rising[1:] for part in lookups.parts]
    table = np.array([line + [0] * (wide - len(line)) for line in lines], np.int64)
    return table, np.array(extents, np.float64), keys


def _describe_part(part: Lookup, keys: list[Keys]) -> list[int]:
    begins, order, bits, free = part.table
    times = NONE if part.rising is None else _whole(part.rising.times)
    return [
        *(part.number, part.begin, free, len(bits)),
        *(_find(begins), begins.itemsize, len(begins)),
        *(_find(order), order.itemsize, len(order)),
        *(_find(times) if len(times) else 0, len(times)),
        *(number for one in bits for number in (keys.index(one.keys), one.drop, one.shift)),
    ]


def _whole(times: Ticks | None) -> Integers:
    """Give times that are whole numbers; none, where they are fractions."""
    return times.view(np.int64) if times is not None and times.dtype == np.int64 else NONE


def _narrow(part: Lookup, within: Narrowing, places: Places, found: int) -> int:
    """Look for times that are fractions in numpy: few streams have such."""
    if part.rising is None or part.rising.times.dtype == np.int64:
        return found
    slot, some, _ = find_probes(places.reach, part.number, len(places.starts))
    first, counts = places.starts[some, slot] - part.begin, places.counts[some, slot].copy()
    plain.narrow_part(part, within, some, first, counts)
    places.starts[some, slot], places.counts[some, slot] = first + part.begin, counts
    return int(np.count_nonzero(counts))


def screen(ranges: Ranges, asked: Screen, first: int, most: int) -> Screened:
    """Spell out the candidates of tuples from a first one on, and keep those that pass."""
    terms, by_tuple, by_row, (shift, _) = _describe_screen("screen", asked, asked.stored, len(ranges.starts))
    at, rows, stop, candidates = loops.screen(
        np.ascontiguousarray(ranges.starts),
        np.ascontiguousarray(ranges.counts),
        _describe_lots(ranges.rows),
        terms,
        by_tuple,
        by_row,
        (shift, asked.stored, first, most),
    )
    if candidates == loops.OUTSIDE:
        raise _outside("screen")
    if len(at) < candidates >> 1:
        # What is handed on holds all the room that the candidates might have taken.
        at, rows = at.copy(), rows.copy()
    return Screened(at, rows, stop, candidates)


def _describe_screen(
    kernel: str, asked: Screen, stored: int, tuples: int
) -> tuple[Integers, tuple[Numbers, ...], tuple[Numbers, ...], tuple[int, int]]:
    """Give what is asked of candidates: a line for each term, arrays by tuple and by row, and of the ranks."""
    before, (earliest, latest), times = asked.before, asked.bounds, asked.times
    own = [array for term in asked.terms for array in (term.own, term.valid)]
    ranks, shift, rises = Ranked(NONE, 0) if asked.ranked is None or before is None else asked.ranked
    _check_lengths(kernel, stored, *own, times, ranks, asked.alive)
    others = [array for term in asked.terms for array in (term.wanted, term.known)]
    _check_lengths(kernel, tuples, *others, before, earliest, latest)
    terms = np.array([_describe_term(term) for term in asked.terms], np.int64) if asked.terms else NO_TERM
    by_tuple = (_mask_known(asked), *(NONE if one is None else one for one in (before, earliest, latest)))
    by_row = (NONE if times is None else times, ranks, ALL if asked.alive is None else asked.alive)
    return terms, by_tuple, by_row, (shift, int(rises))


def _describe_lots(rows: Lots | Integers) -> Integers:
    """Write a line for each lot of rows."""
    lots = rows if isinstance(rows, Lots) else Lots().followed_by(rows)
    if lots.memo is None:
        lots.memo = np.array([_describe_lot(*lot) for lot in lots.lots], np.int64) if len(lots) else NO_LOT
    described: Integers = lots.memo
    return described


def _describe_lot(begin: int, rows: Numbers | None, first: int, count: int) -> tuple[int, ...]:
    if rows is None:
        return begin, first, 0, 0, count
    return begin, first, _find(rows), rows.itemsize, min(count, len(rows))


def link(chain: Chain, tags: Tags, begin: int) -> None:
    """Put rows into chains from an id on, by their tags."""
    if not chain_loops.link(*chain, tags, begin, _find_shift(chain)):
        raise _outside("link")


def unlink(chain: Chain, tags: Tags, begin: int) -> None:
    """Take rows out of chains from an id on, by their tags."""
    if not chain_loops.unlink(*chain, tags, begin, _find_shift(chain)):
        raise _outside("unlink")


def _find_shift(chain: Chain) -> int:
    """Find how far the bits of heads are from the end of a tag; as many heads as these bits can name must be there."""
    shift = chain.shift
    if len(chain.heads) != 1 << (32 - shift):
        raise _outside("chain")
    return shift


def walk(walk: Walk, asked: Screen, first: int, most: int, newest_only: bool) -> Screened:
    """Follow the chains of tuples from a first one on, and keep what passes."""
    (heads, links, number, reach), hashes, rises = walk
    terms, by_tuple, by_row, (rank_shift, ranks_rise) = _describe_screen("walk", asked, len(links), len(hashes))
    fixed = (number, reach, _find_shift(walk.chain), rank_shift, ranks_rise, int(rises), int(newest_only))
    begun, seen, room = first, 0, FEWEST_FOUND + (len(hashes) - first) * FOUND_BY_TUPLE
    parts = [(NONE, NONE)]
    # How much tuples find is not known before. Where there is no room for a tuple, it is the first one of the next go.
    while begun < len(hashes):
        found = np.empty(room, np.int64), np.empty(room, np.int64)
        numbers = (*fixed, begun, first, most - seen)
        kept, stop, looked = chain_loops.walk(heads, links, hashes, terms, by_tuple, by_row, numbers, found)
        if kept == loops.OUTSIDE:
            raise _outside("walk")
        room *= 2
        if kept != chain_loops.FULL:
            parts.append((found[0][:kept], found[1][:kept]))
            seen += looked
            if stop == begun:
                break
            begun = stop
    at, rows = parts[-1] if len(parts) == 2 else map(np.concatenate, zip(*parts, strict=True))
    return Screened(at, rows, begun, seen)


def _describe_term(term: Term) -> tuple[int, ...]:
    op, own, valid, wanted, _ = term
    return loops.OPS[op], _find(own), own.itemsize, 0 if valid is None else _find(valid), _find(wanted)


def _mask_known(asked: Screen) -> Mask:
    """Mask the tuples that have a code in all comparisons; empty for all of them."""
    known = [term.known for term in asked.terms if term.known is not None]
    return np.logical_and.reduce(known) if known else ALL


def propose(ranges: Ranges, asked: Sieve, first: int, most: int) -> Proposed:
    """Spell out the combinations of tuples from a first one on, and keep those that pass."""
    rows = len(ranges.starts)
    _check_lengths("propose", rows, *asked.before, asked.newest, asked.deadline)
    for alive, stored in zip(asked.alive, asked.stored, strict=True):
        _check_lengths("propose", stored, alive)
    if ranges.starts.shape[1] < len(asked.parts):
        raise _outside("propose")
    inputs = zip(asked.gone, asked.stored, asked.before, asked.alive, strict=True)
    at, places, ids, stop, kept = loops.propose(
        np.ascontiguousarray(ranges.starts),
        np.ascontiguousarray(ranges.counts),
        _describe_held(asked),
        np.array([(gone, stored, _find_some(b), _find_some(a)) for gone, stored, b, a in inputs], np.int64),
        (NONE if asked.newest is None else asked.newest, NONE if asked.deadline is None else asked.deadline),
        (first, most),
    )
    if kept == loops.OUTSIDE:
        raise _outside("propose")
    columns = [column[:kept] for column in (at, places, *ids)]
    if kept < len(at) >> 1:
        columns = [column.copy() for column in columns]
    return Proposed(columns[0], columns[1], columns[2:], stop)


def _describe_held(asked: Sieve) -> Integers:
    """Write a line for each part of a cache."""
    lines, begin = [], 0
    for part in asked.parts:
        count = len(part.rows[0])
        newest = None if asked.deadline is None else part.newest
        deadline = None if asked.newest is None else part.deadline
        _check_lengths("propose", count, *part.rows, newest, deadline)
        lines.append((begin, count, _find_some(newest), _find_some(deadline), *map(_find_some, part.rows)))
        begin += count
    return np.array(lines, np.int64) if lines else np.zeros((0, loops.ROWS), np.int64)


def _find_some(array: Numbers | None) -> int:
    """Find the address of an array with something in it; 0 stands for none."""
    return _find(array) if array is not None and len(array) else 0


def _find(array: Numbers) -> int:
    """Find the address of an array."""
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise EngineError(
            f"kernels: expected numbers side by side at even addresses, got steps of {array.strides[0]} bytes; "
            "set EDDY_KERNELS=numpy"
        )
    address: int = array.__array_interface__["data"][0]
    return address


def _check_lengths(kernel: str, length: int, *arrays: Numbers | None) -> None:
    """Refuse arrays that end before a loop does; those of no length stand for what is not asked."""
    for array in arrays:
        if array is not None and 0 < len(array) < length:
            raise _outside(kernel)


def _outside(kernel: str) -> EngineError:
    return EngineError(
        f"kernels: {kernel}: expected places inside of the arrays that it was given, got one behind their end; "
        "the rows and their indexes do not fit each other, so go on from the last snapshot"
    )


COMPILED = Kernels(
    name="numba",
    sort_codes=sort_codes,
    look_up=look_up,
    screen=screen,
    propose=propose,
    chains=ChainKernels(link, unlink, walk),
)
