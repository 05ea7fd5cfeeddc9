"""Sieves: filters that follow each other, asked in one loop over the numbers of the rows that are left.

What a route means is worked out once: which filters stand at its head. Then a step is a call of a filter with some row
numbers, and tuples are made again only of what has come through:

    route   f g probe_b        sieve   f g        rows  [0 1 2 3]  f  [0 2 3]  g  [3]  ->  a tuple, before probe_b

Nothing between two filters of a sieve may want to know of the tuples themselves: no policy that listens, no trail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from eddy.contracts import Clock, FaultCodes, Hop, RowIds, Statistic
from eddy.predicates.judge import Judged
from eddy.tuples.lineage import Memo

Sift = Callable[[RowIds], Judged]
"""Judges rows of the only input that a filter reads, none of which it has judged before."""

NO_SIFTS: Mapping[str, Sift] = {}
"""Those of a query whose filters remember what they said of rows, since these are stored."""

SHORTEST = 2
"""Filters of a sieve at least: one by itself is a step as any other."""


class Survivors(NamedTuple):
    """What has come through some filters: ids and faults, what each step did, and the seconds beside them."""

    ids: RowIds
    faults: FaultCodes | None
    steps: Sequence[Statistic]
    own: float


class Sieves:
    """The sieves at the heads of a query's routes."""

    def __init__(self, sifts: Mapping[str, Sift], clock: Clock) -> None:
        self._sifts = sifts
        self._clock = clock
        self._known = Memo(self._find)

    def find(self, route: tuple[Hop, ...]) -> tuple[Sift, ...]:
        """Find the filters at the head of a route that can be asked in one loop; () where they are too few."""
        return self._known[route]

    def _find(self, route: tuple[Hop, ...]) -> tuple[Sift, ...]:
        head = [self._sifts[hop.operator] for hop in takewhile(lambda hop: hop.operator in self._sifts, route)]
        return tuple(head) if len(head) >= SHORTEST else ()

    def sift(self, sieve: Sequence[Sift], ids: RowIds) -> Survivors:
        """Ask the filters of a sieve, until no row is left, or one has a fault: who goes on has to know of it."""
        clock, steps, faults, worked = self._clock, list[Statistic](), None, 0.0
        rows, begun = len(ids), clock()
        for sift in sieve:
            started = clock()
            passed, faults, skipped, reused = sift(ids)
            kept = passed.nonzero()[0]
            left = len(kept)
            # Where all pass they are the same rows, and a store that knows them as all of its own gathers nothing.
            if left < rows:
                ids = ids.take(kept)
            seconds = clock() - started
            steps.append(Statistic(rows, rows, left, seconds, skipped, reused))
            rows, worked = left, worked + seconds
            if faults is not None:
                faults = faults.take(kept)
                break
            if not rows:
                break
        return Survivors(ids, faults, steps, clock() - begun - worked)
