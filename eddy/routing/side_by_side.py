"""Walks several legs side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from eddy.contracts import Counts, Leg
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.arrays import RowIds
from eddy.tuples.tuples import merge

Onward = Callable[[Lineage, str], Lineage]
"""The lineage of a tuple once an operator has acted on it."""

Reads = Callable[[Lineage, str], frozenset[str]]
"""The inputs of a tuple that an operator reads."""

Hears = Callable[[Lineage, int, Tuples], None]
"""Hears what a step has made of so many tuples of a lineage."""

MOST_TOGETHER = 1 << 18
"""Tuples that may walk side by side: as many as one step of a probe may make. Those that a step has made beyond that
go to their end before the others go on."""


class LegWalk(NamedTuple):
    """Some tuples of a leg, and what is left of its route."""

    tuples: Tuples
    leg: Leg
    route: tuple[Hop, ...]


class SharedStep(NamedTuple):
    """The tuples of some legs that take a step together.

    They stand one leg's after the other's, `rows` of each, and span what the operator reads.
    """

    tuples: Tuples
    legs: tuple[Leg, ...]
    rows: tuple[int, ...]

    def cut(self, begun: int, end: int) -> SharedStep:
        """Cut the tuples out that stand from one place to another."""
        if end - begun == len(self.tuples):
            return self
        ends = np.cumsum(self.rows)
        rows = np.minimum(ends, end) - np.maximum(ends - self.rows, begun)
        some = np.flatnonzero(rows > 0).tolist()
        return SharedStep(
            self.tuples.first(end).rest(begun), tuple(self.legs[n] for n in some), tuple(rows[some].tolist())
        )


class Stepping(NamedTuple):
    """The legs that take the step that is under way.

    `rows` is how many tuples each has in it, and `inputs` what these have rows of.
    """

    numbers: list[int]
    rows: list[int]
    inputs: Collection[str]


class SideBySide:
    """The tuples of several legs, and the rest of their routes.

    Those whose next hop is the same operator take that step together: it is called once for all of them, and not once
    for each class. Tuples that span different inputs go together where the operator reads the same of all of them.
    """

    def __init__(self, parts: Sequence[tuple[Leg, Tuples]], onward: Onward, reads: Reads, hears: Hears) -> None:
        self._onward, self._reads, self._hears = onward, reads, hears
        # Lists have an entry for each leg. One with no tuples left is under way no more; its entry stays, so that legs
        # keep their numbers.
        self._legs = [leg for leg, _ in parts]
        self._left = [leg.route for leg, _ in parts]
        self._tuples = [tuples for _, tuples in parts]
        self._waiting = [len(tuples) for _, tuples in parts]
        self._stepping = Stepping([], [], ())

    def __len__(self) -> int:
        """Count the legs that are under way."""
        return len(self._find_legs())

    def is_crowd(self, taken: int, made: int) -> bool:
        """Tell whether a step makes more tuples of some than may be held beside all others."""
        return made > taken and sum(self._waiting) - taken + made > MOST_TOGETHER

    def step(self) -> tuple[Hop, SharedStep]:
        """Begin the next step, with all legs that can take it together.

        The next call must be `go_on`, or `split`.
        """
        wanted: dict[tuple[Hop, frozenset[str]], list[int]] = {}
        for n in self._find_legs():
            hop = self._left[n][0]
            wanted.setdefault((hop, self._reads(self._tuples[n].lineage, hop.operator)), []).append(n)
        hop, read = self._choose(wanted) if len(wanted) > 1 else next(iter(wanted))
        numbers = wanted[hop, read]
        rows = [self._waiting[n] for n in numbers]
        if len(numbers) == 1:
            (n,) = numbers
            self._stepping = Stepping(numbers, rows, self._tuples[n].ids)
            return hop, SharedStep(self._tuples[n], (self._legs[n],), tuple(rows))
        parts = [self._tuples[n] for n in numbers]
        # The lineage stands for all of them; of one that spans more, an operator knows that rows may come twice.
        lineage = max((part.lineage for part in parts), key=lambda lineage: len(lineage.spans))
        is_alike = all(part.lineage.spans == lineage.spans for part in parts)
        inputs = lineage.spans if is_alike else read | {lineage.origin}
        # `go_on` needs to know whose tuples the counts are about.
        self._stepping = Stepping(numbers, rows, inputs)
        together = merge(parts if is_alike else [part.only(inputs) for part in parts]).with_lineage(lineage)
        return hop, SharedStep(together, tuple(self._legs[n] for n in numbers), tuple(rows))

    def _choose(self, wanted: Mapping[tuple[Hop, frozenset[str]], Sequence[int]]) -> tuple[Hop, frozenset[str]]:
        """Choose the step that no other leg wants soon.

        Of several it is the one that most tuples wait for.
        """
        # An operator that another leg comes to soon waits for it, and is called once for both:
        #
        #     fabc, abcf      f first: then a b c for both, and f again, 5 calls; a first: 7 calls
        routes = [self._left[n] for n in self._find_legs()]
        return max(wanted, key=lambda one: (_find_next(one[0], routes), sum(self._waiting[n] for n in wanted[one])))

    def go_on(self, counts: Counts, made: Tuples) -> list[LegWalk]:
        """Put what a step has made in the place of the tuples that took it.

        Gives the walks that are at their end.
        """
        numbers, rows, inputs = self._stepping
        # What the tuples of a leg have become stands in their order:
        #
        #     rows [2 3]   counts [1 0 2 0 1]   ->   ends [2 5], outs [1 4]: made 0 is of the first, 1 to 3 of the next
        ends = list(accumulate(rows))
        outs = list(accumulate(_sum(counts[begun:end]) for begun, end in pairwise([0, *ends])))
        for n, begun, end, first, last in zip(numbers, [0, *ends], ends, [0, *outs], outs, strict=False):
            own = self._tuples[n]
            lineage = self._onward(own.lineage, self._left[n][0].operator)
            part = made.cut(first, last) if len(numbers) > 1 else made
            if len(own.ids) > len(inputs):
                at = _repeat(counts[begun:end])
                others = {name: ids.take(at) for name, ids in own.ids.items() if name not in inputs}
                part = Tuples(lineage, {**others, **part.ids}, part.faults)
            self._tuples[n], self._waiting[n] = part.with_lineage(lineage), last - first
            self._hears(own.lineage, end - begun, self._tuples[n])
            self._left[n] = self._left[n][1:]
        return self._leave([n for n in numbers if self._waiting[n] and not self._left[n]])

    def leave_behind(self, left: RowIds, refuse: Onward) -> list[LegWalk]:
        """Give the tuples of the step that its operator refused; nothing has come out of them."""
        numbers, rows, _ = self._stepping
        walks, begun = [], 0
        for n, count in zip(numbers, rows, strict=True):
            mine = left[(left >= begun) & (left < begun + count)] - begun
            if len(mine):
                own = self._tuples[n].take(mine)
                refused = own.with_lineage(refuse(own.lineage, self._left[n][0].operator))
                walks.append(LegWalk(refused, self._legs[n], ()))
            begun += count
        return walks

    def split(self, count: int) -> SideBySide:
        """Take the first tuples of the step out, to go on before the others."""
        numbers, rows, inputs = self._stepping
        ahead = copy(self)
        ahead._left, ahead._tuples, ahead._waiting = list(self._left), list(self._tuples), [0] * len(self._legs)
        ahead._stepping = Stepping([], [], inputs)
        for n, own in zip(numbers, rows, strict=True):
            part = min(own, count)
            if part:
                ahead._tuples[n], self._tuples[n] = self._tuples[n].first(part), self._tuples[n].rest(part)
                ahead._waiting[n], self._waiting[n] = part, own - part
                ahead._stepping.numbers.append(n)
                ahead._stepping.rows.append(part)
            count -= part
        return ahead

    def leave(self) -> list[LegWalk]:
        """Give the walks that are under way, to go on alone."""
        return self._leave(self._find_legs())

    def _find_legs(self) -> list[int]:
        return [n for n, rows in enumerate(self._waiting) if rows]

    def _leave(self, numbers: Sequence[int]) -> list[LegWalk]:
        leaving = [LegWalk(self._tuples[n], self._legs[n], self._left[n]) for n in numbers]
        for n in numbers:
            # Nothing but the walk may hold the tuples: it lets go of those that have come to their end.
            self._tuples[n], self._waiting[n] = Tuples(self._tuples[n].lineage, {}), 0
        return leaving


def _find_next(hop: Hop, routes: Sequence[Sequence[Hop]]) -> int:
    """Count the steps until another leg comes to a hop.

    Legs that wait for it already do not count.
    """
    later = [route.index(hop) for route in routes if route[0] != hop and hop in route]
    return min(later, default=sys.maxsize)


def _sum(counts: Counts) -> int:
    return int(np.count_nonzero(counts) if counts.dtype == np.bool_ else counts.sum())


def _repeat(counts: Counts) -> RowIds:
    """List each tuple as often as something came out of it."""
    return counts.nonzero()[0] if counts.dtype == np.bool_ else np.repeat(np.arange(len(counts)), counts)
