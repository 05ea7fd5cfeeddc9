"""Exhaustive legs: every hop of a route sees every tuple, whatever the others do.

A probe that a tuple is not ready for by itself follows its path: the probes of the route that it needs, and no others.
Then it counts the joined tuples along that path, as if the path were one operator: the logical filter of Babu's thesis
(section 5.2.3), which drops a tuple of which nothing is left at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eddy.contracts import NOTHING, Counts, Leg, Statistic
from eddy.routing.aside import Step
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.arrays import FaultCodes, Integers, Mask, RowIds
from eddy.tuples.lineage import Machine

NO_HOPS: tuple[Hop, ...] = ()

MOST_ALONG_PATH = 1 << 12
"""Joined tuples that are counted along a path for one tuple; there may be more. Whether it is dropped is known from the
first, and a fan-out of thousands is told from one of hundreds: what a hot key makes of a path need not be counted."""


class Exhausted(NamedTuple):
    """What an exhaustive leg has found, hop by hop, and the tuples that no filter dropped.

    `last` is the hop that these have not gone through yet, if any.
    """

    counts: Sequence[Counts]
    statistics: Sequence[Statistic]
    passed: Tuples
    last: tuple[Hop, ...]


class PathEnd:
    """A probe at the end of a path, and those that need it."""

    def __init__(self, hop: Hop, rows: int) -> None:
        self.hop = hop
        self.counts: Integers = np.zeros(rows, np.int64)
        self.statistic = NOTHING
        self.below: dict[str, PathEnd] = {}

    def find_open(self) -> Mask:
        """Mask the tuples for which something is still to be counted, here or below."""
        is_open: Mask = self.counts < MOST_ALONG_PATH
        for end in self.below.values():
            is_open |= end.find_open()
        return is_open


class HopCounts(NamedTuple):
    """The outputs of a hop for every tuple, as counts.

    `faults` are those of the tuples that passed it, if it is a filter.
    """

    counts: Counts
    statistic: Statistic
    faults: FaultCodes | None


class Exhaustion:
    """Runs the hops of a leg, each on every tuple."""

    def __init__(self, machine: Machine, step: Step) -> None:
        self._machine, self._step = machine, step

    def run(self, tuples: Tuples, leg: Leg) -> Exhausted:
        """Run every hop on every tuple.

        Tuples that no filter drops go on, through the last probe that is ready if any. Other probes only count:
        keeping their finds would mean joining tuples that a filter drops.
        """
        # `tuples` stay all of them here, so that every hop sees the same ones; `passed` alone shrinks.
        onward, last, passed = tuples.lineage, NO_HOPS, np.ones(len(tuples), np.bool_)
        ends, roots = self._grow(leg.route, tuples.lineage, len(tuples))
        taken: dict[Hop, HopCounts] = {}
        for hop in leg.route:
            if hop in ends:
                continue
            taken[hop] = counted = self._count(hop, tuples, roots.get(hop.operator))
            if self._machine.adds(hop.operator):
                last = (hop,)
            else:
                passed &= counted.counts.astype(np.bool_)
                tuples = tuples.with_faults(counted.faults, counted.counts.nonzero()[0])
                onward = self._machine.after(onward, hop.operator)
        for hop, end in ends.items():
            taken[hop] = HopCounts(np.minimum(end.counts, MOST_ALONG_PATH), end.statistic, None)
        return Exhausted(
            [taken[hop].counts for hop in leg.route],
            [taken[hop].statistic for hop in leg.route],
            tuples.take(np.flatnonzero(passed)).with_lineage(onward),
            last,
        )

    def _grow(self, route: Sequence[Hop], lineage: Lineage, rows: int) -> tuple[dict[Hop, PathEnd], dict[str, PathEnd]]:
        """Grow the tree of all paths: the probes at the end of one, by hop, and those at the start, by operator."""
        # Paths that begin alike go there together:
        #
        #     c, d need b; e needs b, d      ->      b  -  c
        #                                               \  d  -  e
        ends: dict[Hop, PathEnd] = {}
        roots: dict[str, PathEnd] = {}
        for place, hop in enumerate(route):
            if self._machine.may_act(lineage, hop.operator):
                continue
            below = roots
            for one in self._machine.find_path(lineage, route[:place], hop):
                ends[hop] = below.setdefault(one.operator, PathEnd(one, rows))
                below = ends[hop].below
        return ends, roots

    def _count(self, hop: Hop, tuples: Tuples, root: PathEnd | None) -> HopCounts:
        """Run a hop on every tuple, for its counts and faults alone, and whoever needs it on what it makes."""
        parts: list[Counts] = []
        statistic, begun, faults = NOTHING, 0, None
        # A probe stops after a bounded number of candidates; the counts of its parts are put together.
        while begun < len(tuples):
            outcome, taken = self._step(hop, tuples.rest(begun) if begun else tuples)
            parts.append(outcome.counts)
            statistic += taken
            # Only probes act in parts. Their results are not kept here, and so neither are the faults of these.
            faults = outcome.tuples.faults if len(outcome.counts) == len(tuples) else None
            if root is not None:
                at = np.repeat(np.arange(begun, begun + len(outcome.counts)), outcome.counts)
                self._count_below(root, outcome.tuples, at, tuples.lineage)
            begun += len(outcome.counts)
        return HopCounts(join_counts(parts), statistic, faults)

    def _count_below(self, end: PathEnd, made: Tuples, at: RowIds, lineage: Lineage) -> None:
        """Count what the probes below one make of its tuples; `at` is where each comes from."""
        onward = self._machine.after(lineage, end.hop.operator)
        for other in end.below.values():
            self._count_along(other, made.with_lineage(onward), at)

    def _count_along(self, end: PathEnd, tuples: Tuples, at: RowIds) -> None:
        """Count what comes out of a probe, part by part, and all that comes of a part before the next."""
        while len(tuples):
            is_open = end.find_open().take(at)
            if not is_open.all():
                tuples, at = tuples.take(np.flatnonzero(is_open)), at[is_open]
                continue
            outcome, taken = self._step(end.hop, tuples)
            end.statistic += taken
            acted = len(outcome.counts)
            np.add.at(end.counts, at[:acted], outcome.counts)
            if end.below:
                self._count_below(end, outcome.tuples, np.repeat(at[:acted], outcome.counts), tuples.lineage)
            tuples, at = tuples.rest(acted), at[acted:]


def join_counts(counts: Sequence[Counts]) -> Counts:
    """Join the counts of a step's parts; only probes act in parts."""
    return counts[0] if len(counts) == 1 else np.concatenate([part.astype(np.int64) for part in counts])
