"""Holds the candidates of a search against what it did not guarantee.

These are the keys themselves, the order of arrival, the windows and verdicts, which are numbers that a kernel compares;
then keys that may have faults, values whose hashes may agree by chance, and all other conditions that can be asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eddy.kernels.arguments import NO_BOUNDS, Ranked, Screen, Term, Walk
from eddy.operators.conditions import JoinPair, Pattern
from eddy.operators.index.counts import Served
from eddy.operators.index.time_bounds import are_exact, make_bounds
from eddy.operators.pairs import Pairs, WindowLength, judge_codes, mask_equal, mask_inside
from eddy.operators.stem import Stem
from eddy.query import Range
from eddy.tuples import Tuples
from eddy.tuples.arrays import KeyCodes, Mask, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import TimeBounds
from eddy.tuples.runs import Ranges


class Search(NamedTuple):
    """Tuples, and where their candidates are.

    `codes` are those of its comparisons. `before` has for each tuple the id below which the target's rows had come when
    it arrived, and `bounds` the times between which they must be; None for all rows.
    """

    tuples: Tuples
    pattern: Pattern
    codes: Sequence[KeyCodes]
    before: RowIds | None
    bounds: TimeBounds | None
    ranges: Ranges
    served: Sequence[tuple[Served, int]]
    walk: Walk | None = None


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
            ranked=Ranked(stem.ranks, stem.rank_shift) if before is not None and stem.has_ranks else None,
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
