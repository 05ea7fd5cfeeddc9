"""Chains in numpy: all tuples take their next step together, so it takes as many as the longest chain has rows."""

from __future__ import annotations

from functools import reduce

import numpy as np

from eddy.errors import EngineError
from eddy.kernels.arguments import Chain, Screen, Screened, Walk
from eddy.kernels.masks import mask_term
from eddy.tuples.arrays import Integers, Mask, RowIds, Tags

TAG_BITS = np.uint64(32)

IN_CHAIN = np.uint32(1)
"""The bit of a tag that says that its row is in a chain."""

BROKEN = (
    "kernels: walk: expected chains that begin with a row that is there, got one that is not; "
    "the rows and their chains do not fit each other, so go on from the last snapshot"
)


def link(chain: Chain, tags: Tags, begin: int) -> None:
    """Put rows into chains from an id on, by their tags."""
    heads, links, first, _ = chain
    links[begin : begin + len(tags)] = _write_rest(chain, tags)
    rows, heads_of, starts = _group(tags, chain.shift)
    # Rows of one head stand side by side, by id; each has the one before it, and the first of them the head's row.
    #
    #     head of  2 2 5     row  1 4 0     older  h 1 h
    numbers = rows + (begin + first)
    older = np.where(starts, heads.take(heads_of), np.roll(numbers, 1))
    links[rows + begin] |= np.where(older >= first, numbers - older, 0).astype(np.uint32)
    # Of several numbers for one head the last is the newest.
    heads[heads_of] = numbers


def unlink(chain: Chain, tags: Tags, begin: int) -> None:
    """Take rows out of chains from an id on, by their tags."""
    rows, heads_of, starts = _group(tags, chain.shift)
    oldest = rows[starts]
    distances = _read_distances(chain, oldest + begin)
    numbers = oldest + (begin + chain.first) - distances
    chain.heads[heads_of[starts]] = np.where(distances > 0, numbers, 0)


def _write_rest(chain: Chain, tags: Tags) -> Tags:
    """Write how tags go on behind the bits of their heads, as links have it."""
    rest: Tags = tags << np.uint32(32 - chain.shift) & ~np.uint32((1 << chain.reach) - 1)
    return rest


def _read_distances(chain: Chain, rows: RowIds) -> RowIds:
    """Read how far before some rows the next older ones stand."""
    return chain.links.take(rows).astype(np.int64) & ((1 << chain.reach) - 1)


def _group(tags: Tags, shift: int) -> tuple[RowIds, Integers, Mask]:
    """List the rows in chains by head and number, with their heads; says with which rows a head begins."""
    rows = np.flatnonzero(tags & IN_CHAIN)
    heads_of = (tags.take(rows) >> np.uint32(shift)).astype(np.int64)
    order = np.argsort(heads_of, kind="stable")
    heads_of = heads_of.take(order)
    return rows.take(order), heads_of, np.append(True, heads_of[1:] != heads_of[:-1])[: len(rows)]


def walk(walk: Walk, asked: Screen, first: int, most: int, newest_only: bool) -> Screened:
    """Follow the chains of tuples from a first one on, and keep what passes."""
    tags = (walk.hashes >> TAG_BITS).astype(np.uint32) | IN_CHAIN
    known = [term.known for term in asked.terms if term.known is not None]
    at = np.arange(first, len(tags))
    at = at[np.logical_and.reduce(known)[at]] if known else at
    rows = walk.chain.heads.take(tags.take(at) >> np.uint32(walk.chain.shift)).astype(np.int64) - walk.chain.first
    tags = _write_rest(walk.chain, tags)
    counts, found = np.zeros(len(tags), np.int64), [(np.empty(0, np.int64), np.empty(0, np.int64))]
    while len(at):
        there = rows >= 0
        at, rows = at[there], rows[there]
        older, alike = _read_links(walk.chain, rows, tags.take(at))
        inside, past = _compare_age(asked, at, rows, rises=walk.rises)
        seen = alike & inside
        counts += np.bincount(at[seen], minlength=len(tags))
        passed = seen & _mask_passed(asked, at, rows)
        found.append((at[passed], rows[passed]))
        left = ~((alike & past) | (passed if newest_only else np.False_))
        at, rows = at[left], older[left]
    return _cut(found, counts, first, most)


def _read_links(chain: Chain, rows: RowIds, tags: Tags) -> tuple[RowIds, Mask]:
    """Give the next older row of each, below 0 if there is none, and which rows have the tags."""
    if (rows >= len(chain.links)).any():
        raise EngineError(BROKEN)
    distances = _read_distances(chain, rows)
    alike = chain.links.take(rows) >> np.uint32(chain.reach) == tags >> np.uint32(chain.reach)
    return np.where(distances > 0, rows - distances, -1), alike


def _compare_age(asked: Screen, at: RowIds, rows: RowIds, *, rises: bool) -> tuple[Mask, Mask]:
    """Mask the rows that had come before the tuples and are inside the windows; and those behind which none is."""
    inside, past = np.ones(len(at), np.bool_), np.zeros(len(at), np.bool_)
    if asked.before is not None:
        before = asked.before.take(at)
        inside &= rows < before
        if asked.ranked is not None:
            outranked = asked.ranked.ranks.take(rows) < before + asked.ranked.shift
            past |= (inside & outranked) if asked.ranked.rises else np.False_
            inside &= ~outranked
    if asked.times is not None:
        (earliest, latest), times = asked.bounds, asked.times.take(rows)
        if earliest is not None:
            early = times < earliest.take(at)
            past |= (inside & early) if rises else np.False_
            inside &= ~early
        if latest is not None:
            inside &= times <= latest.take(at)
    return inside & ~past, past


def _mask_passed(asked: Screen, at: RowIds, rows: RowIds) -> Mask:
    masks = [mask_term(term, at, rows) for term in asked.terms]
    masks += [] if asked.alive is None else [asked.alive.take(rows)]
    return reduce(np.logical_and, masks) if masks else np.ones(len(at), np.bool_)


def _cut(found: list[tuple[RowIds, RowIds]], counts: Integers, first: int, most: int) -> Screened:
    """Give what the first tuples have found, by tuple and row: so many that there are not too many candidates."""
    stop = first + max(int(np.searchsorted(np.cumsum(counts[first:]), most, side="right")), 1)
    at, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((rows, at))
    order = order[: int(np.count_nonzero(at < stop))]
    return Screened(at.take(order), rows.take(order), min(stop, len(counts)), int(counts[first:stop].sum()))
