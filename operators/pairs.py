"""Tuples, each with a row that it may join, and what their keys and times say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from eddy.operators.conditions import JoinPair, Side, evaluate
from eddy.operators.keys import Key, compare_values
from eddy.operators.stem import Stem
from eddy.predicates.judge import Judged
from eddy.tuples import Tuples
from eddy.tuples.arrays import FaultCodes, Integers, Mask, RowIds
from eddy.tuples.event_time import Ticks, age
from eddy.tuples.runs import Lots, Ranges

WindowLength = int | float | None
"""The length of a stream's window; None if it is not by time."""


class Pairs(NamedTuple):
    """Tuples, by position, each with a row, and their faults."""

    at: RowIds
    rows: RowIds
    faults: FaultCodes | None

    def keep(self, mask: Mask) -> Pairs:
        """Some of the pairs."""
        if mask.all():
            return self
        kept = np.flatnonzero(mask)
        faults = None if self.faults is None else self.faults.take(kept)
        return Pairs(self.at.take(kept), self.rows.take(kept), faults)

    def first(self, count: int) -> Pairs:
        """The first pairs."""
        if count == len(self.at):
            return self
        return Pairs(self.at[:count], self.rows[:count], None if self.faults is None else self.faults[:count])

    def shift(self, tuples: int) -> Pairs:
        """The same pairs, where so many tuples stand before theirs."""
        return self._replace(at=self.at + tuples) if tuples else self

    def by_row(self) -> Pairs:
        """The same pairs, those of each tuple by row and each once: whatever found them, they come out alike."""
        order = np.lexsort((self.rows, self.at))
        at, rows = self.at.take(order), self.rows.take(order)
        order = order[np.append(True, (at[1:] != at[:-1]) | (rows[1:] != rows[:-1]))[: len(order)]]
        faults = None if self.faults is None else self.faults.take(order)
        return Pairs(self.at.take(order), self.rows.take(order), faults)

    def with_faults(self, judged: Judged) -> Pairs:
        """Note the faults that a condition found among these pairs."""
        if judged.faults is None:
            return self
        found = judged.faults[judged.passed]
        return Pairs(self.at, self.rows, found if self.faults is None else np.maximum(self.faults, found))


class Sifted(NamedTuple):
    """The rows that agree with the first tuples of a search in all numbers at hand.

    `taken` is how many tuples those are; `is_full` says that more would have been too many rows.
    """

    near: Pairs
    taken: int
    is_full: bool


class Matches(NamedTuple):
    """The pairs that the first tuples make.

    `taken` is how many tuples those are, and `evaluated` how many rows agreed with them in all numbers at hand.
    """

    pairs: Pairs
    taken: int
    evaluated: int


def spell_out(pairs: Pairs, counts: Integers, of: RowIds) -> Pairs:
    """Give for each tuple what its lot has found: `counts` says how much each lot has, `of` which is whose."""
    lots = Lots()
    lots.add(None, 0, len(pairs.rows))
    starts = np.cumsum(counts) - counts
    at, places = Ranges(starts.take(of)[:, None], counts.take(of)[:, None], lots).expand(0, len(of))
    faults = None if pairs.faults is None else pairs.faults.take(places)
    return Pairs(at, pairs.rows.take(places), faults)


NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), None)


def join_pairs(parts: Sequence[Pairs]) -> Pairs:
    """Put pairs one behind the other; the faults of all of them, if some have any."""
    some = [part for part in parts if len(part.at)]
    if len(some) <= 1:
        return some[0] if some else NO_PAIRS
    faults = None
    if any(part.faults is not None for part in some):
        faults = np.concatenate([np.zeros(len(p.at), np.uint8) if p.faults is None else p.faults for p in some])
    return Pairs(np.concatenate([p.at for p in some]), np.concatenate([p.rows for p in some]), faults)


def mask_inside(
    ticks: Sequence[Ticks], spans: Sequence[WindowLength], at: RowIds, target: Ticks, own: WindowLength
) -> Mask:
    """Mask the candidates with which all rows are inside.

    Each row must be inside its window; the tuples' rows are already, among themselves. `ticks` are the tuples' event
    times, one array for each stream that they span; `target` are the candidates' times, and `at` says to which tuple
    each belongs. With `m` the largest time of all, every row must have `m - time <= span`. For the rows that the
    tuples span that is a bound on `m`, hence one on the candidate's time.
    """
    # latest is each tuple's newest time; `at` spreads it over the candidates:
    #
    #     ticks a [5 9], b [7 2]   latest [7 9]   at [0 0 1]   candidate times [6 8 1]
    #     own window 3:            ages  7-6, 7-8, 9-1  ->  1 0 8  ->  T T F
    latest = reduce(np.maximum, ticks)
    mask = np.ones(len(at), np.bool_)
    if own is not None:
        mask &= age(latest.take(at), target) <= own
    for times, span in zip(ticks, spans, strict=True):
        if span is not None:
            mask &= age(target, times.take(at)) <= span
    return mask


def judge_codes(own: Key, rows: RowIds, other: Key, ids: RowIds) -> Judged:
    """Mask the rows with others' code, or with a fault."""
    own_faults, other_faults = own.faults(rows), other.faults(ids)
    faults = np.maximum(own_faults, other_faults)
    present = (_mask_valid(own, rows) | (own_faults > 0)) & (_mask_valid(other, ids) | (other_faults > 0))
    passed = present & ((faults > 0) | (own.codes(rows) == other.codes(ids)))
    return Judged(passed, faults)


def mask_equal(stems: Mapping[str, Stem], own: Side, rows: RowIds, other: Side, ids: RowIds) -> Mask:
    """Compare the values of rows whose codes match.

    A candidate whose key could not be computed stays one.
    """
    if not (own.key.faulty or other.key.faulty):
        return _compare_sides(stems, own, rows, other, ids)
    # A pair with a fault stays: whether it joins is not known, and that is an error if it comes to its end.
    mask = (own.key.faults(rows) | other.key.faults(ids)).astype(np.bool_)
    known = np.flatnonzero(~mask)
    mask[known] = _compare_sides(stems, own, rows.take(known), other, ids.take(known))
    return mask


def _compare_sides(stems: Mapping[str, Stem], own: Side, rows: RowIds, other: Side, ids: RowIds) -> Mask:
    left = evaluate(own.bound, stems, {own.input: rows}, len(rows))
    return compare_values(left, evaluate(other.bound, stems, {other.input: ids}, len(ids)))


def _mask_valid(key: Key, ids: RowIds) -> Mask:
    valid = key.valid(ids)
    return np.ones(len(ids), np.bool_) if valid is None else valid


def widen(ranges: Ranges, searched: Sequence[JoinPair], target: str, tuples: Tuples, alive: Mask) -> Ranges:
    """Add the candidates that faulty keys make candidates."""
    keys = [one.sides[target].key for one in searched]
    # A row whose key cannot be computed may match anything. So two runs are added for each tuple, behind those found:
    #
    #     rows     [ found by the index ... | stored rows without a key | all rows ]
    #     sound tuple    its own runs         all of these                 none
    #     faulty tuple   none                 none                         all of these
    stored = np.logical_or.reduce([key.faults(np.arange(len(alive))) > 0 for key in keys]) & alive
    others = [one.other(target) for one in searched]
    coming = np.logical_or.reduce([side.key.faults(tuples.ids[side.input]) > 0 for side in others])
    strays = np.flatnonzero(stored)
    found, rows = len(ranges.rows), np.arange(len(alive))
    lots = ranges.rows if isinstance(ranges.rows, Lots) else Lots()
    starts = np.broadcast_to(np.array([found, found + len(strays)]), (len(tuples), 2))
    counts = np.where(coming[:, None], [0, len(rows)], [len(strays), 0])
    return Ranges(
        np.hstack([ranges.starts, starts]),
        np.hstack([np.where(coming[:, None], 0, ranges.counts), counts]),
        lots.followed_by(strays, rows),
    )
