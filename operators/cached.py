"""Joins tuples with several inputs at once, by combinations of rows that are kept for their key.

It follows section 5.4 of Babu's thesis. A cache proposes combinations, and the probes' own checks decide for each
tuple: which rows had come by then, windows, verdicts, the values behind hashes, and all conditions. So a cache can be
wrong in one way only, by leaving a combination out. Where it differs: misses are found by distinct key, all of a step
together, and a function over several inputs of the cache is asked once for a combination, when a tuple needs to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eddy.contracts import Outcome
from eddy.kernels.arguments import HeldPart, Sieve
from eddy.kernels.choice import choose_kernels
from eddy.operators.cache.cache import Cache, Found
from eddy.operators.cache.deadlines import Deadlines
from eddy.operators.cache.room import Caches
from eddy.operators.cache.scope import CacheKey, Scope
from eddy.operators.conditions import Conditions, Residual, Side
from eddy.operators.matching import MOST_CANDIDATES, MOST_TUPLES, Matching
from eddy.operators.stem import Stem
from eddy.predicates.faults import FAIL, PASS, UNKNOWN
from eddy.predicates.judge import Judged
from eddy.query.join_graph import cached_name
from eddy.tuples import Lineage, Tuples
from eddy.tuples.arrays import FaultCodes, Integers, Mask, RowIds
from eddy.tuples.lineage import Rule
from eddy.tuples.runs import Ranges


class View(NamedTuple):
    """A cache as tuples see it that span certain inputs.

    `sides` are theirs, one for each of the cache's key. `checks` holds rows against the tuple, of inputs of which more
    is to be asked than numbers say, and `residuals` are the conditions to ask, each with whether it is about the
    cache's inputs alone.
    """

    cache: Cache
    sides: Sequence[Side]
    checks: Mapping[str, Matching]
    residuals: Sequence[tuple[Residual, bool]]


class Asked(NamedTuple):
    """The first tuples and where the combinations of each are; those that are refused."""

    tuples: Tuples
    ranges: Ranges
    refused: Mask


class Proposed(NamedTuple):
    """Tuples, by position, each with a combination: its place in the store, and its rows."""

    at: RowIds
    places: RowIds
    ids: Mapping[str, RowIds]
    faults: FaultCodes | None

    def keep(self, kept: RowIds) -> Proposed:
        """Keep those at some places."""
        faults = None if self.faults is None else self.faults.take(kept)
        ids = {name: ids.take(kept) for name, ids in self.ids.items()}
        return Proposed(self.at.take(kept), self.places.take(kept), ids, faults)

    def judge(self, judged: Judged) -> Proposed:
        """Keep those that a condition passes, with the faults that it found."""
        kept = self.keep(np.flatnonzero(judged.passed))
        if judged.faults is None:
            return kept
        found = judged.faults[judged.passed]
        return kept._replace(faults=found if kept.faults is None else np.maximum(kept.faults, found))


class Cached:
    """Looks combinations of several inputs up."""

    naming = staticmethod(cached_name)

    def __init__(
        self, inputs: frozenset[str], stems: Mapping[str, Stem], conditions: Conditions, rule: Rule, caches: Caches
    ) -> None:
        self.name = self.naming(inputs)
        self.rule = rule
        self._scope = Scope(inputs, conditions)
        self._stems = stems
        self._deadlines = Deadlines(stems)
        self._whole = {name: Matching(name, stems, conditions) for name in inputs}
        self._caches = caches
        self._by_key: dict[CacheKey, Cache] = {}
        self._views: dict[frozenset[str], View] = {}
        caches.finders[self.name] = self.find_cache

    def pattern(self, lineage: Lineage) -> str:
        """Write by which key tuples of a lineage look combinations up."""
        return self._scope.find_key(lineage.spans)[0].text

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """Read what the probes would read of a tuple before they join anything."""
        found = [matching.reads(lineage) for matching in self._whole.values()]
        found += [residual.inputs for residual, is_own in self._scope.list_residuals(lineage.spans) if not is_own]
        return lineage.spans.intersection(*[frozenset[str]().union(*found)])

    def run(self, tuples: Tuples) -> Outcome:
        """Join the first tuples, up to a bounded number of combinations."""
        if not len(tuples) or self._scope.is_faulty(tuples.lineage.spans):
            return self._refuse(tuples)
        view = self._find_view(tuples.lineage.spans)
        before = view.cache.gauge.seconds
        view.cache.keep_up(self._caches.now)
        upkeep = view.cache.gauge.seconds - before
        asked = self._ask(view, tuples.first(MOST_TUPLES))
        proposed, taken = self._propose(view.cache, asked)
        proposed = self._check(view, asked.tuples, proposed)
        evaluated = len(proposed.at)
        proposed = self._judge(view, asked.tuples, proposed)
        self._caches.fit()
        return self._write(asked, proposed, taken, evaluated)._replace(upkeep=upkeep)

    def _refuse(self, tuples: Tuples) -> Outcome:
        """Refuse all tuples: which rows join with them no index can say."""
        none = tuples.take(np.empty(0, np.int64))
        ids = {**none.ids, **dict.fromkeys(self._scope.inputs, np.empty(0, np.int64))}
        made = Tuples(tuples.lineage, ids, none.faults)
        left = np.arange(len(tuples)) if len(tuples) else None
        return Outcome(made, np.zeros(len(tuples), np.int64), 0, left=left)

    def _find_view(self, spans: frozenset[str]) -> View:
        found = self._views.get(spans)
        if found is None:
            key, sides = self._scope.find_key(spans)
            left = self._scope.find_left(spans)
            found = self._views[spans] = View(
                self._find_cache(key, spans),
                sides,
                {n: Matching(n, self._stems, left) for n in self._scope.inputs if self._is_unsettled(n, left)},
                self._scope.list_residuals(spans),
            )
        return found

    def _is_unsettled(self, name: str, left: Conditions) -> bool:
        """Tell whether more must be asked of an input's rows than that the key is the same, arrival and deadlines."""
        stem = self._stems[name]
        has_more = any(name in pair.sides for pair in (*left.equalities, *left.orders))
        return has_more or stem.ranked is not None or (stem.timed and not self._deadlines.are_exact)

    def find_cache(self, spans: frozenset[str]) -> Cache | None:
        """Find the cache for tuples that span some inputs; none where they come with no key."""
        if not spans <= self._stems.keys() - self.rule.gives or not self._scope.find_key(spans)[0].sides:
            return None
        return self._find_view(spans).cache

    def _find_cache(self, key: CacheKey, spans: frozenset[str]) -> Cache:
        """Find the cache for a key: one for all tuples that come with it, whatever they span."""
        if key not in self._by_key:
            self._by_key[key] = self._make_cache(key)
            self._by_key[key].spans = spans
            self._caches.all.append(self._by_key[key])
        return self._by_key[key]

    def _make_cache(self, key: CacheKey) -> Cache:
        return Cache(self._scope, key, self._stems, self._caches.taps, self._caches.clock)

    def _ask(self, view: View, tuples: Tuples) -> Asked:
        """Look the keys of tuples up."""
        rows = len(tuples)
        ids = [tuples.ids[side.input] for side in view.sides]
        codes = [side.key.codes(of_side) for side, of_side in zip(view.sides, ids, strict=True)]
        valid = [v for side, of_side in zip(view.sides, ids, strict=True) if (v := side.key.valid(of_side)) is not None]
        # Null equals nothing: a tuple without a key finds nothing, whatever code stands there.
        present = np.flatnonzero(np.logical_and.reduce(valid)) if valid else np.arange(rows)
        codes = [code.take(present) for code in codes]
        found = view.cache.look_up(codes, self._caches.now)
        found.ranges.counts[found.refused] = 0
        return _cut(tuples, present, found)

    def _propose(self, cache: Cache, asked: Asked) -> tuple[Proposed, int]:
        """Give the combinations of the first tuples that had come by then and are inside of their windows."""
        tuples, origin = asked.tuples, asked.tuples.lineage.origin
        stems, arrivals = [self._stems[n] for n in self._scope.inputs], self._stems[origin].arrivals(tuples.ids[origin])
        times = self._deadlines.find(tuples.ids)
        sieve = Sieve(
            parts=[HeldPart(list(part.rows.values()), *part.times) for part in cache.store.parts],
            gone=[stem.gone for stem in stems],
            stored=[len(stem) for stem in stems],
            before=[stem.before(arrivals) for stem in stems],
            alive=[stem.alive if stem.dead else None for stem in stems],
            newest=times.newest,
            deadline=times.deadline,
        )
        found = choose_kernels().kernels.propose(asked.ranges, sieve, 0, MOST_CANDIDATES)
        ids = dict(zip(self._scope.inputs, found.ids, strict=True))
        return Proposed(found.at, found.places, ids, None), found.stop

    def _check(self, view: View, tuples: Tuples, proposed: Proposed) -> Proposed:
        """Keep the combinations each of whose rows joins with the tuple, as a probe would say."""
        for name, matching in view.checks.items():
            kept = matching.check(tuples, proposed.at, proposed.ids[name])
            proposed = proposed if len(kept) == len(proposed.at) else proposed.keep(kept)
        return proposed

    def _judge(self, view: View, tuples: Tuples, proposed: Proposed) -> Proposed:
        """Keep the combinations that all conditions pass."""
        number = 0
        for residual, is_own in view.residuals:
            if is_own:
                proposed = proposed.judge(self._recall(view.cache, residual, number, proposed))
                number += 1
            else:
                proposed = proposed.judge(self._ask_apart(residual, tuples, proposed))
        return proposed

    def _recall(self, cache: Cache, residual: Residual, number: int, proposed: Proposed) -> Judged:
        """Give what a condition over the cache's inputs says of combinations; each is asked about once."""
        known = cache.store.read_verdicts(number, proposed.places)
        unknown = np.flatnonzero(known == UNKNOWN)
        if not len(unknown):
            return Judged(known != FAIL, None)
        places, first = np.unique(proposed.places.take(unknown), return_index=True)
        asked = unknown.take(first)
        judged = residual.holds(self._stems, {n: proposed.ids[n].take(asked) for n in residual.inputs}, len(asked))
        verdicts = np.where(judged.passed, np.uint8(PASS), np.uint8(FAIL))
        if judged.faults is not None:
            # What has no answer is asked again, and its faults are those of this micro-batch.
            verdicts[judged.faults > 0] = UNKNOWN
        cache.store.write_verdicts(number, places, verdicts)
        # Where each of the unknown ones stands among those that were asked about.
        answers = np.searchsorted(places, proposed.places.take(unknown))
        passed = known != FAIL
        passed[unknown] = judged.passed.take(answers)
        if judged.faults is None:
            return Judged(passed, None)
        faults = np.zeros(len(known), np.uint8)
        faults[unknown] = judged.faults.take(answers)
        return Judged(passed, faults)

    def _ask_apart(self, residual: Residual, tuples: Tuples, proposed: Proposed) -> Judged:
        """Ask a condition about tuples and rows; where combinations share these rows, once for all of them."""
        own = [name for name in self._scope.inputs if name in residual.inputs]
        first, inverse = _find_distinct([proposed.at, *(proposed.ids[name] for name in own)])
        at = proposed.at.take(first)
        held = {name: ids.take(at) for name, ids in tuples.ids.items() if name in residual.inputs}
        held |= {name: proposed.ids[name].take(first) for name in own}
        judged = residual.holds(self._stems, held, len(first))
        return Judged(judged.passed.take(inverse), None if judged.faults is None else judged.faults.take(inverse))

    def _write(self, asked: Asked, proposed: Proposed, taken: int, evaluated: int) -> Outcome:
        joined = asked.tuples.take(proposed.at)
        made = Tuples(joined.lineage, {**joined.ids, **proposed.ids}, joined.faults).with_faults(proposed.faults)
        left = np.flatnonzero(asked.refused[:taken])
        counts = np.bincount(proposed.at, minlength=taken)
        return Outcome(made, counts, evaluated, left=left if len(left) else None)


def _cut(tuples: Tuples, present: RowIds, found: Found) -> Asked:
    """Give the tuples before the first whose key has to wait; those without a key have no combinations."""
    if len(present) == len(tuples):
        rows = found.end
        return Asked(tuples.first(rows), found.ranges.take(np.arange(rows)), found.refused[:rows])
    rows = int(present[found.end]) if found.end < len(present) else len(tuples)
    some, ranges = present[: found.end], found.ranges
    starts = np.zeros((rows, ranges.starts.shape[1]), np.int64)
    counts, refused = np.zeros_like(starts), np.zeros(rows, np.bool_)
    starts[some], counts[some] = ranges.starts[: found.end], ranges.counts[: found.end]
    refused[some] = found.refused[: found.end]
    return Asked(tuples.first(rows), Ranges(starts, counts, ranges.rows), refused)


def _find_distinct(columns: Sequence[Integers]) -> tuple[RowIds, RowIds]:
    """Find the rows that are the first of their kind, and which of these each row is."""
    order = np.lexsort(columns)
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for column in columns:
        ordered = column.take(order)
        new[1:] |= ordered[1:] != ordered[:-1]
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return order[new], inverse
