"""Finds combinations of stored rows for keys, or with some rows in them, by the indexes of the inputs.

Everything that a tuple has a say in is left to whoever looks combinations up: which rows had come by then, windows,
verdicts. What is left out here joins nobody: codes that differ, times that no window holds together, rows that a filter
has failed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eddy.kernels.arguments import NO_BOUNDS, Screen, Term
from eddy.kernels.plain import COMPARE
from eddy.operators.cache.scope import CacheKey, Scope
from eddy.operators.conditions import JoinPair
from eddy.operators.index.catalog import Candidates
from eddy.operators.keys import Key
from eddy.operators.pairs import mask_equal, mask_inside
from eddy.operators.stem import Stem
from eddy.query import Range
from eddy.tuples.arrays import KeyCodes, Mask, RowIds, Valid
from eddy.tuples.request import Request
from eddy.tuples.runs import scan_all


class Frontier(NamedTuple):
    """Combinations that are being found: where each comes from, and its rows of the inputs that it has."""

    at: RowIds
    ids: Mapping[str, RowIds]

    def take(self, rows: RowIds) -> Frontier:
        """Give the combinations at some places."""
        return Frontier(self.at.take(rows), {name: ids.take(rows) for name, ids in self.ids.items()})

    def keep(self, mask: Mask) -> Frontier:
        """Keep some of them."""
        return self if mask.all() else self.take(np.flatnonzero(mask))


class Agreement(NamedTuple):
    """What a row of an input must agree in: its key, the code for each combination, and which of these have one."""

    own: Key
    codes: KeyCodes
    known: Valid


class InputSearch(NamedTuple):
    """Where one more input has candidates for combinations, and what they are held against."""

    stem: Stem
    found: Candidates
    asked: Screen

    def read(self, first: int, most: int) -> tuple[RowIds, RowIds, int]:
        """Give the candidates from a combination on: combinations by place, each with a row, and up to which those are.

        They are at most so many, or of a single combination.
        """
        catalog = self.stem.catalog
        seen = catalog.screen(self.found, self.asked, first, most)
        catalog.note_matches(self.found.served, seen.rows)
        return seen.at, seen.rows, seen.stop


class Finder:
    """Extends combinations by one more input."""

    def __init__(self, scope: Scope, key: CacheKey, stems: Mapping[str, Stem]) -> None:
        self._scope, self._key, self._stems = scope, key, stems
        # What agrees in all combinations that are ever asked for: without it inputs that only others connect would be
        # gone through whole.
        self._equalities = [*scope.equalities, *key.list_alike()]

    def order(self, start: Collection[str], *, keyed: bool) -> list[str]:
        """Put the other inputs in order: those first that an index finds by what is known by then."""
        known, order = set(start), list[str]()
        own = {side.input for side in self._key.sides} if keyed else set[str]()
        while left := [name for name in self._scope.inputs if name not in known]:
            reached = {name for e in self._equalities if known & e.sides.keys() for name in e.sides}
            ordered = {name for o in self._scope.orders if known & o.sides.keys() for name in o.sides}
            order.append(min(left, key=lambda name: (name not in reached, name not in own, name not in ordered)))
            known.add(order[-1])
        return order

    def find(self, target: str, frontier: Frontier, codes: Sequence[KeyCodes]) -> InputSearch:
        """Find the candidates of each combination in one more input; `codes` are those of its key, if that is known."""
        stem, agreements = self._stems[target], self._list_agreements(target, frontier, codes)
        asked = Screen(
            terms=[Term("=", *own.stored, wanted, known) for own, wanted, known in agreements],
            before=None,
            ranked=None,
            times=None,
            bounds=NO_BOUNDS,
            alive=stem.alive if stem.dead else None,
            stored=len(stem),
        )
        wanted = {stem.catalog.number(own): code for own, code, _ in reversed(agreements)}
        if not wanted:
            return InputSearch(stem, self._find_by_order(target, frontier), asked)
        request = Request({number: wanted[number] for number in sorted(wanted)})
        return InputSearch(stem, stem.catalog.walk(request) or stem.catalog.find(request), asked)

    def _find_by_order(self, target: str, frontier: Frontier) -> Candidates:
        """Find candidates by a comparison, where no equality finds them."""
        stem = self._stems[target]
        for one in self._list_linked(self._scope.orders, target, frontier):
            own, other = one.sides[target], one.other(target)
            number, codes = stem.catalog.number(own.key), other.key.codes(frontier.ids[other.input])
            return stem.catalog.find(Request({}, number, [(one.ops[target], codes)]))
        return Candidates(scan_all(len(frontier.at), len(stem)), ())

    def join(self, target: str, frontier: Frontier, candidates: tuple[RowIds, RowIds]) -> Frontier:
        """Extend combinations by those of the candidates that may join with them."""
        at, rows = candidates
        made = Frontier(frontier.at.take(at), {name: ids.take(at) for name, ids in frontier.ids.items()})
        made = Frontier(made.at, {**made.ids, target: rows})
        made = made.keep(self._mask_ordered(target, made))
        made = made.keep(self._mask_timely(target, made))
        return self._keep_equal(target, made)

    def _mask_ordered(self, target: str, made: Frontier) -> Mask:
        """Mask the rows that compare as asked; null compares with nothing."""
        rows = made.ids[target]
        mask: Mask = np.ones(len(rows), np.bool_)
        for one in self._list_linked(self._scope.orders, target, made):
            own, other = one.sides[target].key, one.other(target)
            mask &= COMPARE[one.ops[target]](own.codes(rows), other.key.codes(made.ids[other.input]))
            for side, ids in ((own, rows), (other.key, made.ids[other.input])):
                present = side.valid(ids)
                mask = mask if present is None else mask & present
        return mask

    def _mask_timely(self, target: str, made: Frontier) -> Mask:
        """Mask the combinations whose rows are inside of their windows among themselves."""
        # The newest time of a tuple with these rows is theirs or a later one: what is outside already stays outside.
        streams = [name for name in made.ids if name != target and self._stems[name].timed]
        if not streams or not self._stems[target].timed:
            return np.ones(len(made.at), np.bool_)
        spans = [window.ticks if isinstance(window := self._stems[n].window, Range) else None for n in streams]
        own = self._stems[target].window
        ticks = [self._stems[name].ticks.take(made.ids[name]) for name in streams]
        times = self._stems[target].ticks.take(made.ids[target])
        return mask_inside(ticks, spans, np.arange(len(times)), times, own.ticks if isinstance(own, Range) else None)

    def _keep_equal(self, target: str, made: Frontier) -> Frontier:
        """Keep the combinations whose values are equal, where codes are hashes."""
        for one in self._list_linked(self._scope.equalities, target, made):
            own, other = one.sides[target], one.other(target)
            if not own.key.exact:
                made = made.keep(mask_equal(self._stems, own, made.ids[target], other, made.ids[other.input]))
        return made

    def _list_agreements(self, target: str, frontier: Frontier, codes: Sequence[KeyCodes]) -> list[Agreement]:
        """List what rows of an input must agree in with the key, and with the rows that are there."""
        found = [
            Agreement(own, codes[place].take(frontier.at), None) for place, own in self._key.list_own(target) if codes
        ]
        for one in self._list_linked(self._scope.equalities if codes else self._equalities, target, frontier):
            # Null equals nothing, whatever code stands there.
            other = one.other(target)
            ids = frontier.ids[other.input]
            found.append(Agreement(one.sides[target].key, other.key.codes(ids), other.key.valid(ids)))
        return found

    def _list_linked(self, pairs: Sequence[JoinPair], target: str, frontier: Frontier) -> list[JoinPair]:
        return [one for one in pairs if target in one.sides and one.other(target).input in frontier.ids]
