"""Tuples, each with a row that it may join, and what candidates are held against.

These are the keys themselves, the order of arrival, the windows and verdicts, which are numbers that a kernel compares;
then keys that may have faults, values whose hashes may agree by chance, and all other conditions that can be asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from eddy.kernels.arguments import NO_BOUNDS, Screen, Term
from eddy.operators.conditions import JoinPair, Pattern, Side, evaluate
from eddy.operators.index.catalog import Candidates
from eddy.operators.index.time_bounds import are_exact, make_bounds
from eddy.operators.keys import Key, compare_values
from eddy.operators.stem import Stem
from eddy.predicates.judge import Judged
from eddy.query import Range
from eddy.tuples import Tuples
from eddy.tuples.arrays import FaultCodes, Integers, KeyCodes, Mask, RowIds
from eddy.tuples.event_time import Ticks, age
from eddy.tuples.request import TimeBounds
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


class Search(NamedTuple):
    """Tuples, and the candidates that were `found` for them.

    `codes` are those of its comparisons. `before` has for each tuple the id below which the target's rows had come when
    it arrived, and `bounds` the times between which they must be; None for all rows.
    """

    tuples: Tuples
    pattern: Pattern
    codes: Sequence[KeyCodes]
    before: RowIds | None
    bounds: TimeBounds | None
    found: Candidates


class Verifier:
    """Knows what rows of one input must be like to join with tuples."""

    def __init__(self, target: str, stems: Mapping[str, Stem]) -> None:
        self._target = target
        self._stems = stems
        self._stem = stems[target]
        self._window = _window_length(self._stem)
        self.has_exact_bounds = are_exact(self._stem.ticks, [_window_length(stem) for stem in stems.values()])

    def find_bounds(self, tuples: Tuples) -> TimeBounds | None:
        """Say when rows must have happened to be inside their windows, with the rows of each tuple."""
        windows = self._find_windows(tuples)
        if windows is None:
            return None
        return make_bounds(self._read_ticks(windows, tuples), list(windows.values()), self._window)

    def _find_windows(self, tuples: Tuples) -> Mapping[str, WindowLength] | None:
        """Find the windows of the streams that tuples span; None if no time is asked for."""
        if not self._stem.timed:
            return None
        windows = {name: _window_length(self._stems[name]) for name in tuples.ids if self._stems[name].timed}
        return None if all(window is None for window in (*windows.values(), self._window)) else windows

    def _read_ticks(self, windows: Mapping[str, WindowLength], tuples: Tuples) -> list[Ticks]:
        return [self._stems[name].ticks.take(tuples.ids[name]) for name in windows]

    def make_screen(self, search: Search) -> Screen:
        """Say what numbers say of candidates: codes, ids, times and verdicts."""
        stem, pattern, before = self._stem, search.pattern, search.before
        equal = pattern.equalities if pattern.equalities and not pattern.faulty else ()
        ordered = [one for one in pattern.orders if not any(side.key.faulty for side in one.sides.values())]
        bounds = search.bounds if self.has_exact_bounds else None
        return Screen(
            terms=[
                *self._make_terms(equal, search.tuples, search.codes if equal else ()),
                *self._make_terms(ordered, search.tuples, read_codes(self._target, ordered, search.tuples)),
            ],
            # Each combination is found once, by its last row.
            before=before,
            ranked=None if before is None else stem.ranked,
            times=None if bounds is None else stem.ticks,
            bounds=NO_BOUNDS if bounds is None else bounds,
            alive=stem.alive if stem.dead else None,
            stored=len(stem),
        )

    def _make_terms(self, pairs: Sequence[JoinPair], tuples: Tuples, codes: Sequence[KeyCodes]) -> list[Term]:
        """Say how codes must compare. A row without a key matches nothing, whatever code stands there."""
        return [
            Term(
                pair.ops[self._target],
                *pair.sides[self._target].key.stored,
                wanted,
                (other := pair.other(self._target)).key.valid(tuples.ids[other.input]),
            )
            for pair, wanted in zip(pairs, codes, strict=True)
        ]

    def judge(self, pattern: Pattern, tuples: Tuples, pairs: Pairs) -> Pairs:
        """Keep what agrees in what no kernel asks: keys that may have faults, and times that are fractions."""
        for e in pattern.equalities if pattern.faulty else ():
            own, other = e.sides[self._target], e.other(self._target)
            judged = judge_codes(own.key, pairs.rows, other.key, tuples.ids[other.input].take(pairs.at))
            pairs = pairs.keep(judged.passed).with_faults(judged)
        mask = None if self.has_exact_bounds else self._mask_timely(tuples, pairs.at, pairs.rows)
        pairs = pairs if mask is None else pairs.keep(mask)
        # Rows without a key are among the candidates by their faults, and in an index of several keys by the others.
        return pairs.by_row() if pattern.faulty else pairs

    def verify(self, pattern: Pattern, tuples: Tuples, pairs: Pairs) -> Pairs:
        """Keep those that join by values and residuals; where one has no answer, with its fault."""
        for e in pattern.equalities:
            if not e.sides[self._target].key.exact:
                # Hashes may agree by chance.
                own, other = e.sides[self._target], e.other(self._target)
                pairs = pairs.keep(
                    mask_equal(self._stems, own, pairs.rows, other, tuples.ids[other.input].take(pairs.at))
                )
        for residual in pattern.residuals:
            held = {name: ids.take(pairs.at) for name, ids in tuples.ids.items() if name in residual.inputs}
            judged = residual.holds(self._stems, {**held, self._target: pairs.rows}, len(pairs.at))
            pairs = pairs.keep(judged.passed).with_faults(judged)
        return pairs

    def _mask_timely(self, tuples: Tuples, at: RowIds, rows: RowIds) -> Mask | None:
        """Mask the rows with which all are inside their windows."""
        windows = self._find_windows(tuples)
        if windows is None:
            return None
        ticks = self._read_ticks(windows, tuples)
        return mask_inside(ticks, list(windows.values()), at, self._stem.ticks.take(rows), self._window)


def read_codes(target: str, pairs: Sequence[JoinPair], tuples: Tuples) -> list[KeyCodes]:
    """Read the codes that tuples ask a target for, by some conditions."""
    others = [one.other(target) for one in pairs]
    return [side.key.codes(tuples.ids[side.input]) for side in others]


def _window_length(stem: Stem) -> int | float | None:
    return stem.window.ticks if isinstance(stem.window, Range) else None
