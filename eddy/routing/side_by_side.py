"""Walks several legs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from eddy.contracts import Counts, Leg
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.arrays import FaultCodes, Integers, Mask
from eddy.tuples.tuples import merge

Onward = Callable[[Lineage, str], Lineage]
"""The lineage of a tuple once an operator has acted on it."""


class Walk(NamedTuple):
    """Some tuples of a leg, and what is left of its route."""

    tuples: Tuples
    leg: Leg
    route: tuple[Hop, ...]


class SharedStep(NamedTuple):
    """The tuples of some legs that take a step together.

    They stand one leg's after the other's, `rows` of each.
    """

    tuples: Tuples
    legs: tuple[Leg, ...]
    rows: tuple[int, ...]


class SideBySide:
    """The tuples of several legs, and the rest of their routes.

    Those whose next hop is the same filter take that step together: an operator is called once for all of them, and not
    once for each class. All span the same inputs; a leg that comes to a probe has to leave.
    """

    def __init__(self, parts: Sequence[tuple[Leg, Tuples]], onward: Onward) -> None:
        # One array holds the tuples of all legs, and `_which` says whose each is. Lists have an entry for each leg:
        #
        #     _tuples    [t0 t1 t2 t3 t4]
        #     _which     [ 0  0  1  1  2]      the leg of each tuple
        #     _waiting   [ 2,    2,    1]      how many tuples each leg has left
        #     _left      [fg,   gf,   fh]      the hops each leg has still to take
        self._onward = onward
        self._legs = [leg for leg, _ in parts]
        self._left = [leg.route for leg in self._legs]
        self._lineages = [tuples.lineage for _, tuples in parts]
        self._waiting = [len(tuples) for _, tuples in parts]
        self._tuples = merge([tuples for _, tuples in parts])
        self._which: Integers = np.repeat(np.arange(len(parts)), self._waiting)
        self._stepping: tuple[list[int], Integers] = ([], self._which)

    def __len__(self) -> int:
        """Count the legs that are under way."""
        return sum(1 for waiting in self._waiting if waiting)

    def next_hop(self) -> Hop:
        """Give the hop that most tuples wait for.

        With its step the fewest stay behind.
        """
        wanted: dict[Hop, int] = {}
        for left, waiting in zip(self._left, self._waiting, strict=True):
            if waiting:
                wanted[left[0]] = wanted.get(left[0], 0) + waiting
        return max(wanted, key=wanted.__getitem__)

    def step(self, hop: Hop) -> SharedStep:
        """Give the tuples that wait for a filter.

        The next call must be `go_on`.
        """
        numbers = self._find_legs(hop)
        places = self._find_places(numbers)
        # `go_on` needs to know whose tuples the counts are about.
        self._stepping = (numbers, places)
        legs, rows = tuple(self._legs[n] for n in numbers), tuple(self._waiting[n] for n in numbers)
        return SharedStep(self._tuples.take(places), legs, rows)

    def go_on(self, counts: Counts, faults: FaultCodes | None) -> list[Walk]:
        """Drop the tuples of the step that did not pass.

        Gives the walks that are at their end. `faults` are those of the tuples that passed.
        """
        numbers, places = self._stepping
        stay = np.ones(len(self._which), np.bool_)
        stay[places] = counts
        if faults is not None:
            self._tuples = self._tuples.with_faults(faults, places[stay[places]])
        self._keep(stay)
        for n in numbers:
            # A leg goes on also if none of its tuples passed: nothing of it waits any more, so nobody looks.
            self._lineages[n] = self._onward(self._lineages[n], self._left[n][0].operator)
            self._left[n] = self._left[n][1:]
        return self._leave([n for n in numbers if self._waiting[n] and not self._left[n]])

    def leave(self, hop: Hop | None = None) -> list[Walk]:
        """Give the walks that wait for a hop, or all, to go on alone."""
        return self._leave(self._find_legs(hop))

    def _find_legs(self, hop: Hop | None) -> list[int]:
        """Find the legs that wait for a hop, or for any."""
        waiting = [n for n, rows in enumerate(self._waiting) if rows]
        return waiting if hop is None else [n for n in waiting if self._left[n][0] == hop]

    def _find_places(self, numbers: Sequence[int]) -> Integers:
        """Find the positions of some legs' tuples."""
        # One look-up per tuple, whatever the number of legs:   chosen [T F T], _which [0 0 1 1 2] -> positions [0 1 4]
        chosen = np.zeros(len(self._legs), np.bool_)
        chosen[numbers] = True
        return chosen.take(self._which).nonzero()[0]

    def _keep(self, stay: Mask) -> None:
        # Both arrays shrink alike, and the counts follow from `_which`:
        #
        #     stay      [ T  F  T  T  F]
        #     _tuples   [t0    t2 t3   ]   _which [0 1 1]   _waiting [1, 2, 0]
        #
        # A leg with no tuples left is under way no more; its entries stay, so that legs keep their numbers.
        kept = stay.nonzero()[0]
        self._tuples, self._which = self._tuples.take(kept), self._which.take(kept)
        self._waiting = np.bincount(self._which, minlength=len(self._legs)).tolist()

    def _leave(self, numbers: Sequence[int]) -> list[Walk]:
        # Each leg's tuples are cut out first, in their order, with its lineage; then all leave the array at once.
        leaving = []
        for n in numbers:
            tuples = self._tuples.take(self._find_places([n])).with_lineage(self._lineages[n])
            leaving.append(Walk(tuples, self._legs[n], self._left[n]))
        if leaving:
            stay = np.ones(len(self._which), np.bool_)
            stay[self._find_places(numbers)] = False
            self._keep(stay)
        return leaving
