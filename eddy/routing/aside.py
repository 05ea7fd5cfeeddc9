"""Asides: what other hops say of the tuples that a leg has lost.

A leg's steps tell of each operator only what it does to the tuples that come to it. Whoever wants to know how operators
depend on each other needs to know what the others say of those that were dropped. They are asked after the walk, all
legs of a task together, and what comes out is counted and let go of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eddy.contracts import NOTHING, UNSEEN, Counts, Leg, Outcome, Statistic
from eddy.routing.plan_check import NO_ROWS
from eddy.routing.side_by_side import Reads
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.arrays import Integers, RowIds
from eddy.tuples.lineage import Machine
from eddy.tuples.tuples import merge

Step = Callable[[Hop, Tuples], tuple[Outcome, Statistic]]
"""Runs a hop on tuples, and takes note of what that took."""

MOST_LOOKED_AT = 1 << 20
"""Candidates that a probe aside looks at for one task, before it is stopped: some milliseconds. In the walk these
tuples are dropped before they become many, so without an end a hot key would make learning dearer than the answer."""


class Profile(NamedTuple):
    """What the hops of some legs, and those aside, say of the tuples of these legs."""

    legs: tuple[Leg, ...]
    tuples: Tuples
    rows: tuple[int, ...]
    hops: tuple[Hop, ...]
    outcomes: tuple[Integers, ...]
    statistics: tuple[Statistic, ...]


class Trail:
    """What the steps of a leg have done to each of the tuples with which it began."""

    def __init__(self, leg: Leg, tuples: Tuples, is_own: Sequence[bool]) -> None:
        self.leg, self.tuples = leg, tuples
        self.outcomes: Integers = np.full((len(leg.route), len(tuples)), UNSEEN)
        # `is_own` says for each place whether the hop says the same of all that a tuple has become.
        self._is_own = is_own
        self._passed = np.zeros(self.outcomes.shape, np.bool_)
        # The tuples that wait at each place, as positions of those that they come from. A leg's tuples keep their
        # order, and its first tuples go ahead of the others, so those that step next are always the first:
        #
        #     place 0  [0 1 2 3]   counts [2 0 1 1]   ->   place 1  [0 0 2 3]
        self._waiting = [np.arange(len(tuples) if place == 0 else 0) for place in range(len(leg.route))]

    def note(self, hop: Hop, counts: Counts) -> None:
        """Take note of what a step has made of the next tuples."""
        place, last = self.leg.route.index(hop), len(self.leg.route) - 1
        waiting = self._waiting[place]
        at, self._waiting[place] = waiting[: len(counts)], waiting[len(counts) :]
        if self._is_own[place]:
            # A tuple that has become many is told of many times, and alike.
            self.outcomes[place][at] = counts
        through = at[counts > 0]
        self._passed[place][through] = True
        if place < last:
            onward = through if counts.dtype == np.bool_ else np.repeat(at, counts)
            later = self._waiting[place + 1]
            self._waiting[place + 1] = np.concatenate([later, onward]) if len(later) else onward

    def find_dropped(self, place: int) -> RowIds:
        """Find the tuples of which nothing is left after a place, and something was before."""
        dropped = ~self._passed[place]
        return np.flatnonzero(dropped & self._passed[place - 1] if place else dropped)


class Asides:
    """The trails of legs with asides, and the calls aside when they are over."""

    def __init__(self, machine: Machine, reads: Reads, step: Step) -> None:
        self._machine, self._reads, self._step = machine, reads, step
        # Legs are told apart by identity: they hold arrays.
        self.trails: dict[int, Trail] = {}

    def clear(self) -> None:
        """Forget the legs of a micro-batch that was abandoned."""
        self.trails.clear()

    def begin(self, leg: Leg, tuples: Tuples) -> Leg:
        """Follow a leg; it must go on as the one that is given back."""
        # A policy may plan one leg for many tasks, and of these several may be under way.
        leg = replace(leg)
        spans, lineage, is_own = tuples.lineage.spans, tuples.lineage, []
        for hop in leg.route:
            is_own.append(lineage.spans == spans or self._reads(lineage, hop.operator) <= spans)
            lineage = self._machine.after(lineage, hop.operator)
        self.trails[id(leg)] = Trail(leg, tuples, is_own)
        return leg

    def note(self, legs: Sequence[Leg], rows: Sequence[int], hop: Hop, counts: Counts) -> None:
        """Take note of a step of some legs, one leg's tuples after the other's."""
        begun = 0
        for leg, count in zip(legs, rows, strict=True):
            trail = self.trails.get(id(leg))
            if trail is not None:
                trail.note(hop, counts[begun : begun + count])
            begun += count

    def end(self, legs: Sequence[Leg]) -> Profile:
        """Ask the hops aside about what some legs have lost, now that they are over."""
        trails = [self.trails.pop(id(leg)) for leg in legs]
        tuples = merge([trail.tuples for trail in trails])
        statistics = dict.fromkeys((hop for leg in legs for hops in (leg.route, *leg.aside) for hop in hops), NOTHING)
        outcomes = dict(zip(statistics, np.full((len(statistics), len(tuples)), UNSEEN), strict=True))
        asked: dict[Hop, list[tuple[Lineage, RowIds]]] = {}
        start = 0
        for trail in trails:
            for hop, told in zip(trail.leg.route, trail.outcomes, strict=True):
                outcomes[hop][start : start + len(told)] = told
            for hop, lineage, dropped in self._find_asked(trail):
                asked.setdefault(hop, []).append((lineage, dropped + start))
            start += len(trail.tuples)
        # One call for each hop, whatever the number of legs and places; what differs in what it has done goes together.
        for hop, parts in asked.items():
            rows = np.sort(np.concatenate([dropped for _, dropped in parts])) if len(parts) > 1 else parts[0][1]
            outcomes[hop][rows], statistics[hop] = self._count(hop, tuples.take(rows).with_lineage(parts[0][0]))
        rows_of = tuple(len(trail.tuples) for trail in trails)
        return Profile(
            tuple(legs), tuples, rows_of, tuple(outcomes), tuple(outcomes.values()), tuple(statistics.values())
        )

    def _find_asked(self, trail: Trail) -> Iterator[tuple[Hop, Lineage, RowIds]]:
        """Find whom to ask about which tuples of a leg, and with which lineage."""
        for place, hops in enumerate(trail.leg.aside):
            dropped = trail.find_dropped(place) if hops else NO_ROWS
            if len(dropped):
                lineage = self._find_lineage(trail, place)
                ready = self._machine.ready(lineage)
                # A hop that is not ready for the tuple by itself reads rows that were joined on the way.
                yield from ((hop, lineage, dropped) for hop in hops if hop in ready)

    def _find_lineage(self, trail: Trail, place: int) -> Lineage:
        """Find the lineage of a tuple as it began, once the filters before a place have acted on it."""
        lineage = trail.tuples.lineage
        filters = [hop.operator for hop in trail.leg.route[:place] if not self._machine.adds(hop.operator)]
        return lineage._replace(done=lineage.done.union(filters))

    def _count(self, hop: Hop, tuples: Tuples) -> tuple[Integers, Statistic]:
        """Count what comes out of a hop for each tuple, up to a bounded number of candidates."""
        counts, statistic, done = np.full(len(tuples), UNSEEN), NOTHING, 0
        while done < len(tuples) and (not done or statistic.evaluated < MOST_LOOKED_AT):
            outcome, taken = self._step(hop, tuples.rest(done))
            counts[done : done + len(outcome.counts)] = outcome.counts
            done += len(outcome.counts)
            statistic += taken
        return counts, statistic
