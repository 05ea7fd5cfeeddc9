"""Finds the stored rows of one input that tuples may join with.

A search goes by all equalities between its target and the inputs that the tuples span; without any, by an order; and
without that it is a scan. The candidates are then held against everything that the search did not guarantee: the keys
themselves, the order of arrival, the windows, verdicts, and all other conditions that can be asked by now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eddy.kernels.arguments import Screen
from eddy.operators.conditions import Conditions, Pattern, make_pattern
from eddy.operators.index.catalog import Candidates
from eddy.operators.pairs import (
    NO_PAIRS,
    Matches,
    Pairs,
    Search,
    Sifted,
    Verifier,
    join_pairs,
    read_codes,
    spell_out,
    widen,
)
from eddy.operators.stem import Stem
from eddy.tuples import Lineage, Tuples
from eddy.tuples.alike import Alike, Extremes, find_alike, find_extremes
from eddy.tuples.arrays import Hashes, KeyCodes, Mask, RowIds
from eddy.tuples.request import Request, TimeBounds
from eddy.tuples.runs import Ranges, scan_all
from eddy.tuples.splitmix import mix

MOST_CANDIDATES = 1 << 18
"""Candidates that are looked at in one go, and rows that tuples are matched with in one call: a few megabytes, which
stay in the cache, however many rows match."""

SMALLEST_GO, LARGEST_GO = 64, 4
"""A go is a 64th of that at least, so that what the last one looks at in vain is small beside the rest, and a quarter
at most: after each the search may get an index (`index_now`)."""

NO_CANDIDATES = Candidates(scan_all(0, 0))

MOST_TUPLES = 1 << 15
"""Tuples that are looked up in one call: a search notes a place for each of them in each segment that it reaches."""


class Matching:
    """What tuples find among the stored rows of one input."""

    def __init__(self, target: str, stems: Mapping[str, Stem], conditions: Conditions) -> None:
        self.target = target
        self._stems = stems
        self._stem = stems[target]
        self._verifier = Verifier(target, stems)
        self._conditions = conditions
        self._patterns: dict[frozenset[str], Pattern] = {}

    def pattern(self, lineage: Lineage) -> str:
        """Write by which keys tuples of a lineage search."""
        return self._find_pattern(lineage.spans).text

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """Read keys, conditions and, where rows are let go of by time, the times of streams."""
        return self._find_pattern(lineage.spans).reads

    def hash_keys(self, tuples: Tuples) -> Hashes:
        """Hash what tuples search by: alike ones find the same candidates. Those of a scan are all alike."""
        codes = read_codes(self.target, self._find_pattern(tuples.lineage.spans).searched, tuples)
        return mix(codes) if codes else np.zeros(len(tuples), np.uint64)

    def search(self, tuples: Tuples, bounds: TimeBounds | None = None) -> Search:
        """Find the candidates of the first tuples in an index; with bounds of others, those of these."""
        pattern = self._find_pattern(tuples.lineage.spans)
        # Where a tuple may find more than one run in a part, fewer go at a time.
        asked = self._ask(tuples.first(max(MOST_TUPLES // self._stem.catalog.count_runs(pattern.mask), 1)))
        if bounds is not None:
            asked = asked._replace(bounds=bounds.take(slice(len(asked.tuples))))
        return asked._replace(found=self._recall(pattern, asked.tuples) or self._find(asked))

    def _ask(self, tuples: Tuples) -> Search:
        """Say what tuples search by; nothing has been found yet."""
        pattern, origin = self._find_pattern(tuples.lineage.spans), tuples.lineage.origin
        # A row joins what came before it. Of two rows the later one finds the earlier, so no pair is found twice.
        before = self._stem.before(self._stems[origin].arrivals(tuples.ids[origin]))
        codes, bounds = read_codes(self.target, pattern.searched, tuples), self._verifier.find_bounds(tuples)
        return Search(tuples, pattern, codes, before, bounds, NO_CANDIDATES)

    def keep(self, tuples: Tuples, ranges: Ranges, found: RowIds, *, are_own: bool = False) -> None:
        """Keep what some of the tuples have found, for a probe of the same rows.

        The rows of the ranges are an index's, or `are_own`: those that were verified. They may be more than such a
        probe would find, since it verifies them.
        """
        pattern, origin = self._find_pattern(tuples.lineage.spans), tuples.lineage.origin
        # Where other rows of the tuple have a say, or their times, what one finds is not good for all of its row. And
        # where keys cannot be computed, candidates are in another list for every search.
        if pattern.reads <= {origin} and not pattern.faulty and (are_own or pattern.searched):
            rows = self._number(tuples).take(found)
            self._stem.catalog.searches.keep((origin, pattern.terms), rows, ranges.take(found), are_own=are_own)

    def _recall(self, pattern: Pattern, tuples: Tuples) -> Candidates | None:
        """Give what the rows that set tuples off have found before, if that was kept of all of them."""
        searches = self._stem.catalog.searches
        known = searches.find((tuples.lineage.origin, pattern.terms), self._number(tuples)) if searches else None
        return None if known is None else Candidates(known)

    def _number(self, tuples: Tuples) -> RowIds:
        """Number the rows that set tuples off, as they came."""
        return tuples.ids[tuples.lineage.origin] - self._stems[tuples.lineage.origin].fresh

    def match(self, tuples: Tuples) -> Matches:
        """Match the first tuples, up to a bounded number of rows."""
        tuples = tuples.first(MOST_TUPLES)
        pattern = self._find_pattern(tuples.lineage.spans)
        # Where a condition is asked of what is found, tuples that an earlier probe has expanded are matched once for
        # all that search alike. To compare numbers once more is as cheap as to spell out what was found.
        is_dear = pattern.residuals and self._verifier.has_exact_bounds and not pattern.faulty
        alike = find_alike(tuples, pattern.settles) if is_dear else None
        matched = None if alike is None else self._match_alike(tuples, alike)
        return matched or self._match(tuples, MOST_CANDIDATES)[0]

    def _match_alike(self, tuples: Tuples, alike: Alike) -> Matches | None:
        """Match one of each lot of tuples that search alike; None where their times tell them apart."""
        bounds = self._verifier.find_bounds(tuples)
        # As many go at a time as leave room for what their whole lots find.
        most = max(MOST_CANDIDATES * len(alike.begins) // len(tuples), 1)
        (pairs, taken, _), seen = self._match(
            tuples.take(alike.begins), most, None if bounds is None else find_extremes(bounds, alike)
        )
        if not taken:
            return None
        of, counts = alike.spread(taken), np.bincount(pairs.at, minlength=taken)
        of = of[: max(int(np.searchsorted(np.cumsum(counts.take(of)), MOST_CANDIDATES, side="right")), 1)]
        looked_at = np.bincount(join_pairs(seen).at, minlength=taken).take(of).sum()
        return Matches(spell_out(pairs, counts, of), len(of), int(looked_at))

    def _match(self, tuples: Tuples, most: int, extremes: Extremes | None = None) -> tuple[Matches, Sequence[Pairs]]:
        """Match the first tuples, each by itself; gives also what agreed with them in all numbers at hand.

        Of tuples that stand for others none is matched that finds something beyond their extremes.
        """
        # How many candidates there are depends on the layout of indexes, which a restart changes. What is learned must
        # not, nor who goes next: so both go by the rows that agree in all numbers at hand.
        found, seen, taken, evaluated, is_full = [NO_PAIRS], [NO_PAIRS], 0, 0, False
        while taken < len(tuples) and evaluated <= most and not is_full:
            left = None if extremes is None else extremes.rest(taken)
            search = self.search(tuples.rest(taken) if taken else tuples, None if left is None else left.widest)
            sifted = self._sift(search, most - evaluated, at_least=not taken)
            if left is not None and not left.hold(sifted.near.at, self._stem.ticks.take(sifted.near.rows)):
                break
            pairs = self._verifier.verify(search.pattern, search.tuples, sifted.near)
            if search.found.walk is None and not search.found.ranges.ascending:
                pairs = pairs.by_row()
            self._stem.catalog.note_matches(search.found.served, pairs.rows)
            found.append(pairs.shift(taken))
            seen.append(sifted.near.shift(taken))
            taken, evaluated = taken + sifted.taken, evaluated + len(sifted.near.at)
            is_full = sifted.is_full
        return Matches(join_pairs(found), taken, evaluated), seen

    def mask_near(self, search: Search) -> Mask:
        """Mask the tuples with which some row agrees in all numbers at hand."""
        (ranges, served, walk), passed = search.found, np.zeros(len(search.tuples), np.bool_)
        if walk is not None:
            # One is enough, unless more is asked of it than a kernel asks.
            self._mark_near(search, passed, newest_only=self._verifier.has_exact_bounds)
            return passed
        counts = ranges.per_probe()
        # Nearly always the first candidate is right; only where it is not, the others are looked at.
        some = counts > 0
        first = Ranges(
            (np.cumsum(some) - some)[:, None], some[:, None].astype(np.int64), ranges.list_first(some.nonzero()[0])
        )
        self._mark_near(search._replace(found=Candidates(first, served)), passed)
        left = np.where((passed | (counts < 2))[:, None], 0, ranges.counts)
        others = Candidates(Ranges(ranges.starts, left, ranges.rows), served)
        self._mark_near(search._replace(found=others), passed)
        return passed

    def _mark_near(self, search: Search, passed: Mask, *, newest_only: bool = False) -> None:
        """Mark the tuples with which a candidate agrees."""
        for near in self._see_all(search, newest_only=newest_only):
            passed[near.at] = True

    def _see_all(self, search: Search, *, newest_only: bool = False) -> Iterator[Pairs]:
        """Keep of all candidates those that agree in all numbers at hand, a bounded number in each go."""
        asked, done = self._verifier.make_screen(search), 0
        yield NO_PAIRS
        while done < len(search.tuples):
            near, done = self._see(search, asked, done, MOST_CANDIDATES, newest_only=newest_only)
            yield near

    def _see(
        self, search: Search, asked: Screen, first: int, most: int, *, newest_only: bool = False
    ) -> tuple[Pairs, int]:
        """Keep of so many candidates those that agree in all numbers at hand, and say up to which tuple they are."""
        seen = self._stem.catalog.screen(search.found, asked, first, most, newest_only=newest_only)
        return self._verifier.judge(search.pattern, search.tuples, Pairs(seen.at, seen.rows, None)), seen.stop

    def _sift(self, search: Search, most: int, *, at_least: bool) -> Sifted:
        """Find up to so many rows that agree with the first tuples; of one tuple all, if one is to be taken at least.

        A hot key may have more candidates than memory. So no more are looked at in one go than may still agree:

            per tuple  [2 900 1 ...]    total [2 902 903 ...]    903 in a go  ->  tuples 0 to 2, then those from 3 on
        """
        asked = self._verifier.make_screen(search)
        parts, done, left, is_dear = [NO_PAIRS], 0, most, False
        while done < len(search.tuples) and left >= 0 and not is_dear:
            go = min(max(left, MOST_CANDIDATES // SMALLEST_GO), MOST_CANDIDATES // LARGEST_GO)
            near, done = self._see(search, asked, done, go)
            parts.append(near)
            left -= len(near.at)
            is_dear = self._stem.catalog.index_now(search.pattern.mask, most - left)
        found = join_pairs(parts)
        if left < 0:
            done = int(found.at[most]) or int(at_least)
            found = found.first(int(np.searchsorted(found.at, done)))
        return Sifted(found, done, left < 0)

    def check(self, tuples: Tuples, at: RowIds, rows: RowIds) -> RowIds:
        """Give the places of the pairs that join: tuples, by position, each with a row that was found elsewhere."""
        # Each has one candidate: a run of one row.
        ranges = Ranges(np.arange(len(rows))[:, None], np.ones((len(rows), 1), np.int64), rows)
        asked = self._ask(tuples.take(at))._replace(found=Candidates(ranges))
        return self._verifier.verify(asked.pattern, asked.tuples, join_pairs(list(self._see_all(asked)))).at

    def _find_pattern(self, spans: frozenset[str]) -> Pattern:
        found = self._patterns.get(spans)
        if found is None:
            timed = {name for name in spans if self._stem.timed and self._stems[name].timed}
            number = self._stem.catalog.number
            found = self._patterns[spans] = make_pattern(self.target, spans, self._conditions, number, timed)
        return found

    def _find(self, asked: Search) -> Candidates:
        """Find the candidates of every tuple in an index, and say what has served them."""
        tuples, pattern, codes, before, bounds, _ = asked
        if not pattern.searched:
            return Candidates(scan_all(len(tuples), len(self._stem)))
        others = [one.other(self.target) for one in pattern.searched]
        valid = [v for side in others if (v := side.key.valid(tuples.ids[side.input])) is not None]
        if pattern.mask:
            wanted: dict[int, KeyCodes] = {}
            for number, code in zip(pattern.keys, codes, strict=True):
                # Rows of two inputs may have to equal one key: if they do not equal each other, nothing equals both.
                if number in wanted:
                    valid.append(wanted[number] == code)
                wanted.setdefault(number, code)
            request = Request({number: wanted[number] for number in sorted(wanted)})
        else:
            ops = [one.ops[self.target] for one in pattern.orders]
            request = Request({}, pattern.keys[0], list(zip(ops, codes, strict=True)))
        linked = None if pattern.faulty else self._stem.catalog.walk(request, bounds)
        if linked is not None:
            return linked
        ranges, served, _ = self._stem.catalog.find(request, bounds, before)
        # Null equals nothing: a tuple without a key has no candidates, whatever code stands there.
        if valid:
            ranges.counts[~np.logical_and.reduce(valid)] = 0
        if pattern.faulty:
            ranges = widen(ranges, pattern.searched, self.target, tuples, self._stem.alive)
        return Candidates(ranges, served)
