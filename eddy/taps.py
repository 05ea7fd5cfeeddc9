"""Taps: tuples that pass anyway, kept for whoever wants what rows of some inputs join with each other.

A cache of r and s has to hear of all pairs with a row that has just come. Where rows of r are joined with s first, and
those of s with r, these pairs pass by themselves: the prefix invariant of Babu's thesis (definition 5.4.2). A tap takes
note of them, and of whether it has seen all:

    3 rows of r arrive             under way 3
    a filter drops one of 3        under way 2      it is dead, so nobody needs its pairs
    probe_s makes 4 of 2           under way 0      the 4 have passed, and nothing else can

It is torn once a tuple goes another way: what it has seen is not all then, and in this micro-batch of no use. So it is
where an option drops a tuple that has no match in another input yet: one that comes later may match, and want its
pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from eddy.query.join_graph import is_meets, meets_name
from eddy.tuples import Lineage, Tuples

MOST_PASSED = 1 << 18
"""Tuples that a tap keeps: as many as one step of a probe makes. Where more pass, few of them are of keys that anybody
has asked for."""

MOST_IDLE = 8
"""Micro-batches after which a tap that nobody has read is closed: to take note of steps is not for nothing."""


class Tap:
    """Tuples that span some inputs and no others, of the rows that have come in a micro-batch."""

    def __init__(self, inputs: frozenset[str]) -> None:
        self.inputs = inputs
        self.begin()

    def begin(self) -> None:
        """Begin a micro-batch."""
        self.started, self._under_way, self._kept, self._is_torn = 0, 0, 0, False
        self.passed: list[Tuples] = []

    @property
    def is_whole(self) -> bool:
        """Whether all tuples that rows so far can make have passed."""
        return not self._is_torn and not self._under_way

    def start(self, tuples: Tuples) -> None:
        """Take note of rows that set out."""
        if tuples.lineage.origin in self.inputs:
            self.started += len(tuples)
            self._under_way += len(tuples)

    def note(self, before: Lineage, acted: int, made: Tuples) -> None:
        """Take note of a step: what has become of so many tuples."""
        if not acted or not before.spans < self.inputs:
            return
        self._under_way -= acted
        if len(made) < acted and self._has_asked_others(before, made.lineage):
            self.tear(before)
        elif made.lineage.spans < self.inputs:
            self._under_way += len(made)
        elif made.lineage.spans != self.inputs or made.faults is not None or self._kept + len(made) > MOST_PASSED:
            # Of a tuple with a fault it is not known whether it has joined.
            self.tear(before)
        elif len(made):
            self.passed.append(made)
            self._kept += len(made)

    def _has_asked_others(self, before: Lineage, after: Lineage) -> bool:
        """Tell whether a step has asked if another input has a match: what it drops is not dead, but too early."""
        return any(is_meets(one) for one in (after.done - before.done).difference(map(meets_name, self.inputs)))

    def tear(self, before: Lineage) -> None:
        """Take note that tuples go another way."""
        if before.spans < self.inputs:
            self._is_torn, self.passed = True, []


class Taps:
    """All taps of a cell; those that are read are open."""

    def __init__(self) -> None:
        self._idle: dict[Tap, int] = {}
        self.open: list[Tap] = []

    def find(self, inputs: frozenset[str]) -> Tap:
        """Find the tap of some inputs; it is open from the next micro-batch on."""
        for tap in self._idle:
            if tap.inputs == inputs:
                return tap
        tap = Tap(inputs)
        self.want(tap)
        return tap

    def want(self, tap: Tap) -> None:
        """Take note that a tap is of use."""
        self._idle[tap] = 0

    def begin(self) -> None:
        """Begin a micro-batch."""
        if not self._idle:
            return
        self.open = [tap for tap, idle in self._idle.items() if idle < MOST_IDLE]
        for tap in self._idle:
            self._idle[tap] += 1
            tap.begin()

    def start(self, arrived: Sequence[Tuples]) -> Sequence[Tuples]:
        """Take note of rows that set out, and say in which order: those first that others may read of."""
        if not self.open:
            return arrived
        for tap in self.open:
            for tuples in arrived:
                tap.start(tuples)
        tapped = frozenset[str]().union(*(tap.inputs for tap in self.open))
        return sorted(arrived, key=lambda tuples: tuples.lineage.origin not in tapped)

    def note(self, before: Lineage, acted: int, made: Tuples) -> None:
        """Take note of a step: what has become of so many tuples."""
        for tap in self.open:
            tap.note(before, acted, made)

    def tear(self, before: Lineage) -> None:
        """Take note that tuples go another way than by steps of probes and filters."""
        for tap in self.open:
            tap.tear(before)


NO_TAPS = Taps()
"""Those of a query that joins nothing."""
